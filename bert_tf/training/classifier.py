"""`run_classifier.py`: fine-tune, evaluate and predict on tasks of one or two texts.

Files in `--output_dir` in addition to those of a model directory:

    eval_results.txt    metrics of the last and of the best weights on the dev set
    test_results.tsv    probability of each label for each row of the test set, as released
    predictions.tsv     the same rows with id and predicted label, under a header
"""

import functools
import os
from collections.abc import Sequence

import keras
import numpy as np

from bert_tf import files, flagging
from bert_tf.options import Classifier
from bert_tf.tasks import metrics, registry
from bert_tf.training import classifier_data, finetune, setup
from bert_tf.training.classifier_data import ClassifierData, Labelled, Splits
from bert_tf.training.predict import Predictor
from bert_tf.training.step import objectives

_OBJECTIVES = {"classify": objectives.CLASSIFICATION, "regress": objectives.REGRESSION}


def run(options: Classifier) -> None:
    """Runs what the flags ask for; see the module.

    Raises:
      InputError: see `classifier_data.read`.
    """
    run_on(classifier_data.read(options))


def run_on(given: ClassifierData) -> None:
    """`run` on what was read and checked."""
    inputs, task, data, directory = given.inputs, given.task, given.splits, given.directory
    options = inputs.options
    strategy = setup.set_up_devices(options)
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
