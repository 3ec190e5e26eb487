"""Fine-tuning over rows in memory: epochs, dev-set scores, best and last weights.

The best weights are those with the best dev score (appendix A.3), at the end of an epoch or every
--eval_steps.
"""

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

import keras

from bert_tf import files
from bert_tf.examples.rows import Rows
from bert_tf.formatting import number
from bert_tf.options import FineTuning
from bert_tf.options.finetuning.stability import STABILITY
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.training import setup
from bert_tf.training.devices.strategies import of_this_process
from bert_tf.training.devices.workers import Workers
from bert_tf.training.finetuning import evaluation_schedule
from bert_tf.training.finetuning.best_weights import BestWeights
from bert_tf.training.finetuning.evaluation_schedule import EarlyStopping, EvaluationSchedule
from bert_tf.training.finetuning.predict import Predictor
from bert_tf.training.inputs import check_identity, deciding_options
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.monitoring.throughput import Meter
from bert_tf.training.phases import Phase
from bert_tf.training.report import page
from bert_tf.training.resume import completion
from bert_tf.training.step import row_batches
from bert_tf.training.step.loop import Loop
from bert_tf.training.step.objectives import Objective

# The options that decide the result, in addition to `inputs.deciding_options`.
_DECIDING = ("num_train_epochs", "warmup_proportion", *STABILITY)
# What dropout masks belong to. In version 0.1.0 they belonged to replicas and micro-batches.
_MASKS = {"dropout_masks": "by row"}

_NUM_DIGITS = 9  # of a result: enough to tell any two float32 apart

Evaluate = Callable[[Predictor], Evaluation]


class Steps(NamedTuple):
    """How many updates a training has; a short last batch of an epoch is an update."""

    per_epoch: int
    total: int
    warmup: int


