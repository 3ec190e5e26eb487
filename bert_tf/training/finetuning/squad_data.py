"""What `run_squad.py` reads before TensorFlow loads: the questions and their passages."""

from collections.abc import Sequence

from bert_tf import files
from bert_tf.examples import readers
from bert_tf.examples.labelled import Example
from bert_tf.options import QuestionAnswering as Options
from bert_tf.progress import status
from bert_tf.tasks import row_records
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.training.finetuning import task_data
from bert_tf.training.finetuning.task_data import TaskData
from bert_tf.training.grid import search


def main(options: Options) -> None:
    """Reads and checks everything, and only then loads TensorFlow and starts."""
    if options.has_grid:
        search.run(options, search.Script("squad", _deciding_metric, main))
        return
    data = read(options)

    from bert_tf.training.finetuning import run  # TensorFlow takes seconds to load

    run.run_on(data)


def _deciding_metric(options: Options) -> str:
    """Reads and checks what the options name; gives the metric that picks the best weights."""
    return read(options).main_metric


def read(options: Options) -> TaskData:
    """Reads and checks what the options name.

    Raises:
      InputError: a file is missing or not as wanted, or the output directory is another run's.
    """
    inputs = task_data.check_inputs(options)
    task = _task(options)
    task_data.prepare(inputs, task)  # large files take a while to read
    sets: dict[str, Sequence[tuple[str, Sequence[Example]]]] = {}
    for split in task_data.used_splits(options):
        if split == "train" and options.stream_records:
            examples = row_records.FileExamples(task, None, options.max_train_examples)
            sets[split] = [("", examples)]
        elif split == "test" and "dev" in sets:
            sets[split] = sets["dev"]  # --predict_file is both
        else:
            sets[split] = [("", _questions(task, split, options))]
    return task_data.encode(inputs, task, sets)


def _task(options: Options) -> QuestionAnswering:
    """The task of --train_file and --predict_file."""
    layout = readers.SquadLayout(
        version_2_with_negative=options.version_2_with_negative,
        shows_all_problems=options.verbose_logging,
    )
    found: dict[str, str] = {}
    for split in task_data.used_splits(options):
        flag = "train_file" if split == "train" else "predict_file"
        found[split] = getattr(options, flag)
        for path in readers.expand(found[split]):
            files.require_file(path, f"--{flag}")
    task = QuestionAnswering.new(layout, found, options.unanswerable_window_rate)
    return task.with_settings(options.task_settings)


def _questions(task: QuestionAnswering, split: str, options: Options) -> Sequence[Example]:
    path = task.path(split, None)
    with status(f"Reading {path}"):
        ((_, examples),) = task.read(split, None)
    if split != "train":
        examples = examples[: options.max_predict_examples]
    print(f"Data: {path}, {len(examples):,} questions", flush=True)
    return examples
