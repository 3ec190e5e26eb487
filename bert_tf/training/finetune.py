"""Fine-tuning over rows in memory: epochs, dev-set scores, best and last weights.

The best weights are those with the highest dev score at the end of an epoch (appendix A.3).
"""

import os

from bert_tf import checkpoints, files
from bert_tf.errors import InputError
from bert_tf.examples import batching
from bert_tf.training import setup as start_lib
from bert_tf.training.devices import strategy as strategy_lib
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.monitoring.throughput import Meter
from bert_tf.training.phases import Phase

# The options that, with those of `setup.COURSE`, decide the course of a run.
_COURSE = (*start_lib.COURSE, "num_train_epochs", "warmup_proportion", "batch_pieces")


def num_steps(num_rows, options):
    """(updates per epoch, updates in all, warm-up updates); a short last batch is an update."""
    per_epoch = -(-num_rows // options.train_batch_size)
    total = max(1, round(per_epoch * options.num_train_epochs))
    return per_epoch, total, int(total * options.warmup_proportion)


def train(start, rows, options, strategy, directory, objective, main_metric, evaluate):
    """Trains to the end, going on where a killed run stopped.

    Args:
      start: `setup.Start`.
      rows: `batching.Rows` with labels.
      options: `options.FineTuning`.
      strategy: `tf.distribute.Strategy`.
      directory: `ModelDirectory`; gets `last` and, with `evaluate`, `best`.
      objective: `objectives.Objective`.
      main_metric: str, the key of `evaluate`'s result that decides which weights are the best.
      evaluate: callable from the model to a dict of metrics, or None without a dev set.

    Returns:
      `Scores` of the run.

    Raises:
      InputError: the strategy spans several processes, or cannot share the batch evenly.
    """
    if len(strategy_lib.local_replicas(strategy)) < strategy.num_replicas_in_sync:
        raise InputError(
            "Fine-tuning runs in one process, and the environment variable TF_CONFIG names more. "
            "Unset it, or give --distribution_strategy=mirrored."
        )
    strategy_lib.check_batch_size(strategy, options.train_batch_size)
    per_epoch, total, warmup = num_steps(len(rows), options)
    identity = {name: getattr(options, name) for name in _COURSE} | {"examples": rows.digest()}
    schedule = start_lib.new_schedule(options, total, warmup)
    loop = start_lib.new_loop(start, options, strategy, directory, objective, schedule, identity)
    done = loop.restore()
    print(
        f"Training: {len(rows)} examples, {total} steps of {options.train_batch_size}, "
        f"{warmup} of them warm-up, {strategy.num_replicas_in_sync} replica(s)"
        + (f"; going on after step {done}." if done else "."),
        flush=True,
    )
    scores = Scores(directory.path, main_metric)
    scores.forget_after(done)

    def score_epoch(step):
        if evaluate and (step % per_epoch == 0 or step == total):
            metrics = evaluate(loop.model)
            is_best = scores.add(step, metrics)
            shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
            print(f"Step {step}: {shown}{' (best so far)' if is_best else ''}", flush=True)
            if is_best:
                checkpoints.save(loop.model, os.path.join(directory.path, "best"))

    batches = batching.training_batches(
        rows,
        batch_size=options.train_batch_size,
        random_seed=options.random_seed,
        replicas=strategy.num_replicas_in_sync,
        num_pieces=options.batch_pieces,
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
    checkpoints.save(loop.model, os.path.join(directory.path, "last"))
    return scores


def write_results(output_dir, results):
    """Writes eval_results.txt, a line `key = value` for each metric, and prints it."""
    text = "".join(f"{name} = {value}\n" for name, value in sorted(results.items()))
    files.write_text(os.path.join(output_dir, "eval_results.txt"), text)
    print("Evaluation:\n  " + text.strip().replace("\n", "\n  "), flush=True)
