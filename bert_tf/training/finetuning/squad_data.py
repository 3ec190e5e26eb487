"""What `run_squad.py` reads and checks before TensorFlow loads.

The questions, their windows and the output directory, so that wrong input is refused at once.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from bert_tf import features, files, progress
from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.examples import packing, spans
from bert_tf.examples.rows import Rows
from bert_tf.options import QuestionAnswering
from bert_tf.tasks import squad, squad_metrics
from bert_tf.text import vocab, wordpiece
from bert_tf.training import inputs as run_inputs
from bert_tf.training.finetuning import evaluation_schedule
from bert_tf.training.grid import search
from bert_tf.training.inputs import Inputs

_SHOWN_PROBLEMS = 5


@dataclasses.dataclass(frozen=True)
class SquadData:
    """What a run of `run_squad.py` is made from, checked.

    Attributes:
      rows: the windows to train on, with labels; None without training.
      questions: those to answer; None without evaluation and prediction.
      directory: --output_dir, which need not be on disk yet.
      main_metric: the metric that decides which weights are the best.
    """

    inputs: Inputs[QuestionAnswering]
    rows: Rows | None
    questions: "Questions | None"
    directory: model_directory.ModelDirectory
    main_metric: str


def main(options: QuestionAnswering) -> None:
    """Reads and checks everything, and only then loads TensorFlow and starts."""
    if options.has_grid:
        search.run(options, search.Script("squad", _deciding_metric, main))
        return
    data = read(options)

    from bert_tf.training.finetuning import squad as training  # TensorFlow takes seconds to load

    training.run_on(data)


def _deciding_metric(options: QuestionAnswering) -> str:
    """Reads and checks what the options name; gives the metric that picks the best weights."""
    return read(options).main_metric


def read(options: QuestionAnswering) -> SquadData:
    """Reads and checks what the options name.

    Raises:
      InputError: a file is missing or not as wanted, or the output directory is another run's.
    """
    inputs = run_inputs.check(options)
    vocab.check_casing(inputs.vocabulary, options.do_lower_case)
    packing.check_length(options.max_seq_length, inputs.config, options.max_query_length + 4)
    for path, flag in (
        (options.train_file, "--train_file"),
        (options.predict_file, "--predict_file"),
    ):
        if path:
            files.require_file(path, flag)
    directory = run_inputs.prepare_directory(inputs, _metadata(options))
    known = ("f1", "exact" if options.version_2_with_negative else "exact_match")
    main_metric = evaluation_schedule.deciding_metric(options, directory.path, known[0], known)
    tokenizer = wordpiece.WordPieceTokenizer(inputs.vocabulary, options.do_lower_case)
    rows = questions = None
    if options.do_train and options.train_file:
        rows = _training_rows(options.train_file, options, tokenizer)
    if (options.do_eval or options.do_predict) and options.predict_file:
        questions = Questions(options.predict_file, options, tokenizer)
    return SquadData(inputs, rows, questions, directory, main_metric)


def _metadata(options: QuestionAnswering) -> model_directory.ModelMetadata:
    return model_directory.ModelMetadata(
        kind="span",
        task="squad-2.0" if options.version_2_with_negative else "squad-1.1",
        num_texts=2,
        do_lower_case=options.do_lower_case,
        max_seq_length=options.max_seq_length,
    )


def _training_rows(
    path: str, options: QuestionAnswering, tokenizer: wordpiece.WordPieceTokenizer
) -> Rows:
    """The windows to train on, with their labels."""
    with progress.status(f"Reading {path}"):
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
    print(f"Data: {path}, {len(examples):,} questions, {len(windows):,} windows", flush=True)
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
            progress.counted(examples, "tokenize", "questions"),
            tokenizer,
            tokenizer.vocabulary,
            max_seq_length=options.max_seq_length,
            doc_stride=options.doc_stride,
            max_query_length=options.max_query_length,
            keep_without_answer=keep_without_answer,
        )
    )


def _rows(windows: Sequence[spans.Window], labels: dict[str, np.ndarray]) -> Rows:
    return Rows([w.word_ids for w in windows], [w.type_ids for w in windows], labels)


def _report_problems(path: str, problems: Sequence[str], verbose: bool) -> None:
    if problems:
        shown = problems if verbose else problems[:_SHOWN_PROBLEMS]
        print(f"WARNING: {path}: {len(problems)} questions with problems:", flush=True)
        print("".join(f"  {problem}\n" for problem in shown), end="", flush=True)


class Questions:
    """The questions of `--predict_file`, cut into windows once.

    Attributes:
      examples: the questions with their passages.
      windows: those of all passages, one question after the other.
    """

    examples: Sequence[spans.SpanExample]
    windows: Sequence[spans.Window]

    def __init__(
        self, path: str, options: QuestionAnswering, tokenizer: wordpiece.WordPieceTokenizer
    ) -> None:
        self._options = options
        with progress.status(f"Reading {path}"):
            examples, problems = squad.read_examples(
                path, version_2_with_negative=options.version_2_with_negative
            )
        _report_problems(path, problems, options.verbose_logging)
        self.examples = examples[: options.max_predict_examples]
        squad.require_unique_ids(self.examples, path)
        self.windows = _windows(self.examples, options, tokenizer, keep_without_answer=True)
        if options.do_eval and not self.have_answers:
            raise InputError(
                f"--do_eval: no question of --predict_file={path} has a gold "
                "answer to score by; give --do_predict only."
            )

    @property
    def have_answers(self) -> bool:
        """Whether any question has a gold answer."""
        return any(example.answers for example in self.examples)

    def score(self, predictions: Sequence[squad.Prediction]) -> dict[str, float]:
        """The official metrics, in percent."""
        answers = {
            example.question_id: prediction.text
            for example, prediction in zip(self.examples, predictions, strict=True)
        }
        is_v2 = self._options.version_2_with_negative
        return squad_metrics.evaluate(self.examples, answers, version_2_with_negative=is_v2)

    @property
    def rows(self) -> Rows:
        """The windows as rows without labels."""
        return _rows(self.windows, {})

    def decode(
        self, starts: Sequence[np.ndarray], ends: Sequence[np.ndarray]
    ) -> list[squad.Prediction]:
        """The predictions of the questions, in their order.

        Args:
          starts: float32 [T] of each window, logits of the answer's start.
          ends: as `starts`, of the answer's end.
        """
        return squad.decode(
            self.examples,
            self.windows,
            starts,
            ends,
            n_best_size=self._options.n_best_size,
            max_answer_length=self._options.max_answer_length,
            version_2_with_negative=self._options.version_2_with_negative,
            null_score_diff_threshold=self._options.null_score_diff_threshold,
        )
