"""What a run starts from: checked inputs, seeds and compute type, initial weights."""

import dataclasses
import os

import keras
import tensorflow as tf

from bert_tf import checkpoints, files, flagging
from bert_tf import config as config_lib
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.hub import presets
from bert_tf.errors import InputError
from bert_tf.text import vocab
from bert_tf.training.devices import strategy as strategy_lib
from bert_tf.training.devices import tpu
from bert_tf.training.devices.workers import Workers
from bert_tf.training.optimization import optimizer as optimizer_lib
from bert_tf.training.optimization import parameter_groups
from bert_tf.training.optimization.loss_scale import LossScale
from bert_tf.training.optimization.schedules import Schedule
from bert_tf.training.step.loop import Loop

# Regular expressions of our paths, so that they serve a checkpoint of any format.
_PAIR_HEAD = (r"next_sentence/.*",)
_PRETRAINING_HEADS = (r"masked_lm/.*", *_PAIR_HEAD)
_CLASSIFIER_HEAD = (r"classifier/.*",)
_SPAN_HEAD = (r"span/.*",)
_ALL_HEADS = _PRETRAINING_HEADS + _CLASSIFIER_HEAD + _SPAN_HEAD

# By kind of model: the heads in a checkpoint that a run of this kind leaves there. A span head
# is kept, so that one question-answering set can follow another (paper section 4.2); a
# classifier's is not, since its labels need not be ours.
_SKIPPED_HEADS = {
    "encoder": _ALL_HEADS,
    "pretrain": _CLASSIFIER_HEAD + _SPAN_HEAD,
    "classify": _ALL_HEADS,
    "regress": _ALL_HEADS,
    "tag": _ALL_HEADS,
    "choice": _ALL_HEADS,
    "span": _PRETRAINING_HEADS + _CLASSIFIER_HEAD,
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


def check(options):
    """Checks configuration, vocabulary and checkpoint against each other.

    A file that is not given is the one beside --bert_config_file, or else --init_checkpoint's own.

    Args:
      options: `options.Training`.

    Raises:
      InputError: one of them is missing or does not fit the others.
    """
    checkpoint = None
    if options.init_checkpoint:
        checkpoint = checkpoints.open_checkpoint(presets.resolve(options.init_checkpoint))
    config = _config(options, checkpoint)
    vocab_file = _vocab_file(options, checkpoint)
    vocabulary = vocab.from_file(vocab_file)
    if warning := checkpoints.check_vocabulary(config, vocabulary):
        print(f"WARNING: {warning}", flush=True)
    if checkpoint:
        _check_checkpoint(checkpoint, vocabulary)
    return Start(config, vocabulary, vocab_file, checkpoint)


def _config(options, checkpoint):
    """`BertConfig` of --bert_config_file, or of the file beside the checkpoint."""
    if options.bert_config_file:
        return config_lib.from_file(options.bert_config_file)
    if checkpoint and checkpoint.config:
        return checkpoint.config
    raise InputError(
        "--bert_config_file is not given, and --init_checkpoint has none beside it; name the "
        "bert_config.json that the weights were made with."
    )


def _vocab_file(options, checkpoint):
    """--vocab_file, or the vocab.txt beside the configuration or the checkpoint."""
    if options.vocab_file:
        return options.vocab_file
    beside = os.path.join(os.path.dirname(options.bert_config_file or ""), "vocab.txt")
    if options.bert_config_file and os.path.isfile(beside):
        return beside
    if checkpoint and checkpoint.vocab_file:
        return checkpoint.vocab_file
    raise InputError(
        "--vocab_file is not given, and no vocab.txt is beside --bert_config_file or "
        "--init_checkpoint; name the vocab.txt that the weights or records were made with."
    )


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
    that would cost speed, and on TPUs TensorFlow has no say in it.

    Returns:
      `tf.distribute.Strategy`.
    """
    keras.utils.set_random_seed(options.random_seed)
    if not (options.use_tpu or tf.config.list_physical_devices("GPU")):
        tf.config.experimental.enable_op_determinism()
    keras.config.set_dtype_policy(_POLICIES[options.dtype])
    if options.use_tpu:
        return tpu.make(options)
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


def new_loop(
    start,
    options,
    strategy,
    directory,
    objective,
    schedule,
    identity,
    record_files=None,
    jit_compile=False,
):
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
      identity, record_files, jit_compile: see `loop.Loop`.
    """
    with strategy.scope():
        model = initial_model(start, directory)
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
        jit_compile=jit_compile,
    )
    if not is_chief(strategy):
        return loop
    files.write_text(os.path.join(directory.path, "flags.txt"), flagging.to_flagfile(options))
    return loop