def num_steps(num_rows: int, options: FineTuning) -> Steps:
    """The updates of a training on `num_rows` rows."""
    per_epoch = -(-num_rows // options.train_batch_size)
    total = max(1, round(per_epoch * options.num_train_epochs))
    return Steps(per_epoch, total, int(total * options.warmup_proportion))


def train(
    run: setup.Run[FineTuning],
    rows: Rows,
    objective: Objective,
    main_metric: str,
    evaluate: Evaluate | None,
) -> Scores:
    """Trains to the end, resuming where a killed run stopped.

    The run's directory gets the weights `last` and, with `evaluate`, `best`. A run that is complete
    is not trained again. Of several processes the chief evaluates and writes, while the others wait
    for its next update.

    Args:
      rows: with labels.
      main_metric: the metric that decides which weights are the best.
      evaluate: scores the model that a predictor runs; None without a dev set.

    Returns:
      The scores, which only the chief has.

    Raises:
      InputError: the devices cannot be fed, see `row_batches.check_devices`; or the directory holds
        another run.
    """
    options, directory = run.inputs.options, run.directory
    row_batches.check_devices(options, run.strategy)
    steps = num_steps(len(rows), options)
    identity = {name: getattr(options, name) for name in _DECIDING} | {"examples": rows.digest()}
    identity |= evaluation_schedule.deciding_options(options)
    identity |= options.deciding_extras | objective.identity
    scores = Scores(directory.path, main_metric)
    keeps_states = options.keep_training_state
    num_updates = completion.early_end(directory.path) or steps.total
    workers = Workers(run.strategy)
    if any(workers.from_chief([completion.is_complete(directory.path, num_updates)])):
        # Whatever its masks were: no more are drawn.
        check_identity(directory.path, deciding_options(options) | identity, is_part=True)
        if workers.is_chief:
            best = BestWeights(directory.path, scores)
            _score_again(run, best, scores, evaluate, num_updates)
            best.finish()
            completion.finish(directory.path, num_updates, keeps_states=keeps_states)
        return scores
    schedule = setup.new_schedule(options, steps.total, steps.warmup)
    loop = run.new_loop(objective, schedule, identity | _MASKS)
    done = loop.restore()
    print(_plan(len(rows), steps, run, done), flush=True)
    loop.log.event(done, "plan", num_steps=steps.total)
    scores.forget_after(done)
    best = BestWeights(directory.path, scores, loop.write)
    loop.before_save = best.write
    evaluations = _Evaluations(loop, run, steps, scores, best, evaluate)
    _run(loop, run, rows, steps, evaluations)
    if workers.is_chief:
        best.finish()
        loop.save_weights("last")
        completion.finish(
            directory.path,
            loop.step,
            keeps_states=keeps_states,
            ended_early=evaluations.early_stopping,
        )
    loop.close()
    return scores


def _plan(num_rows: int, steps: Steps, run: setup.Run[FineTuning], done: int) -> str:
    """What the training is, for the terminal."""
    options = run.inputs.options
    text = (
        f"Training: {num_rows:,} examples in batches of {options.train_batch_size}, "
        f"{steps.per_epoch:,} steps per epoch, {steps.total:,} steps in all, {steps.warmup:,} of "
        f"them warm-up, {run.strategy.num_replicas_in_sync} replica(s)"
    )
    if options.has_static_shapes:
        lengths = ", ".join(map(str, options.lengths(options.max_seq_length)))
        text += f", batches padded to {lengths} tokens"
    text += f"; resumed after step {done}." if done else "."
    released = int(num_rows / options.train_batch_size * options.num_train_epochs)
    if released != steps.total:
        text += (
            f"\n  (google-research/bert makes {released:,} steps of these: it rounds down. Here "
            "the rows left over at the end of an epoch make a short batch.)"
        )
    return text


def _run(
    loop: Loop,
    run: setup.Run[FineTuning],
    rows: Rows,
    steps: Steps,
    evaluations: "_Evaluations",
) -> None:
    """Makes the updates that are left."""
    options = run.inputs.options
    batches = row_batches.batches(rows, options, run.strategy, loop.step)
    phase = Phase(
        options.max_seq_length, steps.total, options.train_batch_size, options.learning_rate
    )
    meter = Meter([phase], loop.step)
    if not evaluations.must_end():  # it may have been killed where it ended
        loop.run(batches, steps.total, meter, evaluations.after_update, evaluations.next_after)
    if rates := meter.rates():
        speed = number(rates.examples_per_second, 3)
        print(f"Trained: {speed} examples/s, evaluation included.", flush=True)
    details = {}
    if reason := evaluations.early_stopping:
        print(f"Early stopping after step {loop.step:,} of {steps.total:,}: {reason}.", flush=True)
        details = {"early_stopping": reason, "num_steps": steps.total}
    loop.log.event(loop.step, "end", **details)


class _Evaluations:
    """Scores the weights during the training, and ends it early.

    Args:
      scores: those of earlier starts of the run; they get the new ones through `best`.
      evaluate: see `train`.
    """

    def __init__(
        self,
        loop: Loop,
        run: setup.Run[FineTuning],
        steps: Steps,
        scores: Scores,
        best: BestWeights,
        evaluate: Evaluate | None,
    ) -> None:
        options = run.inputs.options
        self._schedule = EvaluationSchedule(options.eval_steps or steps.per_epoch, steps.total)
        self._stopping = EarlyStopping(
            scores.main_metric, options.early_stopping_patience, options.early_stopping_min_delta
        )
        self._loop, self._scores, self._best = loop, scores, best
        self._evaluate = evaluate
        self._predictor = Predictor.of_run(loop.model, options, run.strategy)
        self._workers = Workers(run.strategy)

    def next_after(self, step: int) -> int:
        """The update after `step` with the next evaluation."""
        return self._schedule.next_after(step)

    def after_update(self, step: int) -> bool:
        """Scores the weights after `step` updates if that is due; returns whether they are last."""
        if not (self._evaluate and self._schedule.is_due(step)):
            return False
        if self._workers.is_chief:
            found = self._evaluate(self._predictor)
            details = {"confusion": found.confusion} if found.confusion else {}
            self._loop.log.evaluation(step, found.metrics, **details)
            _keep_score(self._best, step, found, self._loop.model)
        return self.must_end()

    def must_end(self) -> bool:
        """Whether the scores end the training early, the same in every process."""
        if self._stopping.patience is None:
            return False
        has_reason = bool(self._stopping.reason(self._scores.lines))
        return self._workers.any(self._workers.is_chief and has_reason)

    @property
    def early_stopping(self) -> str:
        """Why the training has ended before its last update; "" if it has not."""
        is_early = self._loop.step < self._schedule.num_steps
        return self._stopping.reason(self._scores.lines) if is_early else ""


def _keep_score(best: BestWeights, step: int, found: Evaluation, model: keras.Model) -> None:
    """Prints and keeps the score of weights, and the weights if they are the best so far."""
    is_best = best.add(step, found, model)
    shown = ", ".join(f"{name} {number(value)}" for name, value in found.metrics.items())
    print(f"Step {step}: {shown}{' (best so far)' if is_best else ''}", flush=True)


def _score_again(
    run: setup.Run[FineTuning],
    best: BestWeights,
    scores: Scores,
    evaluate: Evaluate | None,
    num_updates: int,
) -> None:
    """Says that a run is complete; scores its last weights if they have no score yet."""
    print(completion.message(run.directory.path, num_updates), flush=True)
    if evaluate and (scores.last is None or scores.last["step"] != num_updates):
        strategy = of_this_process(run.strategy)
        with strategy.scope():
            model = run.directory.build_model("last")
        predictor = Predictor.of_run(model, run.inputs.options, strategy)
        _keep_score(best, num_updates, evaluate(predictor), model)


def write_results(
    output_dir: str, results: Mapping[str, float], file_name: str = "eval_results.txt"
) -> None:
    """Prints results rounded, and writes them to a file, a line `key = value` for each metric.

    Args:
      results: from name to value, an int where it counts something.
      file_name: of the file in `output_dir`.
    """
    names = sorted(results)
    lines = [f"{name} = {_full(results[name])}\n" for name in names]
    print("Evaluation:", flush=True)
    print("".join(f"  {name} = {number(results[name])}\n" for name in names), end="", flush=True)
    files.write_text(os.path.join(output_dir, file_name), "".join(lines))


def _full(value: float) -> str:
    """A result for programs to read: no separators, every digit that means something."""
    return str(value) if isinstance(value, int) else f"{value:.{_NUM_DIGITS}g}"


def write_report(output_dir: str) -> None:
    """Writes report.html, once everything else is there."""
    print(f"Report: {page.write(output_dir)}", flush=True)
