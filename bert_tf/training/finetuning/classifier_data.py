"""What `run_classifier.py` reads before TensorFlow loads: the task, its labels, its files."""

from collections.abc import Mapping, Sequence

from bert_tf import hub_handles
from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.labelled import Example
from bert_tf.options import Classifier, TextClassification
from bert_tf.tasks import registry, row_records, task_file
from bert_tf.tasks.kinds import text_task
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.tasks.task import Task
from bert_tf.training.finetuning import ensembles, task_data
from bert_tf.training.finetuning.task_data import Sets, TaskData
from bert_tf.training.grid import search

# Flags that say what the files of a user's own data are like.
_OF_OWN_DATA = ("text_column", "text_b_column", "label_column", "id_column", "task_type")


def main(options: Classifier) -> None:
    """Reads and checks everything, and only then loads TensorFlow and starts."""
    if options.has_grid:
        search.run(options, search.Script("classify", _deciding_metric, main))
        return
    data = read(options)

    from bert_tf.training.finetuning import run  # TensorFlow takes seconds to load

    run.run_on(data)


def _deciding_metric(options: Classifier) -> str:
    """Reads and checks what the options name; gives the metric that picks the best weights."""
    return read(options).main_metric


def read(options: Classifier) -> TaskData:
    """Reads and checks what the options name.

    Raises:
      InputError: a file is missing or not as wanted, or the output directory is another run's.
    """
    if options.bert_hub_module_handle:
        hub_handles.resolve(options.bert_hub_module_handle)  # refuses what is not there
    task = _task(options).with_settings(options.task_settings)
    inputs = task_data.check_inputs(options)
    task = _fitted(task, options) if options.do_train else _as_trained(task, options)
    sets: dict[str, Sequence[tuple[str, Sequence[Example]]]] = {}
    for split in task_data.used_splits(options):
        if split != "train" or not options.has_records:
            sets[split] = task.read(split, _data_dir(options))
        elif options.stream_records:
            sets[split] = [("", _streamed(task, options))]
    counts = {split: sum(len(each) for _, each in named) for split, named in sets.items()}
    listed = ", ".join(f"{count:,} {split}" for split, count in counts.items())
    what = "your own" if task.is_own_data else f"task {task.name}"
    labels = f", {len(task.labels)} labels" if task.labels else ""
    print(f"Data: {what}, {listed} examples{labels}", flush=True)
    return task_data.encode(inputs, *_weighted(task, sets, options.class_weights))


def from_memory(
    options: TextClassification, task: Task, splits: Mapping[str, Sequence[Example]]
) -> TaskData:
    """What `read` gives, from examples in memory.

    Args:
      task: a user's own data, with its number of texts.
      splits: "train" and, if there is a dev set, "dev", with labels.

    Raises:
      InputError: see `read`.
    """
    inputs = task_data.check_inputs(options)
    task = task.with_settings(options.task_settings)
    if task.is_labelled:
        task = task.with_labels_of(splits["train"], "train")
        _check_labels(task, splits)
    sets = {split: [("", splits[split])] for split in splits}
    return task_data.encode(inputs, *_weighted(task, sets, options.class_weights))


def _check_labels(task: Task, splits: Mapping[str, Sequence[Example]]) -> None:
    for split, examples in splits.items():
        for example in examples:
            if unknown := set(task.labels_of(example)) - set(task.labels):
                raise InputError(
                    f"{split}: label {sorted(unknown)[0]!r} of example {example.guid} is unknown; "
                    f"known from train: {', '.join(task.labels)}."
                )


def _weighted(task: Task, sets: Sets, class_weights: str | None) -> tuple[Task, Sets]:
    """The task and its sets with --class_weights, which training examples alone have."""
    if class_weights is None or "train" not in sets:
        return task, sets
    ((name, examples),) = sets["train"]
    task, examples = task.weighted(class_weights, examples)
    return task, {**sets, "train": [(name, examples)]}


