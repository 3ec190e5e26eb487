"""Sets up a run: checked inputs, seeds, compute dtype and devices, initial weights, the loop."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import keras
import tensorflow as tf

from bert_tf import checkpoints, config, files, flagging, options
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.hub import presets
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.errors import InputError
from bert_tf.text import vocab
from bert_tf.training.devices import strategies, tpu
from bert_tf.training.devices.workers import Workers
from bert_tf.training.optimization import parameter_groups
from bert_tf.training.optimization.loss_scale import LossScale
from bert_tf.training.optimization.optimizer import LAMB, AdamW, Optimizer
from bert_tf.training.optimization.schedules import Schedule
from bert_tf.training.step.loop import Loop
from bert_tf.training.step.objectives import Objective
from bert_tf.training.step.update import Update

# What a checkpoint may lack: heads, and the pooler, which files for masked LM or question answering
# alone do not have.
_FRESH = (r"(?!encoder/).*", r"encoder/pooler/.*")

# The options that decide the result of every kind of run, and so must not change on a restart.
_DECIDING = tuple(
    "train_batch_size learning_rate weight_decay_rate adam_bias_correction max_grad_norm dtype "
    "random_seed init_checkpoint optimizer lr_schedule lr_power lr_end_ratio".split()
)

_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
_OPTIMIZERS = {"adamw": AdamW, "lamb": LAMB}


AnyOptions = TypeVar("AnyOptions", bound=options.Training)
Options = TypeVar("Options", bound=options.Training, covariant=True)


@dataclasses.dataclass(frozen=True)
class Inputs(Generic[Options]):
    """What a run is made from, checked.

    Attributes:
      vocab_file: the file of `vocabulary`.
      checkpoint: the opened --init_checkpoint.
    """

    options: Options
    config: config.BertConfig
    vocabulary: vocab.Vocabulary
    vocab_file: str
    checkpoint: checkpoints.Checkpoint | None


@dataclasses.dataclass(frozen=True)
class Run(Generic[Options]):
    """A run on its devices, with its model directory; see `model_directory.prepare`."""

    inputs: Inputs[Options]
    strategy: tf.distribute.Strategy
    directory: model_directory.ModelDirectory

    @property
    def is_chief(self) -> bool:
        """Whether this process, of those of the run, writes what is kept."""
        return Workers(self.strategy).is_chief

    def new_loop(
        self,
        objective: Objective,
        schedule: Schedule,
        identity: Mapping[str, Any],
        record_files: Callable[[int], list[str]] | None = None,
    ) -> Loop:
        """Makes model, optimizer and loop under the strategy, with the initial weights.

        Once the directory turns out to be this run's, the options go to its flags.txt. Those of a
        run that is refused, or that only predicts, never replace those of the training.

        Args:
          identity: what decides the result, in addition to the options that every kind of run has.
          record_files: see `loop.Loop`.
        """
        given = self.inputs.options
        with self.strategy.scope():
            model = initial_model(self.inputs, self.directory)
            if self.is_chief:
                _describe(self.directory, self.inputs)
            optimizer = _new_optimizer(given, model, schedule)
        update = Update(
            model,
            objective,
            optimizer,
            self.strategy,
            random_seed=given.random_seed,
            jit_compile=given.jit_compile and not given.use_tpu,
        )
        loop = Loop(
            update,
            self.directory.path,
            deciding_options(given) | dict(identity),
            save_steps=given.save_checkpoints_steps,
            log_steps=given.log_steps,
            record_files=record_files,
        )
        if self.is_chief:
            path = os.path.join(self.directory.path, "flags.txt")
            files.write_text(path, flagging.to_flagfile(given))
        return loop


def deciding_options(given: options.Training) -> dict[str, Any]:
    """The options that decide the result of every kind of run."""
    return {name: getattr(given, name) for name in _DECIDING}


def check(given: AnyOptions) -> Inputs[AnyOptions]:
    """Checks configuration, vocabulary and checkpoint against each other.

    A file that is not given is the one next to --bert_config_file, or else --init_checkpoint's own.

    Raises:
      InputError: one of them is missing or does not fit the others.
    """
    checkpoint = None
    if given.init_checkpoint:
        checkpoint = checkpoints.open_checkpoint(presets.resolve(given.init_checkpoint))
    bert_config = _config(given, checkpoint)
    vocab_file = _vocab_file(given, checkpoint)
    vocabulary = vocab.from_file(vocab_file)
    if warning := checkpoints.check_vocabulary(bert_config, vocabulary):
        print(f"WARNING: {warning}", flush=True)
    if checkpoint:
        _check_checkpoint(checkpoint, vocabulary)
    return Inputs(given, bert_config, vocabulary, vocab_file, checkpoint)


def _config(
    given: options.Training, checkpoint: checkpoints.Checkpoint | None
) -> config.BertConfig:
    """That of --bert_config_file, or of the file next to the checkpoint."""
    if given.bert_config_file:
        return config.from_file(given.bert_config_file)
    if checkpoint and checkpoint.config:
        return checkpoint.config
    raise InputError(
        "--bert_config_file is not given, and --init_checkpoint has none next to it. Give the "
        "bert_config.json that the weights were made with."
    )


def _vocab_file(given: options.Training, checkpoint: checkpoints.Checkpoint | None) -> str:
    """--vocab_file, or the vocab.txt next to the configuration or the checkpoint."""
    if given.vocab_file:
        return given.vocab_file
    neighbour = os.path.join(os.path.dirname(given.bert_config_file or ""), "vocab.txt")
    if given.bert_config_file and os.path.isfile(neighbour):
        return neighbour
    if checkpoint and checkpoint.vocab_file:
        return checkpoint.vocab_file
    raise InputError(
        "--vocab_file is not given, and there is no vocab.txt next to --bert_config_file or "
        "--init_checkpoint. Give the vocab.txt that the weights or records were made with."
    )


def _check_checkpoint(checkpoint: checkpoints.Checkpoint, vocabulary: vocab.Vocabulary) -> None:
    """Refuses a vocabulary that is not the checkpoint's own."""
    if not checkpoint.vocab_file:
        return
    own = vocab.from_file(checkpoint.vocab_file)
    if own.sha256 != vocabulary.sha256:
        casing = {True: "cased", False: "uncased"}
        raise InputError(
            f"--vocab_file ({len(vocabulary)} tokens, {casing[vocabulary.is_cased]}) is not the "
            f"vocabulary of --init_checkpoint ({len(own)} tokens, {casing[own.is_cased]}). "
            f"Give --vocab_file={checkpoint.vocab_file}."
        )


