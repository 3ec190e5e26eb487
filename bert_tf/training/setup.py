"""Sets up a run from checked inputs: seeds, compute dtype, devices, initial weights, the loop."""

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic

import keras
import tensorflow as tf

from bert_tf import checkpoints, files, flagging, options
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.errors import InputError
from bert_tf.progress import status
from bert_tf.training.devices import environment, strategies, tpu
from bert_tf.training.devices.workers import Workers
from bert_tf.training.finetuning import stability
from bert_tf.training.inputs import Inputs, Options, deciding_options
from bert_tf.training.optimization.loss_scale import LossScale
from bert_tf.training.optimization.optimizer import LAMB, AdamW, Optimizer
from bert_tf.training.optimization.parameter_groups import ParameterGroup
from bert_tf.training.optimization.schedules import Schedule
from bert_tf.training.step.loop import Loop
from bert_tf.training.step.objectives import Objective
from bert_tf.training.step.update import Update

# What a checkpoint may lack: heads, and the pooler, which files for masked LM or question answering
# alone do not have.
_FRESH = (r"(?!encoder/).*", r"encoder/pooler/.*")

_POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}
_OPTIMIZERS = {"adamw": AdamW, "lamb": LAMB}


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
            model, loaded = initial_model(self.inputs, self.directory)
            if self.is_chief:
                _describe(self.directory, self.inputs)
            groups = stability.groups(given, model, loaded)
            optimizer = _new_optimizer(given, model, schedule, groups)
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
            deciding_options(given) | dict(identity) | stability.fingerprint(groups),
            save_steps=given.save_checkpoints_steps,
            log_steps=given.log_steps,
            peak_step=schedule.num_warmup_steps,
            record_files=record_files,
        )
        if self.is_chief:
            path = os.path.join(self.directory.path, "flags.txt")
            files.write_text(path, flagging.to_flagfile(given))
        return loop


def set_up_devices(given: options.Training) -> tf.distribute.Strategy:
    """Seeds everything, sets the compute dtype of the layers and makes the strategy.

    On CPUs sums are made in a fixed order, so that a restart repeats a run bit for bit. On GPUs
    that would cost speed, and on TPUs TensorFlow has no influence on it.
    """
    keras.utils.set_random_seed(given.random_seed)
    if warning := environment.unused_gpu():
        print(f"WARNING: {warning}", flush=True)
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


def _new_optimizer(
    given: options.Training,
    model: keras.Model,
    schedule: Schedule,
    groups: Sequence[ParameterGroup],
) -> Optimizer:
    return _OPTIMIZERS[given.optimizer](
        [variable.value for variable in model.trainable_variables],
        schedule,
        groups=groups,
        weight_decay_rate=given.weight_decay_rate,
        bias_correction=given.adam_bias_correction,
        max_grad_norm=given.max_grad_norm,
        loss_scale=LossScale() if given.dtype == "float16" else None,
    )


def initial_model(
    inputs: Inputs, directory: model_directory.ModelDirectory
) -> tuple[keras.Model, set[str]]:
    """The model with its initial weights; prints where they come from.

    Heads that the checkpoint lacks stay random.

    Returns:
      the model, and paths of the variables whose weights are those of the checkpoint.

    Raises:
      InputError: the checkpoint does not fit the model.
    """
    given = inputs.options
    with status("Building the model"):
        model = model_directory.new_model(inputs.config, directory.metadata)
    if inputs.checkpoint is None:
        print("No --init_checkpoint: every weight starts random.", flush=True)
        return model, set()
    skip = _paths_of(_skipped_heads(directory.metadata))
    with (
        status(f"Loading the weights {inputs.checkpoint.path}"),
        stability.top_layers_kept(given, model) as kept,
    ):
        loaded = checkpoints.load(model, inputs.checkpoint, skip=skip, fresh=_FRESH)
    stability.freeze(given, model)
    print(loaded, flush=True)
    if text := stability.text(given, inputs.config.num_hidden_layers):
        print(text, flush=True)
    return model, set(loaded.loaded) - set(kept)


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
        with status("Loading the weights"):
            return directory.build_model("best")
    checkpoint, metadata = inputs.checkpoint, directory.metadata
    if checkpoint is None:
        raise InputError(
            f"--output_dir={directory.path} holds no weights and --init_checkpoint is not given. "
            "Train first (--do_train), or name a fine-tuned checkpoint."
        )
    is_pretraining = metadata.kind == "pretrain"
    skipped = _skipped_heads(metadata) if is_pretraining else KINDS["pretrain"].heads
    with status(f"Loading the weights {checkpoint.path}"):
        model = model_directory.new_model(inputs.config, metadata)
        loaded = checkpoints.load(model, checkpoint, skip=_paths_of(skipped))
    print(loaded, flush=True)
    if KINDS[metadata.kind].is_labelled and checkpoint.labels not in ((), metadata.labels):
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