def _task(options: Classifier) -> Task:
    """The task of --task_name or --task_file, or that of the user's own files and columns."""
    if options.task_file:
        named = {"train": options.train_file, "dev": options.dev_file, "test": options.test_file}
        return task_file.read(options.task_file, options.data_dir, named)
    task = registry.get(options.task_name) if options.task_name else None
    if task and not task.is_own_data:
        for name in _OF_OWN_DATA:
            if value := getattr(options, name):
                raise InputError(
                    f"--{name}={value} is for your own data; task {task.name} has its own columns. "
                    "Leave out one of the two flags."
                )
        return task
    if task and options.task_type and options.task_type != task.kind:
        raise InputError(
            f"--task_name={options.task_name} and --task_type={options.task_type} exclude each "
            "other. Leave out --task_name."
        )
    kind = task.kind if task else options.task_type or _trained_kind(options)
    named = {"train": options.train_file, "dev": options.dev_file, "test": options.test_file}
    files = {split: path for split, path in named.items() if path}
    own = registry.own_data(kind, files=files or None)
    return registry.own_data(kind, _columns(own, options), files or None)


def _data_dir(options: Classifier) -> str | None:
    """The directory that the names of the task's files are relative to."""
    return None if options.task_file else options.data_dir


def _columns(task: TextTask, options: Classifier) -> readers.Columns:
    """The columns of a user's own data by flags, or else by what the first file's header has."""
    split = next(split for split in task_data.used_splits(options) if split in task.files)
    path = task.path(split, options.data_dir)
    header = readers.read_header(readers.expand(path)[0])
    is_short = text_task.TEXT in header and text_task.TEXT_A not in header
    columns = readers.Columns(
        text_a=options.text_column or (text_task.TEXT if is_short else text_task.TEXT_A),
        text_b=options.text_b_column,
        label=options.label_column or text_task.LABEL,
        row_id=options.id_column,
    )
    flags: dict[str, object] = {
        "text": columns.text_a,
        "text_b": columns.text_b,
        "id": columns.row_id,
    }
    if split != "test":
        flags["label"] = columns.label
    for flag, name in flags.items():
        if name is not None and name not in header:
            raise InputError(
                f"{path}: the header has no column {name!r}; it has {', '.join(header)}. Name the "
                f"column of the {_MEANINGS[flag]} by --{flag}_column."
            )
    return columns


_MEANINGS = {"text": "text", "text_b": "second text", "label": "label", "id": "ids"}


def _trained_kind(options: Classifier) -> str:
    """The kind of the model that is there; "classify" where there is none."""
    metadata = None if options.do_train else ensembles.trained_metadata(options)
    is_known = metadata is not None and metadata.kind in registry.TEXT_KINDS
    return metadata.kind if metadata and is_known else "classify"


def _fitted(task: Task, options: Classifier) -> Task:
    """The task with what its training set tells; see `Task.fitted`."""
    if options.train_records and task.needs_labels:
        raise InputError(
            f"--train_records={options.train_records} has numbers in place of labels. Give "
            "--task_name, or a --task_file that lists the labels."
        )
    if not (options.stream_records and task.needs_labels):
        return task if options.train_records else task.fitted(_data_dir(options))
    examples = _streamed(task, options)
    return task.with_labels_of(examples, examples.pattern)


def _streamed(task: Task, options: Classifier) -> row_records.FileExamples:
    return row_records.FileExamples(task, _data_dir(options), options.max_train_examples)


def _as_trained(task: Task, options: Classifier) -> Task:
    """The task with the labels of the model that is there, if there is one."""
    if metadata := ensembles.trained_metadata(options):
        task = task.with_labels(metadata.labels, metadata.num_texts)
        return task.with_settings(options.task_settings or metadata.settings)
    if task.is_own_data and "train" not in task.files:
        raise InputError(
            f"--output_dir={options.output_dir} holds no model that says its labels. Train first, "
            "or give --train_file, whose labels they are."
        )
    return task.fitted(_data_dir(options))
