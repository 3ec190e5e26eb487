"""`run_squad.py`: fine-tune on questions about passages, answer them, score the answers.

Files in `--output_dir` beside those of a model directory: predictions.json,
nbest_predictions.json and, for SQuAD 2.0, null_odds.json, as released; eval_results.txt where the
questions have gold answers.
"""

import numpy as np

from bert_tf import features, flagging
from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.examples import batching, packing, spans
from bert_tf.tasks import squad, squad_metrics
from bert_tf.text import vocab, wordpiece
from bert_tf.training import finetune
from bert_tf.training import setup as start_lib
from bert_tf.training.predict import Predictor
from bert_tf.training.step import objectives

_SHOWN_PROBLEMS = 5


def run(options):
    """Runs what the flags ask for; see the module.

    Args:
      options: `options.QuestionAnswering`.
    """
    start = start_lib.check(options)
    vocab.check_casing(start.vocabulary, options.do_lower_case)
    packing.check_length(options.max_seq_length, start.config, options.max_query_length + 4)
    tokenizer = wordpiece.WordPieceTokenizer(start.vocabulary, options.do_lower_case)
    rows = _training_rows(options, start, tokenizer) if options.do_train else None
    questions = None
    if options.do_eval or options.do_predict:
        questions = Questions(options, start, tokenizer)
    strategy = start_lib.set_up(options)
    metadata = model_directory.ModelMetadata(
        kind="span",
        task="squad-2.0" if options.version_2_with_negative else "squad-1.1",
        num_texts=2,
        do_lower_case=options.do_lower_case,
        max_seq_length=options.max_seq_length,
    )
    directory = model_directory.prepare(
        options.output_dir, start.config, start.vocab_file, metadata
    )
    flagging.announce(options)
    if options.do_train:
        evaluate = questions.evaluate if options.do_eval else None
        scores = finetune.train(
            start, rows, options, strategy, directory, objectives.SPANS, "f1", evaluate
        )
        if options.do_eval:
            finetune.write_results(options.output_dir, scores.results())
    if options.do_predict or not options.do_train:
        model = start_lib.trained_model(directory, start)
        _answer(questions, model, options)


def _training_rows(options, start, tokenizer):
    """The windows to train on, with their labels."""
    examples, problems = squad.read_examples(
        options.train_file,
        version_2_with_negative=options.version_2_with_negative,
        is_training=True,
    )
    _report_problems(options.train_file, problems, options.verbose_logging)
    windows = list(
        _windows(
            examples[: options.max_train_examples],
            options,
            start,
            tokenizer,
            keep_without_answer=options.version_2_with_negative,
        )
    )
    if not windows:
        raise InputError(f"--train_file={options.train_file}: no answer fits into a window.")
    print(f"{options.train_file}: {len(examples)} questions, {len(windows)} windows.", flush=True)
    labels = {
        features.START_POSITIONS.name: np.array([w.start_position for w in windows], np.int32),
        features.END_POSITIONS.name: np.array([w.end_position for w in windows], np.int32),
    }
    return _rows(windows, labels)


def _windows(examples, options, start, tokenizer, keep_without_answer):
    return spans.make_windows(
        examples,
        tokenizer,
        start.vocabulary,
        max_seq_length=options.max_seq_length,
        doc_stride=options.doc_stride,
        max_query_length=options.max_query_length,
        keep_without_answer=keep_without_answer,
    )


def _rows(windows, labels):
    return batching.Rows([w.word_ids for w in windows], [w.type_ids for w in windows], labels)


def _report_problems(path, problems, verbose):
    if problems:
        shown = problems if verbose else problems[:_SHOWN_PROBLEMS]
        print(f"WARNING: {path}: {len(problems)} questions with problems:", flush=True)
        print("".join(f"  {problem}\n" for problem in shown), end="", flush=True)


class Questions:
    """The questions of `--predict_file`, cut into windows once.

    Attributes:
      examples: list of `spans.SpanExample`.
    """

    def __init__(self, options, start, tokenizer):
        self._options = options
        examples, problems = squad.read_examples(
            options.predict_file, version_2_with_negative=options.version_2_with_negative
        )
        _report_problems(options.predict_file, problems, options.verbose_logging)
        self.examples = examples[: options.max_predict_examples]
        squad.require_unique_ids(self.examples, options.predict_file)
        self._windows = list(
            _windows(self.examples, options, start, tokenizer, keep_without_answer=True)
        )
        if options.do_eval and not self.have_answers:
            raise InputError(
                f"--do_eval: no question of --predict_file={options.predict_file} has a gold "
                "answer to score by; give --do_predict only."
            )

    @property
    def have_answers(self):
        """Whether any question has a gold answer."""
        return any(example.answers for example in self.examples)

    def predict(self, model):
        """list of `squad.Prediction`, one per question."""
        starts, ends = [None] * len(self._windows), [None] * len(self._windows)
        rows = _rows(self._windows, {})
        batches = Predictor(model).batches(rows, self._options.predict_batch_size, "answer")
        for indices, outputs in batches:
            for row, i in enumerate(indices):
                starts[i] = outputs["start_logits"][row]
                ends[i] = outputs["end_logits"][row]
        return squad.decode(
            self.examples,
            self._windows,
            starts,
            ends,
            n_best_size=self._options.n_best_size,
            max_answer_length=self._options.max_answer_length,
            version_2_with_negative=self._options.version_2_with_negative,
            null_score_diff_threshold=self._options.null_score_diff_threshold,
        )

    def score(self, predictions):
        """The official metrics, in percent: dict from name to number."""
        answers = {
            example.question_id: prediction.text
            for example, prediction in zip(self.examples, predictions, strict=True)
        }
        is_v2 = self._options.version_2_with_negative
        return squad_metrics.evaluate(self.examples, answers, version_2_with_negative=is_v2)

    def evaluate(self, model):
        """`score` of the model's predictions."""
        return self.score(self.predict(model))


def _answer(questions, model, options):
    """Writes the prediction files and, where there are gold answers, their score."""
    predictions = questions.predict(model)
    if options.do_predict:
        paths = squad.write_predictions(options.output_dir, questions.examples, predictions)
        print(f"Predictions: {', '.join(paths)}", flush=True)
    if questions.have_answers and not (options.do_train and options.do_eval):
        finetune.write_results(options.output_dir, questions.score(predictions))
