"""Name tables: what a format calls each of our variables, and in which shape it stores them.

A table is read both ways: `Row.join` loads, `Row.split` writes.
"""

import dataclasses
import re
from collections.abc import Mapping, Sequence

import numpy as np

from bert_tf.checkpoints import variables
from bert_tf.checkpoints.variables import Shape
from bert_tf.config import BertConfig


@dataclasses.dataclass(frozen=True)
class Row:
    """One variable of ours, and the arrays that a checkpoint stores it as.

    Attributes:
      names: names in the checkpoint. Several arrays are joined along their last axis in this
        order, e.g. three [H H] to one [H 3H].
      path: `Variable.path` in our models.
      is_transposed: whether the checkpoint has [out in] where we have [in out].
      reshaped: the shape of each array here and in the checkpoint, if they differ, e.g. [H A*D]
        and [H A D]; the values have the same order in both.
    """

    names: tuple[str, ...]
    path: str
    is_transposed: bool = False
    reshaped: tuple[Shape, Shape] | None = None

    def join(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        """The array of the variable, of those in the checkpoint, one for each of `names`.

        Raises:
          ValueError: their shapes do not fit.
        """
        if self.reshaped:
            arrays = [array.reshape(self.reshaped[0]) for array in arrays]
        if self.is_transposed:
            arrays = [array.T for array in arrays]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=-1)

    def split(self, array: np.ndarray) -> list[np.ndarray]:
        """The reverse of `join`; the arrays may be views."""
        arrays = [array] if len(self.names) == 1 else np.split(array, len(self.names), axis=-1)
        if self.is_transposed:
            arrays = [part.T for part in arrays]
        if self.reshaped:
            arrays = [part.reshape(self.reshaped[1]) for part in arrays]
        return arrays


@dataclasses.dataclass(frozen=True, kw_only=True)
class NameTable:
    """How a format spells our variables. What it has no spelling for, it cannot store.

    A key is a path of ours, and its value the name in the checkpoint. Or a key is the scope of a
    few variables, such as a kernel and a bias, and its value what their names start with.

    Attributes:
      names: spellings outside the layers.
      layer: what the names of layer {n} start with.
      in_layer: spellings below a layer. Query, key and value are {part}.
      endings: what follows the start of a name, by the last part of our path.
      transposed: regular expression, matched in full, of our paths that are stored as [out in].
      has_head_axis: whether attention is stored with an axis of heads: [H A D] in, [A D H] out.
    """

    names: Mapping[str, str]
    layer: str
    in_layer: Mapping[str, str]
    endings: Mapping[str, str] = dataclasses.field(
        default_factory=lambda: {part: f"/{part}" for part in ("kernel", "bias", "gamma", "beta")}
    )
    transposed: str = ""
    has_head_axis: bool = False

    def rows(self, config: BertConfig) -> list[Row]:
        """A row for each variable that the format has a name for, of a model with every head."""
        spelled = {path: self._names(path) for path in variables.shapes(config)}
        return [
            Row(
                names,
                path,
                re.fullmatch(self.transposed, path) is not None,
                _head_shapes(path, config) if self.has_head_axis else None,
            )
            for path, names in spelled.items()
            if names
        ]

    def _names(self, path: str) -> tuple[str, ...]:
        """Names in the checkpoint of the variable at a path of ours; () if it has none."""
        start, names = "", self.names
        if layer := re.fullmatch(r"encoder/layer_(\d+)/(.+)", path):
            start, names, path = self.layer.format(n=layer[1]), self.in_layer, layer[2]
        scope, _, part = path.rpartition("/")
        if path in names:
            name = names[path]
        elif scope in names:
            name = names[scope] + self.endings[part]
        else:
            return ()
        parts = ("query", "key", "value") if "{part}" in name else ("",)
        return tuple(start + name.format(part=part) for part in parts)


def _head_shapes(path: str, config: BertConfig) -> tuple[Shape, Shape] | None:
    """Shapes here and with an axis of heads, of each array of a layer's attention."""
    h, a, d = config.hidden_size, config.num_attention_heads, config.size_per_head
    shapes: dict[str, tuple[Shape, Shape]] = {
        "attention/qkv/kernel": ((h, h), (h, a, d)),
        "attention/qkv/bias": ((h,), (a, d)),
        "attention/output/kernel": ((h, h), (a, d, h)),
    }
    return shapes.get(path.split("/", 2)[-1])
