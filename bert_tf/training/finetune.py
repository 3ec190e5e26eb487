"""Fine-tuning over rows in memory: epochs, dev-set scores, best and last weights.

The best weights are those with the highest dev score at the end of an epoch (appendix A.3).
"""

import os
from collections.abc import Callable, Mapping

import keras

from bert_tf import checkpoints, files
from bert_tf.errors import InputError
from bert_tf.examples import batching
from bert_tf.options import FineTuning
from bert_tf.training import setup
from bert_tf.training.devices.strategies import check_batch_size, local_replicas
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.monitoring.throughput import Meter
from bert_tf.training.phases import Phase
from bert_tf.training.step.objectives import Objective

# The options that decide the result, in addition to `setup.deciding_options`.
_DECIDING = ("num_train_epochs", "warmup_proportion", "num_micro_batches")


def num_steps(num_rows: int, options: FineTuning) -> tuple[int, int, int]:
    """(updates per epoch, updates in total, warm-up updates); a short last batch is an update."""
    per_epoch = -(-num_rows // options.train_batch_size)
    total = max(1, round(per_epoch * options.num_train_epochs))
    return per_epoch, total, int(total * options.warmup_proportion)


def train(
    run: setup.Run[FineTuning],
    rows: batching.Rows,
    objective: Objective,
    main_metric: str,
    evaluate: Callable[[keras.Model], dict[str, float]] | None,
) -> Scores:
    """Trains to the end, resuming where a killed run stopped.

    The run's directory gets the weights `last` and, with `evaluate`, `best`.

    Args:
      rows: with labels.
      main_metric: the metric that decides which weights are the best.
      evaluate: gives the metrics of a model; None without a dev set.

    Raises:
      InputError: the strategy spans several processes, or cannot share the batch evenly.
    """
    options, strategy = run.inputs.options, run.strategy
    if len(local_replicas(strategy)) < strategy.num_replicas_in_sync:
        raise InputError(
            "Fine-tuning runs in one process, and the environment variable TF_CONFIG names more. "
            "Unset it, or give --distribution_strategy=mirrored."
        )
    check_batch_size(strategy, options.train_batch_size)
    per_epoch, total, warmup = num_steps(len(rows), options)
    identity = {name: getattr(options, name) for name in _DECIDING} | {"examples": rows.digest()}
    loop = run.new_loop(objective, setup.new_schedule(options, total, warmup), identity)
    done = loop.restore()
    print(
        f"Training: {len(rows)} examples, {total} steps of {options.train_batch_size}, "
        f"{warmup} of them warm-up, {strategy.num_replicas_in_sync} replica(s)"
        + (f"; resumed after step {done}." if done else "."),
        flush=True,
    )
    scores = Scores(run.directory.path, main_metric)
    scores.forget_after(done)

    def score_epoch(step: int) -> None:
        if evaluate and (step % per_epoch == 0 or step == total):
            metrics = evaluate(loop.model)
            is_best = scores.add(step, metrics)
            shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
            print(f"Step {step}: {shown}{' (best so far)' if is_best else ''}", flush=True)
            if is_best:
                checkpoints.save(loop.model, os.path.join(run.directory.path, "best"))

    batches = batching.training_batches(
        rows,
        batch_size=options.train_batch_size,
        random_seed=options.random_seed,
        replicas=strategy.num_replicas_in_sync,
        num_micro_batches=options.num_micro_batches,
        first_step=done,
    )
    phase = Phase(options.max_seq_length, total, options.train_batch_size, options.learning_rate)
    meter = Meter([phase], done)
    loop.run(batches, total, meter, score_epoch)
    if rates := meter.rates():
        speed = rates.examples_per_second
        print(f"Trained: {speed:.1f} examples/s, evaluation included.", flush=True)
    loop.log.event(total, "end")
    loop.close()
    checkpoints.save(loop.model, os.path.join(run.directory.path, "last"))
    return scores


def write_results(output_dir: str, results: Mapping[str, float]) -> None:
    """Writes eval_results.txt, a line `key = value` for each metric, and prints it."""
    text = "".join(f"{name} = {value}\n" for name, value in sorted(results.items()))
    files.write_text(os.path.join(output_dir, "eval_results.txt"), text)
    print("Evaluation:\n  " + text.strip().replace("\n", "\n  "), flush=True)
