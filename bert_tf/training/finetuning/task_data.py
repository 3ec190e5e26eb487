"""What a fine-tuning is made from: a task and its data, checked before TensorFlow loads.

The scripts read their flags and files (`classifier_data`, `squad_data`); from then on all tasks
take one way.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TypeVar

from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.examples.labelled import Example
from bert_tf.examples.rows import Rows
from bert_tf.options import TaskTraining
from bert_tf.tasks import encoding, row_records
from bert_tf.tasks.task import Task
from bert_tf.text import vocab, wordpiece
from bert_tf.training import inputs as run_inputs
from bert_tf.training.distillation.student import with_student_layers
from bert_tf.training.distillation.teacher import open_teacher
from bert_tf.training.finetuning import ensembles, evaluation_schedule
from bert_tf.training.frozen.metadata import with_frozen_layers
from bert_tf.training.inputs import Inputs


@dataclasses.dataclass(frozen=True)
class Labelled:
    """A set of a split, encoded.

    Attributes:
      name: "" or, where a split has several sets, their name ("matched").
      rows: of the examples, in the same order.
    """

    name: str
    examples: Sequence[Example]
    rows: Rows


Splits = dict[str, list[Labelled]]
Sets = Mapping[str, Sequence[tuple[str, Sequence[Example]]]]  # by split: names and examples
AnyOptions = TypeVar("AnyOptions", bound=TaskTraining)


@dataclasses.dataclass(frozen=True)
class TaskData:
    """What a fine-tuning is made from, checked.

    Attributes:
      task: with its labels.
      splits: from "train", "dev" or "test" to its sets, for what the options ask for.
      directory: --output_dir, which need not be on disk yet.
      main_metric: the metric that decides which weights are the best.
    """

    inputs: Inputs[TaskTraining]
    task: Task
    splits: Splits
    directory: model_directory.ModelDirectory
    main_metric: str


def check_inputs(options: AnyOptions) -> Inputs[AnyOptions]:
    """The model that the flags name, checked; with --student_layers, some of its layers.

    Raises:
      InputError: see `inputs.check`.
    """
    inputs = with_student_layers(run_inputs.check(options))
    options.check_layers(inputs.config.num_hidden_layers)
    if options.has_casing_of_checkpoint:
        inputs = _with_casing_of_checkpoint(inputs)
    vocab.check_casing(inputs.vocabulary, inputs.options.do_lower_case)
    return inputs


def _with_casing_of_checkpoint(inputs: Inputs[AnyOptions]) -> Inputs[AnyOptions]:
    """With the casing that the checkpoint states, or else with that of the vocabulary."""
    stated = inputs.checkpoint.do_lower_case if inputs.checkpoint else None
    do_lower_case = not inputs.vocabulary.is_cased if stated is None else stated
    options = dataclasses.replace(inputs.options, do_lower_case=do_lower_case)
    return dataclasses.replace(inputs, options=options)


def used_splits(options: TaskTraining) -> list[str]:
    """The splits that the options ask for."""
    wanted = {"train": options.do_train, "dev": options.do_eval, "test": options.do_predict}
    return [split for split, is_used in wanted.items() if is_used]


def prepare(inputs: Inputs[TaskTraining], task: Task) -> tuple[model_directory.ModelDirectory, str]:
    """Checks length, teacher and output directory.

    Args:
      task: with its labels.

    Returns:
      the model directory, which need not be on disk yet, and the metric that decides which weights
      are the best.

    Raises:
      InputError: the length or the teacher does not fit, or the output directory is another run's.
    """
    options = inputs.options
    packing.check_length(options.max_seq_length, inputs.config, task.shortest_row)
    metadata = task.metadata(
        do_lower_case=options.do_lower_case, max_seq_length=options.max_seq_length
    )
    metadata = with_frozen_layers(metadata, options, inputs.config)
    metadata = ensembles.with_members(metadata, options)
    if options.teacher:
        open_teacher(options.teacher).check(task, inputs)
    directory = run_inputs.prepare_directory(inputs, metadata)
    main_metric = evaluation_schedule.deciding_metric(
        options, directory.path, task.main_metric, task.deciding_metrics
    )
    return directory, main_metric


def encode(inputs: Inputs[TaskTraining], task: Task, sets: Sets) -> TaskData:
    """`prepare`, then checks the sets and tokenizes them.

    Args:
      task: with its labels.
      sets: from split to (name, examples) of its sets; without "train" if there are records of it.

    Raises:
      InputError: see `prepare`; or a set cannot be used.
    """
    options = inputs.options
    directory, main_metric = prepare(inputs, task)
    tokenizer = wordpiece.WordPieceTokenizer(inputs.vocabulary, options.do_lower_case)
    splits: Splits = {}
    if options.do_train:
        splits["train"] = [_training_set(inputs, task, tokenizer, sets.get("train", ()))]
    encoded: dict[int, Labelled] = {}  # dev and test may be the same examples
    for split in (each for each in sets if each != "train"):
        for name, examples in sets[split]:
            task.check(split, examples)
            if (key := id(examples)) not in encoded:
                rows = task.encode(examples, tokenizer, options.max_seq_length)
                encoded[key] = Labelled(name, examples, rows)
        splits[split] = [encoded[id(examples)] for _, examples in sets[split]]
    return TaskData(inputs, task, splits, directory, main_metric)


def _training_set(
    inputs: Inputs[TaskTraining],
    task: Task,
    tokenizer: wordpiece.WordPieceTokenizer,
    named: Sequence[tuple[str, Sequence[Example]]],
) -> Labelled:
    """The training set; where its rows are in records, its examples are not needed."""
    options, task = inputs.options, task.for_training()
    length = options.max_seq_length
    directory = row_records.directory(options.output_dir)
    if options.given_records:
        records = options.given_records
        return Labelled("", [], row_records.given(directory, records, task, tokenizer, length))
    ((name, examples),) = named
    if not isinstance(examples, row_records.FileExamples):  # these are read up to their maximum
        examples = examples[: options.max_train_examples]
    if options.stream_records:
        return Labelled(name, [], row_records.of(directory, task, examples, tokenizer, length))
    rows = encoding.rows(task, examples, tokenizer, length)
    if not len(rows):
        raise InputError(
            f"None of the {len(examples):,} training examples gives a row to train on. A longer "
            f"--max_seq_length than {length} may hold their answers."
        )
    if len(rows) != len(examples):
        print(f"  {len(examples):,} training examples in {len(rows):,} rows", flush=True)
    return Labelled(name, examples, rows)
