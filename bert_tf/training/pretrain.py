"""`run_pretraining.py`: masked LM and next sentence prediction on TFRecords (paper section 3.1).

Files in `--output_dir` beside those of a model directory: eval_results.txt with the released keys.
"""

import collections
import os

import numpy as np
import tensorflow as tf

from bert_tf import checkpoints, features, files, flagging
from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.examples import batching, packing
from bert_tf.examples.pretraining import PAIR_OBJECTIVES
from bert_tf.progress import Progress
from bert_tf.records import check, manifest, read
from bert_tf.training import finetune, objectives
from bert_tf.training import start as start_lib
from bert_tf.training import strategy as strategy_lib

# Records are padded to the full length; two pieces of a batch leave out most of that.
_NUM_PIECES = 2


def run(options):
    """Runs what the flags ask for; see the module.

    Args:
      options: `options.PreTraining`.
    """
    start = start_lib.check(options, _vocab_file(options))
    packing.check_length(options.max_seq_length, start.config, shortest=5)
    train_files = files.expand(options.input_file, "--input_file")
    eval_files = files.expand(options.eval_input_file or options.input_file, "--eval_input_file")
    sizes = _sizes([*train_files, *eval_files], start.vocabulary, options)
    for paths in (train_files, eval_files):
        check.record_names(paths, features.PRETRAINING, sizes)
        check.check_ids(paths, start.config.vocab_size)
    strategy = start_lib.set_up(options)
    directory = model_directory.prepare(
        options.output_dir, start.config, start.vocab_file, _card(options, start)
    )
    flagging.announce(options)
    if options.do_train:
        model, step = _train(start, train_files, sizes, options, strategy, directory)
    else:
        model, step = start_lib.trained_model(directory, start), 0
    if options.do_eval:
        results = {"global_step": step} | evaluate(model, eval_files, sizes, options)
        finetune.write_results(options.output_dir, results)


def _vocab_file(options):
    """`--vocab_file`, or the vocab.txt beside the configuration, as in released directories."""
    if options.vocab_file:
        return options.vocab_file
    beside = os.path.join(os.path.dirname(options.bert_config_file), "vocab.txt")
    if os.path.isfile(beside):
        return beside
    raise InputError(
        f"--vocab_file is not given and {beside} does not exist; name the vocab.txt that the "
        "records were made with, so that the trained model can be used."
    )


def _sizes(paths, vocabulary, options):
    """Dict from axis letter to length; checks the records against their manifests."""
    num_predictions = options.max_predictions_per_seq
    builds = manifest.check(
        paths,
        vocabulary=vocabulary,
        do_lower_case=not vocabulary.is_cased,
        max_seq_length=options.max_seq_length,
        max_predictions_per_seq=num_predictions,
        objectives=PAIR_OBJECTIVES,
    )
    if num_predictions is None and builds[0]:
        num_predictions = builds[0].max_predictions_per_seq
    elif num_predictions is None:
        num_predictions = check.num_values(paths[0], features.MASKED_LM_POSITIONS)
    return {"T": options.max_seq_length, "P": num_predictions}


def _card(options, start):
    return model_directory.Card(
        kind="pretrain",
        task="masked-lm-and-next-sentence",
        num_texts=2,
        do_lower_case=not start.vocabulary.is_cased,
        max_seq_length=options.max_seq_length,
    )


def _train(start, paths, sizes, options, strategy, directory):
    """Trains to the end; returns (model, number of updates)."""
    strategy_lib.check_batch_size(strategy, options.train_batch_size)
    course = (*start_lib.COURSE, "num_train_steps", "num_warmup_steps")
    identity = {name: getattr(options, name) for name in course}
    num_records = [check.num_records(path) for path in paths]
    identity["records"] = dict(zip(map(os.path.basename, paths), num_records, strict=True))
    if hashes := [each for each in map(manifest.sha256, paths) if each]:
        identity["records_sha256"] = hashes
    schedule = start_lib.new_schedule(options, options.num_train_steps, options.num_warmup_steps)
    loop = start_lib.new_loop(
        start, options, strategy, directory, objectives.PRETRAINING, schedule, identity
    )
    done = loop.restore()
    print(
        f"Pre-training: {sum(num_records)} records in {len(paths)} file(s), "
        f"{options.num_train_steps} steps of {options.train_batch_size}, "
        f"{strategy.num_replicas_in_sync} replica(s)"
        + (f"; going on after step {done}." if done else "."),
        flush=True,
    )
    batches = read.read(
        paths,
        features.PRETRAINING,
        sizes,
        batch_size=options.train_batch_size,
        seed=options.random_seed,
        start_batch=done,
    )
    shares = (_shared_out(b, strategy.num_replicas_in_sync) for b in batches.as_numpy_iterator())
    with read.naming_damaged_file(paths):
        loop.run(shares, options.num_train_steps, options.train_batch_size)
    checkpoints.save(loop.model, os.path.join(directory.path, "last"))
    return loop.model, options.num_train_steps


def _shared_out(batch, replicas):
    """A batch of records as each replica's pieces, without most of the padding."""
    lengths = batch[features.MASK.name].sum(axis=1)
    shares = batching.share_out(np.arange(len(lengths)), lengths, replicas, _NUM_PIECES)
    return [tuple(_cut(batch, rows, lengths) for rows in pieces) for pieces in shares]


def _cut(batch, rows, lengths):
    """Some rows of a batch, as long as the longest of them."""
    longest = int(lengths[rows].max(initial=1))
    per_token = {feature.name for feature in features.ENCODER_INPUTS}
    return {
        name: values[rows, :longest] if name in per_token else values[rows]
        for name, values in batch.items()
    }


def evaluate(model, paths, sizes, options):
    """Losses and accuracies over held-out records, each a mean over all predictions.

    Args:
      model: `PretrainingModel`.
      paths: list of record files.
      sizes: dict from axis letter to length.
      options: `options.PreTraining`.

    Returns:
      dict with `loss`, `masked_lm_loss`, `masked_lm_accuracy`, `next_sentence_loss` and
      `next_sentence_accuracy`.
    """
    measure = tf.function(
        lambda batch: objectives.PRETRAINING.measure(model(batch, training=False), batch),
        reduce_retracing=True,
    )
    batches = read.read_once(paths, features.PRETRAINING, sizes, batch_size=options.eval_batch_size)
    if options.max_eval_steps:
        batches = batches.take(options.max_eval_steps)
    totals = collections.defaultdict(lambda: np.zeros(2))
    progress = Progress("evaluate", None, "batches")
    for batch in batches:
        for name, pair in measure(batch).items():
            totals[name] += [float(value) for value in pair]
        progress.advance()
    progress.close()
    means = {name: total / max(1.0, count) for name, (total, count) in totals.items()}
    return means | {"loss": means["masked_lm_loss"] + means["next_sentence_loss"]}
