"""Opens what `from_preset` takes, and fills models from it."""

import dataclasses
import functools
import os
import warnings
from collections.abc import Sequence
from typing import Any

import keras

from bert_tf import checkpoints
from bert_tf.checkpoints import kinds, model_directory
from bert_tf.checkpoints.coverage import FileNames
from bert_tf.checkpoints.formats.rows import Row
from bert_tf.checkpoints.hub import presets
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.text import vocab

_POOLER = "encoder/pooler/.*"
_SEEDS = ".*/seed_generator_state"  # of dropout; no checkpoint has them


@dataclasses.dataclass(frozen=True)
class Source:
    """An opened preset: a name, a directory or a checkpoint.

    Attributes:
      checkpoint: its weights.
      config: of the encoder.
      metadata: what the model answers, if it is the output directory of a training here.
    """

    checkpoint: checkpoints.Checkpoint
    config: BertConfig
    metadata: model_directory.ModelMetadata | None

    @property
    def max_seq_length(self) -> int:
        """Tokens of a text: as in the training here, or else as many as there are positions."""
        if self.metadata:
            return self.metadata.max_seq_length
        return self.config.max_position_embeddings

    @property
    def vocabulary(self) -> vocab.Vocabulary:
        """Its vocabulary, checked against the configuration.

        Raises:
          InputError: it has none, or one of another model.
        """
        if not self.checkpoint.vocab_file:
            raise InputError(
                f"There is no vocab.txt next to {self.checkpoint.path}. Put the one of its model "
                "there."
            )
        vocabulary = vocab.from_file(self.checkpoint.vocab_file, "vocabulary")
        checkpoints.check_vocabulary(self.config, vocabulary)
        return vocabulary

    def do_lower_case(self, vocabulary: vocab.Vocabulary) -> bool:
        """The casing that the checkpoint states, or else that of the vocabulary."""
        stated = self.checkpoint.do_lower_case
        return not vocabulary.is_cased if stated is None else stated

    @functools.cached_property
    def paths(self) -> frozenset[str]:
        """The paths of our variables that it holds."""
        return frozenset(row.path for row in self._rows if self._names.holds(row))

    @property
    def num_outputs(self) -> int:
        """C: outputs of its classifier; 0 without one."""
        rows = [row for row in self._rows if row.path == "classifier/bias"]
        return self._names.num_values(rows[0]) if "classifier/bias" in self.paths else 0

    @property
    def kind(self) -> str:
        """Key of `kinds.KINDS`: what it answers.

        Raises:
          InputError: it has heads of several kinds, or a kind that is not known here.
        """
        stated = self.checkpoint.kind
        return kinds.kind_of(self.paths, self.num_outputs, stated, self.checkpoint.path)

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each output of its classifier."""
        return self.checkpoint.labels or kinds.default_labels(self.num_outputs)

    @functools.cached_property
    def _rows(self) -> list[Row]:
        return self.checkpoint.format.rows(self.config)

    @functools.cached_property
    def _names(self) -> FileNames:
        return FileNames(self.checkpoint, self._rows, skip=())


def open_preset(preset: str | os.PathLike[str]) -> Source:
    """Opens a preset: everything that --init_checkpoint of the scripts takes.

    Args:
      preset: a name such as "bert-base-uncased", which is fetched and kept, or a path.

    Raises:
      InputError: there is no such model, or it is damaged; see the message.
    """
    path = presets.resolve(preset)
    checkpoint = checkpoints.open_checkpoint(path)
    if checkpoint.config is None:
        raise InputError(
            f"There is no bert_config.json next to {checkpoint.path}. Put the one of its model "
            "there."
        )
    metadata = model_directory.read_metadata(path) if os.path.isdir(path) else None
    return Source(checkpoint, checkpoint.config, metadata)


def fill(
    model: keras.layers.Layer, source: Source, *, heads: Sequence[str] = (), prefix: str = ""
) -> None:
    """Gives a model the weights of a preset.

    A pooler that the preset lacks keeps its initial weights, with a warning.

    Args:
      model: with a `config`; its variables have the paths of `checkpoints.variables`.
      heads: that the preset must hold. Others of the model keep their initial weights.
      prefix: how the paths of the model start in place of `encoder/`, for a renamed encoder.

    Raises:
      InputError: the weights do not fit.
    """
    other_heads = tuple(f"{head}/.*" for head in kinds.HEADS if head not in heads)
    target = _Renamed(model, prefix) if prefix else model
    report = checkpoints.load(
        target, source.checkpoint, skip=other_heads, fresh=(*other_heads, _POOLER, _SEEDS)
    )
    if any(path.startswith("encoder/pooler/") for path in report.fresh):
        warnings.warn(
            f"{source.checkpoint.path} has no pooler: `pooled_output` starts from random weights.",
            stacklevel=4,
        )


class _Renamed:
    """An encoder of another name, as `checkpoints.load` wants to see it."""

    def __init__(self, model: Any, prefix: str) -> None:
        self.name, self.config = model.name, model.config
        self.variables = [_RenamedVariable(variable, prefix) for variable in model.variables]


class _RenamedVariable:
    def __init__(self, variable: Any, prefix: str) -> None:
        self.path = f"encoder/{variable.path.removeprefix(prefix)}"
        self.shape, self.assign = variable.shape, variable.assign
