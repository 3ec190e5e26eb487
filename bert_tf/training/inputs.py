"""What every run is made from, read and checked: configuration, vocabulary, checkpoint, directory.

Loads no TensorFlow, so that wrong input is refused at once.
"""

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from bert_tf import checkpoints, config, flagging, options
from bert_tf import identity as run_identity
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.hub import presets
from bert_tf.errors import InputError
from bert_tf.options.finetuning.stability import recipe_text
from bert_tf.text import vocab
from bert_tf.training.grid import plan as grid_plan

# The options that decide the result of every kind of run, and so must not change on a restart.
_DECIDING = tuple(
    "train_batch_size learning_rate weight_decay_rate adam_bias_correction max_grad_norm dtype "
    "random_seed init_checkpoint optimizer lr_schedule lr_power lr_end_ratio".split()
)

AnyOptions = TypeVar("AnyOptions", bound=options.Training)
Options = TypeVar("Options", bound=options.Training, covariant=True)


class ModelOptions(Protocol):
    """The flags that name a model."""

    @property
    def bert_config_file(self) -> str | None: ...
    @property
    def vocab_file(self) -> str | None: ...
    @property
    def init_checkpoint(self) -> str | None: ...


@dataclasses.dataclass(frozen=True)
class ModelInputs:
    """A model that flags name, checked; attributes as those of `Inputs`."""

    config: config.BertConfig
    vocabulary: vocab.Vocabulary
    vocab_file: str
    checkpoint: checkpoints.Checkpoint | None


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


def check(given: AnyOptions) -> Inputs[AnyOptions]:
    """`check_model` of the options of a run.

    Raises:
      InputError: see `check_model`.
    """
    model = check_model(given)
    if isinstance(given, options.FineTuning):
        given.check_layers(model.config.num_hidden_layers)
    return Inputs(given, model.config, model.vocabulary, model.vocab_file, model.checkpoint)


def check_model(given: ModelOptions) -> ModelInputs:
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
    print(_model_text(bert_config, vocabulary, checkpoint), flush=True)
    return ModelInputs(bert_config, vocabulary, vocab_file, checkpoint)


def _model_text(
    bert_config: config.BertConfig,
    vocabulary: vocab.Vocabulary,
    checkpoint: checkpoints.Checkpoint | None,
) -> str:
    """The first line of a run: which model."""
    weights = f"weights from {checkpoint.path}" if checkpoint else "no --init_checkpoint"
    return (
        f"Model: {bert_config.num_hidden_layers} layers, {bert_config.hidden_size} wide, "
        f"{bert_config.num_attention_heads} heads, {len(vocabulary):,} "
        f"{'cased' if vocabulary.is_cased else 'uncased'} tokens; {weights}"
    )


def _config(given: ModelOptions, checkpoint: checkpoints.Checkpoint | None) -> config.BertConfig:
    """That of --bert_config_file, or of the file next to the checkpoint."""
    if given.bert_config_file:
        return config.from_file(given.bert_config_file)
    if checkpoint and checkpoint.config:
        return checkpoint.config
    raise InputError(
        "--bert_config_file is not given, and --init_checkpoint has none next to it. Give the "
        "bert_config.json that the weights were made with."
    )


def _vocab_file(given: ModelOptions, checkpoint: checkpoints.Checkpoint | None) -> str:
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


def announce(given: options.Training) -> None:
    """Prints the options that differ from their defaults; a training keeps all in flags.txt."""
    if isinstance(given, options.FineTuning) and (text := recipe_text(given)):
        print(text, flush=True)
    file = os.path.join(given.output_dir, "flags.txt") if given.do_train else None
    flagging.announce(given, file)


def deciding_options(given: options.Training) -> dict[str, Any]:
    """The options that decide the result of every kind of run."""
    return {name: getattr(given, name) for name in _DECIDING}


def prepare_directory(
    inputs: Inputs, metadata: model_directory.ModelMetadata
) -> model_directory.ModelDirectory:
    """`model_directory.prepare` of --output_dir, which must not be that of another run.

    Only the options that every kind of run has are compared with those of the run there; the loop
    compares everything that decides the result.

    Raises:
      InputError: it is another run's, and the message lists what differs; or it cannot be written.
    """
    given = inputs.options
    directory = model_directory.prepare(
        given.output_dir, inputs.config, inputs.vocab_file, metadata
    )
    if given.do_train:
        grid_plan.refuse_single_run(directory.path)
        check_identity(directory.path, deciding_options(given), is_part=True)
    return directory


def check_identity(directory: str, identity: Mapping[str, Any], *, is_part: bool = False) -> None:
    """Refuses a model directory that holds the state of another run; writes nothing.

    Args:
      is_part: whether the run there may have more entries.

    Raises:
      InputError: it does.
    """
    path = identity_file(directory)
    if differences := run_identity.differences(path, identity, is_part=is_part):
        raise InputError(
            f"{os.path.dirname(path)} holds the state of another run: {'; '.join(differences)}. "
            "Give a new --output_dir, or the options of that run (its flags.txt) to go on with it."
        )


def identity_file(directory: str) -> str:
    """Where a run keeps what decides its result."""
    return os.path.join(directory, "training", "identity.json")


def data_digest(directory: str) -> str | None:
    """sha256 of the examples that a model directory was trained on; None if it is not known."""
    path = identity_file(directory)
    if not os.path.isfile(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file).get("examples")