def set_up_devices(given: options.Training) -> tf.distribute.Strategy:
    """Seeds everything, sets the compute dtype of the layers and makes the strategy.

    On CPUs sums are made in a fixed order, so that a restart repeats a run bit for bit. On GPUs
    that would cost speed, and on TPUs TensorFlow has no influence on it.
    """
    keras.utils.set_random_seed(given.random_seed)
    if not (given.use_tpu or tf.config.list_physical_devices("GPU")):
        tf.config.experimental.enable_op_determinism()
    keras.config.set_dtype_policy(_POLICIES[given.dtype])
    return tpu.make(given) if given.use_tpu else strategies.make(given.distribution_strategy)


def new_schedule(
    given: options.Training,
    num_steps: int,
    num_warmup_steps: int,
    peaks: Sequence[tuple[int, float]] = (),
) -> Schedule:
    """The schedule that the options ask for; `peaks`: see `schedules.Schedule`."""
    return Schedule(
        given.learning_rate,
        num_steps,
        num_warmup_steps,
        kind=given.lr_schedule,
        power=given.lr_power,
        end_ratio=given.lr_end_ratio,
        peaks=tuple(peaks),
    )


def _new_optimizer(given: options.Training, model: keras.Model, schedule: Schedule) -> Optimizer:
    return _OPTIMIZERS[given.optimizer](
        [variable.value for variable in model.trainable_variables],
        schedule,
        groups=parameter_groups.of(model),
        weight_decay_rate=given.weight_decay_rate,
        bias_correction=given.adam_bias_correction,
        max_grad_norm=given.max_grad_norm,
        loss_scale=LossScale() if given.dtype == "float16" else None,
    )


def initial_model(inputs: Inputs, directory: model_directory.ModelDirectory) -> keras.Model:
    """The model with its initial weights; prints where they come from.

    Heads that the checkpoint lacks stay random.

    Raises:
      InputError: the checkpoint does not fit the model.
    """
    model = model_directory.new_model(inputs.config, directory.metadata)
    if inputs.checkpoint is None:
        print("No --init_checkpoint: every weight starts random.", flush=True)
        return model
    skip = _paths_of(_skipped_heads(directory.metadata))
    print(checkpoints.load(model, inputs.checkpoint, skip=skip, fresh=_FRESH), flush=True)
    return model


def _skipped_heads(metadata: model_directory.ModelMetadata) -> tuple[str, ...]:
    """Heads of a checkpoint that training skips; a model of one text has none for pairs."""
    has_no_pair = metadata.kind == "pretrain" and metadata.num_texts == 1
    return KINDS[metadata.kind].skipped_heads + (("next_sentence",) if has_no_pair else ())


def _paths_of(heads: Sequence[str]) -> tuple[str, ...]:
    """Regular expressions of the paths of heads, for `checkpoints.load`."""
    return tuple(f"{head}/.*" for head in heads)


def trained_model(inputs: Inputs, directory: model_directory.ModelDirectory) -> keras.Model:
    """The best weights of a model directory; without any, those of `--init_checkpoint`.

    Then the checkpoint must hold the head too. The outputs of a classifier are put in the order of
    the directory's labels.

    Raises:
      InputError: neither is there, or the checkpoint lacks weights.
    """
    if os.path.isdir(directory.weights("best")):
        print(f"Weights: {directory.weights('best')}", flush=True)
        return directory.build_model("best")
    checkpoint, metadata = inputs.checkpoint, directory.metadata
    if checkpoint is None:
        raise InputError(
            f"--output_dir={directory.path} holds no weights and --init_checkpoint is not given. "
            "Train first (--do_train), or name a fine-tuned checkpoint."
        )
    model = model_directory.new_model(inputs.config, metadata)
    is_pretraining = metadata.kind == "pretrain"
    skipped = _skipped_heads(metadata) if is_pretraining else KINDS["pretrain"].heads
    print(checkpoints.load(model, checkpoint, skip=_paths_of(skipped)), flush=True)
    if metadata.kind == "classify" and checkpoint.labels not in ((), metadata.labels):
        _reorder_outputs(model.classifier, checkpoint, metadata.labels)
    _describe(directory, inputs)
    return model


def _reorder_outputs(
    head: keras.layers.Layer, checkpoint: checkpoints.Checkpoint, labels: Sequence[str]
) -> None:
    """Puts the outputs of a head from `checkpoint` in the order of `labels`, ignoring case.

    Where the checkpoint has other names, they are taken for these labels in the same order, with a
    warning.
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


def _describe(directory: model_directory.ModelDirectory, inputs: Inputs) -> None:
    """Writes what the model is, once the weights fit: a refused run leaves nothing."""
    model_directory.create(directory.path, inputs.config, inputs.vocab_file, directory.metadata)
