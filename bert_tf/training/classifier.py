"""`run_classifier.py`: fine-tune, evaluate and predict on tasks of one or two texts.

Files in `--output_dir` in addition to those of a model directory:

    eval_results.txt    metrics of the last and of the best weights on the dev set
    report.html         curves of the training, metrics and mistakes on the dev set
    test_results.tsv    probability of each label for each row of the test set, as released
    predictions.tsv     the same rows with id and predicted label, under a header
"""

import functools
import os
from collections.abc import Sequence

import numpy as np

from bert_tf import files
from bert_tf.options import Classifier, TextClassification
from bert_tf.tasks import metrics, registry
from bert_tf.training import classifier_data, finetune, setup, trained_weights
from bert_tf.training.classifier_data import ClassifierData, Labelled, Splits
from bert_tf.training.inputs import announce
from bert_tf.training.monitoring.scores import Evaluation, Scores
from bert_tf.training.predict import Predictor
from bert_tf.training.resume import full_disk
from bert_tf.training.step import objectives

_OBJECTIVES = {"classify": objectives.CLASSIFICATION, "regress": objectives.REGRESSION}
_MAX_LABELS = 20  # of a confusion matrix that can be read


def run(options: Classifier) -> None:
    """Runs what the flags ask for; see the module.

    Raises:
      InputError: see `classifier_data.read`.
    """
    run_on(classifier_data.read(options))


@full_disk.explained
def run_on(given: ClassifierData) -> None:
    """`run` on what was read and checked."""
    inputs, task, data, directory = given.inputs, given.task, given.splits, given.directory
    options = inputs.options
    strategy = setup.set_up_devices(options)
    announce(options)
    if options.do_train:
        results = _train(setup.Run(inputs, strategy, directory), task, data)
        if results:
            finetune.write_results(options.output_dir, results)
    if options.do_predict or not options.do_train:
        _use_trained(given)
    if options.do_train:
        finetune.write_report(options.output_dir)


def _use_trained(given: ClassifierData) -> None:
    """Evaluates weights that are there, unless the training has; predicts with the best ones."""
    options, task, data = given.inputs.options, given.task, given.splits
    is_evaluated = options.do_eval and not options.do_train
    scores = Scores(given.directory.path, task.main_metric)
    results: dict[str, float] = {}
    for weights in trained_weights.find(
        given.inputs, given.directory, scores, with_last=is_evaluated
    ):
        predictor = weights.predictor
        if is_evaluated:
            found = _evaluate(task, data["dev"], options.eval_batch_size, predictor)
            results |= weights.results(found.metrics, "eval_")
    if results:
        finetune.write_results(options.output_dir, results)
    if options.do_predict:
        _predict(task, predictor, data["test"], options)


def _train(
    run: setup.Run[TextClassification], task: registry.Task, data: Splits
) -> dict[str, float]:
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
    task: registry.Task, sets: Sequence[Labelled], batch_size: int, predictor: Predictor
) -> Evaluation:
    """Metrics over all sets of the dev split; those after the first carry the set's name.

    The confusion matrix is that of the first set.
    """
    found = Evaluation({})
    for labelled in sets:
        logits = predictor.logits(labelled.rows, batch_size, "evaluate")
        answers, references = _answers(task, logits), labelled.references
        scores = metrics.evaluate(task.metrics, answers, references)
        scores["loss"] = _mean_loss(task, logits, references)
        if not found.metrics:
            found = Evaluation(scores, _confusion(task, answers, references))
        else:
            found.metrics.update({f"{name}_{labelled.name}": v for name, v in scores.items()})
    return found


def _confusion(task: registry.Task, answers: np.ndarray, references: np.ndarray) -> list[list[int]]:
    """See `Evaluation.confusion`."""
    num_labels = len(task.labels)
    if not 1 < num_labels <= _MAX_LABELS:
        return []
    pairs = np.bincount(references * num_labels + answers, minlength=num_labels**2)
    return pairs.reshape(num_labels, num_labels).tolist()


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
    task: registry.Task, predictor: Predictor, sets: Sequence[Labelled], options: TextClassification
) -> None:
    """Writes the two prediction files of each test set."""
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
