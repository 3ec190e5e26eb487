"""`run_squad.py`: fine-tune on questions about passages, answer them, score the answers.

Files in `--output_dir` in addition to those of a model directory: predictions.json,
nbest_predictions.json and, for SQuAD 2.0, null_odds.json, as released; eval_results.txt where the
questions have gold answers.
"""

from collections.abc import Sequence

import keras
import numpy as np

from bert_tf import features, flagging
from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.examples import batching, packing, spans
from bert_tf.options import QuestionAnswering
from bert_tf.tasks import squad, squad_metrics
from bert_tf.text import vocab, wordpiece
from bert_tf.training import finetune, setup
from bert_tf.training.predict import Predictor
from bert_tf.training.step import objectives

_SHOWN_PROBLEMS = 5


def run(options: QuestionAnswering) -> None:
    """Runs what the flags ask for; see the module."""
    inputs = setup.check(options)
    vocab.check_casing(inputs.vocabulary, options.do_lower_case)
    packing.check_length(options.max_seq_length, inputs.config, options.max_query_length + 4)
    tokenizer = wordpiece.WordPieceTokenizer(inputs.vocabulary, options.do_lower_case)
    rows = questions = None
    if options.do_train and options.train_file:
        rows = _training_rows(options.train_file, options, tokenizer)
    if (options.do_eval or options.do_predict) and options.predict_file:
        questions = Questions(options.predict_file, options, tokenizer)
    strategy = setup.set_up_devices(options)
    metadata = model_directory.ModelMetadata(
        kind="span",
        task="squad-2.0" if options.version_2_with_negative else "squad-1.1",
        num_texts=2,
        do_lower_case=options.do_lower_case,
        max_seq_length=options.max_seq_length,
    )
    directory = model_directory.prepare(
        options.output_dir, inputs.config, inputs.vocab_file, metadata
    )
    flagging.announce(options)
    if rows:
        run = setup.Run(inputs, strategy, directory)
        evaluate = questions.evaluate if questions and options.do_eval else None
        scores = finetune.train(run, rows, objectives.SPANS, "f1", evaluate)
        if options.do_eval:
            finetune.write_results(options.output_dir, scores.results())
    if questions and (options.do_predict or not options.do_train):
        _answer(questions, setup.trained_model(inputs, directory), options)


def _training_rows(
    path: str, options: QuestionAnswering, tokenizer: wordpiece.WordPieceTokenizer
) -> batching.Rows:
    """The windows to train on, with their labels."""
    examples, problems = squad.read_examples(
        path,
        version_2_with_negative=options.version_2_with_negative,
        is_training=True,
    )
    _report_problems(path, problems, options.verbose_logging)
    windows = _windows(
        examples[: options.max_train_examples],
        options,
        tokenizer,
        keep_without_answer=options.version_2_with_negative,
    )
    if not windows:
        raise InputError(f"--train_file={path}: no answer fits into a window.")
    print(f"{path}: {len(examples)} questions, {len(windows)} windows.", flush=True)
    labels = {
        features.START_POSITIONS.name: np.array([w.start_position for w in windows], np.int32),
        features.END_POSITIONS.name: np.array([w.end_position for w in windows], np.int32),
    }
    return _rows(windows, labels)


def _windows(
    examples: Sequence[spans.SpanExample],
    options: QuestionAnswering,
    tokenizer: wordpiece.WordPieceTokenizer,
    *,
    keep_without_answer: bool,
) -> list[spans.Window]:
    return list(
        spans.make_windows(
            examples,
            tokenizer,
            tokenizer.vocabulary,
            max_seq_length=options.max_seq_length,
            doc_stride=options.doc_stride,
            max_query_length=options.max_query_length,
            keep_without_answer=keep_without_answer,
        )
    )


def _rows(windows: Sequence[spans.Window], labels: dict[str, np.ndarray]) -> batching.Rows:
    return batching.Rows([w.word_ids for w in windows], [w.type_ids for w in windows], labels)


def _report_problems(path: str, problems: Sequence[str], verbose: bool) -> None:
    if problems:
        shown = problems if verbose else problems[:_SHOWN_PROBLEMS]
        print(f"WARNING: {path}: {len(problems)} questions with problems:", flush=True)
        print("".join(f"  {problem}\n" for problem in shown), end="", flush=True)


class Questions:
    """The questions of `--predict_file`, cut into windows once.

    Attributes:
      examples: the questions with their passages.
    """

    examples: Sequence[spans.SpanExample]

    def __init__(
        self, path: str, options: QuestionAnswering, tokenizer: wordpiece.WordPieceTokenizer
    ) -> None:
        self._options = options
        examples, problems = squad.read_examples(
            path, version_2_with_negative=options.version_2_with_negative
        )
        _report_problems(path, problems, options.verbose_logging)
        self.examples = examples[: options.max_predict_examples]
        squad.require_unique_ids(self.examples, path)
        self._windows = _windows(self.examples, options, tokenizer, keep_without_answer=True)
        if options.do_eval and not self.have_answers:
            raise InputError(
                f"--do_eval: no question of --predict_file={path} has a gold "
                "answer to score by; give --do_predict only."
            )

    @property
    def have_answers(self) -> bool:
        """Whether any question has a gold answer."""
        return any(example.answers for example in self.examples)

    def predict(self, model: keras.Model) -> list[squad.Prediction]:
        """The predictions of the questions, in their order."""
        starts: dict[int, np.ndarray] = {}
        ends: dict[int, np.ndarray] = {}
        rows = _rows(self._windows, {})
        batches = Predictor(model).batches(rows, self._options.predict_batch_size, "answer")
        for indices, outputs in batches:
            starts.update(zip(indices.tolist(), outputs["start_logits"], strict=True))
            ends.update(zip(indices.tolist(), outputs["end_logits"], strict=True))
        return squad.decode(
            self.examples,
            self._windows,
            [starts[index] for index in range(len(self._windows))],
            [ends[index] for index in range(len(self._windows))],
            n_best_size=self._options.n_best_size,
            max_answer_length=self._options.max_answer_length,
            version_2_with_negative=self._options.version_2_with_negative,
            null_score_diff_threshold=self._options.null_score_diff_threshold,
        )

    def score(self, predictions: Sequence[squad.Prediction]) -> dict[str, float]:
        """The official metrics, in percent."""
        answers = {
            example.question_id: prediction.text
            for example, prediction in zip(self.examples, predictions, strict=True)
        }
        is_v2 = self._options.version_2_with_negative
        return squad_metrics.evaluate(self.examples, answers, version_2_with_negative=is_v2)

    def evaluate(self, model: keras.Model) -> dict[str, float]:
        """`score` of the model's predictions."""
        return self.score(self.predict(model))


def _answer(questions: Questions, model: keras.Model, options: QuestionAnswering) -> None:
    """Writes the prediction files and, where there are gold answers, their score."""
    predictions = questions.predict(model)
    if options.do_predict:
        paths = squad.write_predictions(options.output_dir, questions.examples, predictions)
        print(f"Predictions: {', '.join(paths)}", flush=True)
    if questions.have_answers and not (options.do_train and options.do_eval):
        finetune.write_results(options.output_dir, questions.score(predictions))
