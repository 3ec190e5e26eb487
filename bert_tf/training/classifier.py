"""`run_classifier.py`: fine-tune, evaluate and predict on tasks of one or two texts.

Files in `--output_dir` in addition to those of a model directory:

    eval_results.txt    metrics of the last and of the best weights on the dev set
    test_results.tsv    probability of each label for each row of the test set, as released
    predictions.tsv     the same rows with id and predicted label, under a header
"""

import dataclasses
import functools
import os
from collections.abc import Sequence

import keras
import numpy as np

from bert_tf import features, files, flagging
from bert_tf.checkpoints import model_directory
from bert_tf.examples import batching, packing, readers
from bert_tf.options import Classifier
from bert_tf.tasks import metrics, registry
from bert_tf.text import vocab, wordpiece
from bert_tf.training import finetune, setup
from bert_tf.training.predict import Predictor
from bert_tf.training.step import objectives

_OBJECTIVES = {"classify": objectives.CLASSIFICATION, "regress": objectives.REGRESSION}


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


def run(options: Classifier) -> None:
    """Runs what the flags ask for; see the module."""
    inputs = setup.check(options)
    task, data = _read(inputs)
    strategy = setup.set_up_devices(options)
    metadata = _metadata(task, options)
    directory = model_directory.prepare(
        options.output_dir, inputs.config, inputs.vocab_file, metadata
    )
    flagging.announce(options)
    results = {}
    if options.do_train:
        results = _train(setup.Run(inputs, strategy, directory), task, data)
    if options.do_predict or not options.do_train:
        model = setup.trained_model(inputs, directory)
    if options.do_eval and not options.do_train:
        scores = _evaluate(task, data["dev"], options.eval_batch_size, model)
        results = {f"eval_{name}": value for name, value in scores.items()}
    if results:
        finetune.write_results(options.output_dir, results)
    if options.do_predict:
        _predict(task, model, data["test"], options)


def _read(inputs: setup.Inputs[Classifier]) -> tuple[registry.Task, Splits]:
    """Checks and reads everything before work starts."""
    options = inputs.options
    vocab.check_casing(inputs.vocabulary, options.do_lower_case)
    task = registry.get(options.task_name)
    if options.do_train:
        task = task.fitted(options.data_dir)
    else:
        task = _as_trained(task, options)
    shortest = 3 if task.num_texts == 1 else 5
    packing.check_length(options.max_seq_length, inputs.config, shortest)
    tokenizer = wordpiece.WordPieceTokenizer(inputs.vocabulary, options.do_lower_case)
    splits = {
        "train": options.do_train,
        "dev": options.do_eval,
        "test": options.do_predict,
    }
    data = {
        split: [
            Labelled(name, examples, _rows(examples, task, tokenizer, options.max_seq_length))
            for name, examples in task.read(split, options.data_dir)
        ]
        for split, wanted in splits.items()
        if wanted
    }
    return task, data


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


def _train(run: setup.Run[Classifier], task: registry.Task, data: Splits) -> dict[str, float]:
    """Trains to the end; returns the scores of the last and the best weights."""
    options = run.inputs.options
    (train_set,) = data["train"]
    rows = train_set.rows.head(options.max_train_examples)
    evaluate = None
    if options.do_eval:
        evaluate = functools.partial(_evaluate, task, data["dev"], options.eval_batch_size)
    objective = _OBJECTIVES[task.kind]
    return finetune.train(run, rows, objective, task.main_metric, evaluate).results("eval_")


def _evaluate(
    task: registry.Task, sets: Sequence[Labelled], batch_size: int, model: keras.Model
) -> dict[str, float]:
    """Metrics over all sets of the dev split; those after the first carry the set's name."""
    predictor = Predictor(model)
    results: dict[str, float] = {}
    for labelled in sets:
        logits = predictor.logits(labelled.rows, batch_size, "evaluate")
        scores = metrics.evaluate(task, _answers(task, logits), labelled.references)
        scores["loss"] = _mean_loss(task, logits, labelled.references)
        suffix = f"_{labelled.name}" if results else ""
        results |= {f"{name}{suffix}": value for name, value in scores.items()}
    return results


def _answers(task: registry.Task, logits: np.ndarray) -> np.ndarray:
    return logits[:, 0] if task.kind == "regress" else logits.argmax(axis=-1)


def _mean_loss(task: registry.Task, logits: np.ndarray, references: np.ndarray) -> float:
    if task.kind == "regress":
        return float(np.mean((logits[:, 0] - references) ** 2))
    return float(-np.mean(log_softmax(logits)[np.arange(len(logits)), references]))


def log_softmax(logits: np.ndarray) -> np.ndarray:
    """Natural logarithm of the softmax over the last axis, float64: [N C] to [N C]."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _predict(
    task: registry.Task, model: keras.Model, sets: Sequence[Labelled], options: Classifier
) -> None:
    """Writes the two prediction files of each test set."""
    predictor = Predictor(model)
    for labelled in sets:
        logits = predictor.logits(labelled.rows, options.predict_batch_size)
        scores = logits if task.kind == "regress" else np.exp(log_softmax(logits))
        suffix = f"_{labelled.name}" if labelled.name else ""
        lines = ["\t".join(str(value) for value in row) for row in scores]
        path = os.path.join(options.output_dir, f"test_results{suffix}.tsv")
        files.write_text(path, "".join(line + "\n" for line in lines))
        answers = _answers(task, logits)
        named = answers if task.kind == "regress" else [task.labels[i] for i in answers]
        rows = [f"{e.guid}\t{answer!s}" for e, answer in zip(labelled.examples, named, strict=True)]
        text = "index\tprediction\n" + "".join(row + "\n" for row in rows)
        files.write_text(os.path.join(options.output_dir, f"predictions{suffix}.tsv"), text)
        print(f"Predictions: {path}", flush=True)
