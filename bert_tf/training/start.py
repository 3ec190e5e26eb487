"""What a run starts from: checked inputs, seeds and compute type, initial weights."""

import dataclasses
import os

import keras
import tensorflow as tf

from bert_tf import checkpoints, files, flagging
from bert_tf import config as config_lib
from bert_tf.checkpoints import model_directory
from bert_tf.errors import InputError
from bert_tf.text import vocab
from bert_tf.training import optimizer as optimizer_lib
from bert_tf.training import roles
from bert_tf.training import strategy as strategy_lib
from bert_tf.training.loop import Loop
from bert_tf.training.loss_scale import LossScale
from bert_tf.training.schedules import Schedule
from bert_tf.training.workers import Workers

_PRETRAINING_HEADS = (r"cls[/.](predictions|seq_relationship)[/.].*",)
_CLASSIFIER_HEADS = (r"output_(weights|bias)", r"classifier\..*")
_SPAN_HEADS = (r"cls/squad/.*", r"qa_outputs\..*")

# By kind of model: the heads in a checkpoint that a run of this kind leaves there. A span head
# is kept, so that one question-answering set can follow another (paper section 4.2); a
# classifier's is not, since its labels need not be ours.
_SKIPPED_HEADS = {
    "pretrain": _CLASSIFIER_HEADS + _SPAN_HEADS,
    "classify": _PRETRAINING_HEADS + _CLASSIFIER_HEADS + _SPAN_HEADS,
    "regress": _PRETRAINING_HEADS + _CLASSIFIER_HEADS + _SPAN_HEADS,
    "span": _PRETRAINING_HEADS + _CLASSIFIER_HEADS,
}


# What a checkpoint may lack: heads, and the pooler, which files for masked LM or question answering
# alone do not have.
_FRESH = (r"(?!encoder/).*", r"encoder/pooler/.*")

# The options that decide the course of every kind of run, and so must not change on a restart.
COURSE = ("train_batch_size", "learning_rate", "weight_decay_rate", "adam_bias_correction")
COURSE += ("max_grad_norm", "dtype", "random_seed", "init_checkpoint")
COURSE += ("optimizer", "lr_schedule", "lr_power", "lr_end_ratio")

_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
_OPTIMIZERS = {"adamw": optimizer_lib.AdamW, "lamb": optimizer_lib.LAMB}


@dataclasses.dataclass(frozen=True)
class Start:
    """The checked inputs.

    Attributes:
      config: `BertConfig`.
      vocabulary: `Vocabulary`.
      vocab_file: its path.
      checkpoint: opened `--init_checkpoint`, or None.
    """

    config: config_lib.BertConfig
    vocabulary: vocab.Vocabulary
    vocab_file: str
    checkpoint: object


def check(options, vocab_file):
    """Checks configuration, vocabulary and checkpoint against each other.

    Args:
      options: `options.Training`.
      vocab_file: path of vocab.txt.

    Raises:
      InputError: one of them is missing or does not fit the others.
    """
    config = config_lib.from_file(options.bert_config_file)
    vocabulary = vocab.from_file(vocab_file)
    if warning := checkpoints.check_vocabulary(config, vocabulary):
        print(f"WARNING: {warning}", flush=True)
    checkpoint = None
    if options.init_checkpoint:
        checkpoint = checkpoints.open_checkpoint(options.init_checkpoint)
        _check_checkpoint(checkpoint, vocabulary)
    return Start(config, vocabulary, vocab_file, checkpoint)


def _check_checkpoint(checkpoint, vocabulary):
    """Refuses a vocabulary that is not the checkpoint's own."""
    if not checkpoint.vocab_file:
        return
    found = vocab.from_file(checkpoint.vocab_file)
    if found.sha256 != vocabulary.sha256:
        casing = {True: "cased", False: "uncased"}
        raise InputError(
            f"--vocab_file ({len(vocabulary)} tokens, {casing[vocabulary.is_cased]}) is not the "
            f"vocabulary of --init_checkpoint ({len(found)} tokens, {casing[found.is_cased]}). "
            f"Give --vocab_file={checkpoint.vocab_file}."
        )


