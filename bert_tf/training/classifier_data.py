"""What `run_classifier.py` reads and checks before TensorFlow loads.

The files, the labels, the rows and the output directory, so that wrong input is refused at once.
"""

import dataclasses
import os
from collections.abc import Sequence

import numpy as np

from bert_tf import features
from bert_tf.checkpoints import model_directory
from bert_tf.examples import batching, packing, readers
from bert_tf.options import Classifier
from bert_tf.tasks import registry
from bert_tf.text import vocab, wordpiece
from bert_tf.training import inputs as run_inputs
from bert_tf.training.inputs import Inputs


@dataclasses.dataclass(frozen=True)
class Labelled:
    """A set of a split, encoded.

    Attributes:
      name: "" or, where a split has several sets, their name ("matched").
      rows: of the examples, in the same order.
    """

    name: str
    examples: list[readers.TextExample]
    rows: batching.Rows

    @property
    def references(self) -> np.ndarray:
        """[N], class indices or values."""
        (labels,) = self.rows.labels.values()
        return labels


Splits = dict[str, list[Labelled]]


@dataclasses.dataclass(frozen=True)
class ClassifierData:
    """What a run of `run_classifier.py` is made from, checked.

    Attributes:
      task: with its labels.
      splits: from "train", "dev" or "test" to its sets, for what the options ask for.
      directory: --output_dir, which need not be on disk yet.
    """

    inputs: Inputs[Classifier]
    task: registry.Task
    splits: Splits
    directory: model_directory.ModelDirectory


def main(options: Classifier) -> None:
    """Reads and checks everything, and only then loads TensorFlow and starts."""
    data = read(options)

    from bert_tf.training import classifier  # TensorFlow takes seconds to load

    classifier.run_on(data)


def read(options: Classifier) -> ClassifierData:
    """Reads and checks what the options name.

    Raises:
      InputError: a file is missing or not as wanted, or the output directory is another run's.
    """
    inputs = run_inputs.check(options)
    vocab.check_casing(inputs.vocabulary, options.do_lower_case)
    task = registry.get(options.task_name)
    task = task.fitted(options.data_dir) if options.do_train else _as_trained(task, options)
    shortest = 3 if task.num_texts == 1 else 5
    packing.check_length(options.max_seq_length, inputs.config, shortest)
    wanted = {"train": options.do_train, "dev": options.do_eval, "test": options.do_predict}
    sets = {
        split: task.read(split, options.data_dir) for split, is_used in wanted.items() if is_used
    }
    directory = run_inputs.prepare_directory(inputs, _metadata(task, options))
    tokenizer = wordpiece.WordPieceTokenizer(inputs.vocabulary, options.do_lower_case)
    splits = {
        split: [
            Labelled(name, examples, _rows(examples, task, tokenizer, options.max_seq_length))
            for name, examples in named
        ]
        for split, named in sets.items()
    }
    return ClassifierData(inputs, task, splits, directory)


def _as_trained(task: registry.Task, options: Classifier) -> registry.Task:
    """The task with the labels of the model in `--output_dir`, where there is one."""
    if os.path.exists(os.path.join(options.output_dir, "model.json")):
        metadata = model_directory.ModelDirectory.open(options.output_dir, "--output_dir").metadata
        return task.with_labels(metadata.labels, metadata.num_texts)
    return task.fitted(options.data_dir)


def _metadata(task: registry.Task, options: Classifier) -> model_directory.ModelMetadata:
    return model_directory.ModelMetadata(
        kind=task.kind,
        task=task.name,
        labels=task.labels,
        num_texts=task.num_texts,
        do_lower_case=options.do_lower_case,
        max_seq_length=options.max_seq_length,
    )


def _rows(
    examples: Sequence[readers.TextExample],
    task: registry.Task,
    tokenizer: wordpiece.WordPieceTokenizer,
    max_seq_length: int,
) -> batching.Rows:
    """Tokenizes and packs examples; rows without labels where the examples have none."""
    packed = [
        packing.pack(
            tokenizer.encode(example.text_a),
            None if example.text_b is None else tokenizer.encode(example.text_b),
            tokenizer.vocabulary,
            max_seq_length,
        )
        for example in examples
    ]
    labels = {}
    if examples[0].label is not None and task.kind == "regress":
        values = [example.label for example in examples]
        labels[features.LABEL_VALUES.name] = np.array(values, np.float32)
    elif examples[0].label is not None:
        index: dict[object, int] = {label: i for i, label in enumerate(task.labels)}
        ids = [index[example.label] for example in examples]
        labels[features.LABEL_IDS.name] = np.array(ids, np.int32)
    return batching.Rows([row[0] for row in packed], [row[1] for row in packed], labels)
