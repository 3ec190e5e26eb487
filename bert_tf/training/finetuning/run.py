"""`run_classifier.py` and `run_squad.py`: fine-tune, evaluate and predict on a task.

Files in `--output_dir` in addition to those of a model directory:

    eval_results.txt    metrics of the last and of the best weights on the dev set
    report.html         curves of the training, metrics and mistakes on the dev set
    evaluation.json     what the report shows of the answers on the dev set
    test_results.tsv    probability of each label for each row of the test set, as released
    predictions.tsv     the same rows with id and predicted label, under a header
    test_scores.txt     metrics of the best weights on test sets that have labels

Predictions of run_squad.py are predictions.json, nbest_predictions.json and, for SQuAD 2.0,
null_odds.json, as released.
"""

import functools
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_tf.checkpoints import model_directory
from bert_tf.options import TaskTraining
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.tasks.task import Task
from bert_tf.training import setup
from bert_tf.training.distillation.run import objective_and_rows
from bert_tf.training.finetuning import ensembles, finetune, trained_weights
from bert_tf.training.finetuning.predict import Predictor
from bert_tf.training.finetuning.task_data import Labelled, TaskData
from bert_tf.training.frozen.run import with_vectors
from bert_tf.training.inputs import announce
from bert_tf.training.monitoring import evaluation_file
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.resume import full_disk


@full_disk.explained
def run_on(given: TaskData) -> None:
    """Runs what the flags ask for; see the module.

    Args:
      given: what the flags name, read and checked.
    """
    options = given.inputs.options
    strategy = setup.set_up_devices(options)
    announce(options)
    run = setup.Run(given.inputs, strategy, given.directory)
    if options.do_train:
        results = _train(run, given)
        if results and run.is_chief:
            finetune.write_results(options.output_dir, results)
    if not run.is_chief:
        return
    if options.do_predict or not options.do_train:
        _use_trained(given, strategy)
    if options.do_train:
        finetune.write_report(options.output_dir)


def _use_trained(given: TaskData, strategy: tf.distribute.Strategy) -> None:
    """Evaluates weights that are there, unless the training has; predicts with the best ones."""
    options, task, data = given.inputs.options, given.task, given.splits
    ensembles.write(options, given.directory)
    is_evaluated = options.do_eval and not options.do_train
    scores = Scores(given.directory.path, given.main_metric)
    results: dict[str, float] = {}
    found_weights = trained_weights.find(
        given.inputs, given.directory, scores, strategy, with_last=is_evaluated
    )
    if ensembles.has_predictions(options):
        made = Predictor(ensembles.new_model(options))
        found_weights = iter([trained_weights.Weights(made, 0, is_last=True, is_best=False)])
    for weights in found_weights:
        model = _Model(task, weights.predictor)
        if is_evaluated:
            found = model.evaluate(data["dev"], options.evaluation_batch_size)
            results |= weights.results(found.metrics, task.result_prefix)
    if results:
        finetune.write_results(options.output_dir, results)
        evaluation_file.write(options.output_dir, weights.step, found)  # the best come last
    if best := found.metrics if is_evaluated else scores.best:
        model.task = _with_settings_found(task, best, options.output_dir)
    if options.do_predict:
        scored = data["dev"] if options.do_eval else []
        _predict(model, data["test"], options, scored)


def _train(run: setup.Run[TaskTraining], given: TaskData) -> dict[str, float]:
    """Trains to the end; returns the scores of the last and the best weights."""
    options, task, data = run.inputs.options, given.task, given.splits
    (train_set,) = data["train"]
    with with_vectors(run, train_set.rows, data.get("dev", ())) as (rows, dev):
        evaluate = None
        if options.do_eval:
            evaluate = functools.partial(_evaluate, task, dev, options.evaluation_batch_size)
        objective, rows = objective_and_rows(run, task, train_set, rows)
        scores = finetune.train(run, rows, objective, given.main_metric, evaluate)
    if run.is_chief and scores.best:
        _with_settings_found(task, scores.best, options.output_dir)
    return scores.results(task.result_prefix)


def _with_settings_found(task: Task, scores: Mapping[str, float], directory: str) -> Task:
    """The task with the settings that the scores tell; a model directory remembers them."""
    if not (found := task.settings_found(scores)):
        return task
    if model_directory.read_metadata(directory):
        model_directory.remember(directory, found)
    return task.with_settings({**task.settings, **found})


class _Model:
    """A trained model, which answers a set once.

    Attributes:
      task: reads the answers off its logits.
    """

    def __init__(self, task: Task, predictor: Predictor) -> None:
        self.task = task
        self._predictor = predictor
        self._logits: dict[int, Sequence[np.ndarray]] = {}

    def logits(
        self, labelled: Labelled, batch_size: int, label: str = "predict"
    ) -> Sequence[np.ndarray]:
        """See `Predictor.logits`."""
        if (key := id(labelled)) not in self._logits:  # dev and test may be one set
            self._logits[key] = self._predictor.logits(labelled.rows, batch_size, label)
        return self._logits[key]

    def evaluate(self, sets: Sequence[Labelled], batch_size: int) -> Evaluation:
        """Scores of all sets of the dev split; metrics after the first set's carry their name.

        Everything else is that of the first set.
        """
        evaluation: Evaluation | None = None
        for labelled in sets:
            logits = self.logits(labelled, batch_size, "evaluate")
            of_set = self.task.evaluate(labelled.examples, labelled.rows, logits)
            if evaluation is None:
                evaluation = of_set
            else:
                named = {f"{name}_{labelled.name}": value for name, value in of_set.metrics.items()}
                evaluation.metrics.update(named)
        assert evaluation is not None, "a dev split has a set"
        return evaluation


def _evaluate(
    task: Task, sets: Sequence[Labelled], batch_size: int, predictor: Predictor
) -> Evaluation:
    """See `_Model.evaluate`."""
    return _Model(task, predictor).evaluate(sets, batch_size)


def _predict(
    model: _Model, sets: Sequence[Labelled], options: TaskTraining, scored: Sequence[Labelled]
) -> None:
    """Writes the prediction files of each test set, and the scores of those with labels.

    Args:
      scored: sets whose scores the evaluation gives.
    """
    task = model.task
    scores: dict[str, float] = {}
    for labelled in sets:
        logits = model.logits(labelled, options.predict_batch_size)
        suffix = f"_{labelled.name}" if labelled.name else ""
        logits = ensembles.with_predictions(options, task, suffix, logits)
        paths = task.write_predictions(
            options.output_dir, suffix, labelled.examples, labelled.rows, logits
        )
        print(f"Predictions: {', '.join(paths)}", flush=True)
        is_labelled = all(example.is_labelled for example in labelled.examples)
        if is_labelled and not any(each is labelled for each in scored):
            found = task.evaluate(labelled.examples, labelled.rows, logits).metrics
            scores |= {f"test_{name}{suffix}": value for name, value in found.items()}
    if scores:
        finetune.write_results(options.output_dir, scores, "test_scores.txt")