def set_up(options):
    """Seeds everything, sets the compute type of the layers and makes the strategy.

    On CPUs sums are made in a fixed order, so that a restart repeats a run bit for bit; on GPUs
    that would cost speed.

    Returns:
      `tf.distribute.Strategy`.
    """
    keras.utils.set_random_seed(options.random_seed)
    if not tf.config.list_physical_devices("GPU"):
        tf.config.experimental.enable_op_determinism()
    keras.config.set_dtype_policy(_POLICIES[options.dtype])
    return strategy_lib.make(options.distribution_strategy)


def is_chief(strategy):
    """Whether this process, of those of the run, writes what is kept."""
    return Workers(strategy).is_chief


def new_schedule(options, num_steps, num_warmup_steps, peaks=()):
    """The `Schedule` that the options ask for, over so many updates.

    Args:
      options: `options.Training`.
      num_steps: int.
      num_warmup_steps: int.
      peaks: see `schedules.Schedule`.
    """
    return Schedule(
        options.learning_rate,
        num_steps,
        num_warmup_steps,
        kind=options.lr_schedule,
        power=options.lr_power,
        end_ratio=options.lr_end_ratio,
        peaks=tuple(peaks),
    )


def new_loop(start, options, strategy, directory, objective, schedule, identity, record_files=None):
    """Makes model, optimizer and loop under the strategy, with the initial weights.

    Once the directory turns out to be this run's, the options go to its flags.txt: those of a
    run that is refused, or that only predicts, never replace those it was trained with.

    Args:
      start: `Start`.
      options: `options.Training`.
      strategy: `tf.distribute.Strategy`.
      directory: `ModelDirectory`, see `model_directory.prepare`.
      objective: `objectives.Objective`.
      schedule: `schedules.Schedule`.
      identity, record_files: see `loop.Loop`.
    """
    with strategy.scope():
        model = model_directory.new_model(start.config, directory.card)
        _load_initial_weights(model, start.checkpoint, directory.card.kind)
        if is_chief(strategy):
            _describe(directory, start)
        optimizer = _new_optimizer(options, model, schedule)
    loop = Loop(
        model=model,
        objective=objective,
        optimizer=optimizer,
        strategy=strategy,
        directory=directory.path,
        random_seed=options.random_seed,
        save_steps=options.save_checkpoints_steps,
        log_steps=options.log_steps,
        identity=identity,
        record_files=record_files,
    )
    if not is_chief(strategy):
        return loop
    files.write_text(os.path.join(directory.path, "flags.txt"), flagging.to_flagfile(options))
    return loop


def _new_optimizer(options, model, schedule):
    return _OPTIMIZERS[options.optimizer](
        [variable.value for variable in model.trainable_variables],
        schedule,
        roles=roles.of(model),
        weight_decay_rate=options.weight_decay_rate,
        bias_correction=options.adam_bias_correction,
        max_grad_norm=options.max_grad_norm,
        loss_scale=LossScale() if options.dtype == "float16" else None,
    )


def _load_initial_weights(model, checkpoint, kind):
    """Fills the model from a checkpoint; heads that it lacks stay fresh. Says so aloud."""
    if checkpoint is None:
        print("No --init_checkpoint: every weight starts random.", flush=True)
        return
    report = checkpoints.load(model, checkpoint, skip=_SKIPPED_HEADS[kind], fresh=_FRESH)
    print(report, flush=True)


def trained_model(directory, start):
    """The best weights of a model directory; without any, those of `--init_checkpoint`.

    Args:
      directory: `ModelDirectory`, see `model_directory.prepare`.
      start: `Start`; its checkpoint must then hold the head as well.

    Raises:
      InputError: neither is there, or the checkpoint lacks weights.
    """
    if os.path.isdir(directory.weights("best")):
        print(f"Weights: {directory.weights('best')}", flush=True)
        return directory.build_model("best")
    if start.checkpoint is None:
        raise InputError(
            f"--output_dir={directory.path} holds no weights and --init_checkpoint is not given; "
            "train first (--do_train), or name a fine-tuned checkpoint."
        )
    model = model_directory.new_model(start.config, directory.card)
    print(checkpoints.load(model, start.checkpoint, skip=_PRETRAINING_HEADS), flush=True)
    _describe(directory, start)
    return model


def _describe(directory, start):
    """Writes what the model is, now that the weights fit: a refused run leaves nothing."""
    model_directory.create(directory.path, start.config, start.vocab_file, directory.card)