def _new_optimizer(options, model, schedule):
    return _OPTIMIZERS[options.optimizer](
        [variable.value for variable in model.trainable_variables],
        schedule,
        roles=parameter_groups.of(model),
        weight_decay_rate=options.weight_decay_rate,
        bias_correction=options.adam_bias_correction,
        max_grad_norm=options.max_grad_norm,
        loss_scale=LossScale() if options.dtype == "float16" else None,
    )


def initial_model(start, directory):
    """The model with its initial weights; says aloud where they come from.

    Args:
      start: `Start`; heads that its checkpoint lacks stay fresh.
      directory: `ModelDirectory`, see `model_directory.prepare`.

    Raises:
      InputError: the checkpoint does not fit the model.
    """
    model = model_directory.new_model(start.config, directory.metadata)
    if start.checkpoint is None:
        print("No --init_checkpoint: every weight starts random.", flush=True)
        return model
    skipped = _skipped_heads(directory.metadata)
    print(checkpoints.load(model, start.checkpoint, skip=skipped, fresh=_FRESH), flush=True)
    return model


def _skipped_heads(metadata):
    """Those of a checkpoint that training leaves there; a model of one text has none for pairs."""
    has_no_pair = metadata.kind == "pretrain" and metadata.num_texts == 1
    return _SKIPPED_HEADS[metadata.kind] + (_PAIR_HEAD if has_no_pair else ())


def trained_model(directory, start):
    """The best weights of a model directory; without any, those of `--init_checkpoint`.

    The outputs of a classifier are put in the order of the directory's labels.

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
    metadata = directory.metadata
    model = model_directory.new_model(start.config, metadata)
    skipped = _skipped_heads(metadata) if metadata.kind == "pretrain" else _PRETRAINING_HEADS
    print(checkpoints.load(model, start.checkpoint, skip=skipped), flush=True)
    if metadata.kind == "classify" and start.checkpoint.labels not in ((), metadata.labels):
        _put_outputs_in_order(model.classifier, start.checkpoint, metadata.labels)
    _describe(directory, start)
    return model


def _put_outputs_in_order(head, checkpoint, labels):
    """Gives a head that `checkpoint` trained the order of `labels`; upper and lower case are one.

    Labels of other names are taken to be these in the checkpoint's order, and that is said aloud.
    """
    theirs = [label.casefold() for label in checkpoint.labels]
    wanted = [label.casefold() for label in labels]
    if sorted(theirs) != sorted(wanted) or len(set(theirs)) < len(theirs):
        print(
            f"WARNING: {checkpoint.path} calls its outputs {', '.join(checkpoint.labels)}; they "
            f"are taken, in this order, for {', '.join(labels)}.",
            flush=True,
        )
        return
    order = [theirs.index(label) for label in wanted]
    for variable in (head.kernel, head.bias):
        variable.assign(keras.ops.take(variable, order, axis=-1))


def _describe(directory, start):
    """Writes what the model is, now that the weights fit: a refused run leaves nothing."""
    model_directory.create(directory.path, start.config, start.vocab_file, directory.metadata)
