"""Which vectors are taken from the encoder: layers, and what is done with them."""

import dataclasses
from typing import NamedTuple

from bert_tf.errors import InputError

EMBEDDINGS = "embeddings"
_ALL = "all"


class Layer(NamedTuple):
    """A layer whose vectors are wanted.

    Attributes:
      name: as the user gave it, which the released JSON repeats: a number, or "embeddings".
      depth: 0 for the embeddings, 1 to L for the layers.
    """

    name: int | str
    depth: int


@dataclasses.dataclass(frozen=True)
class Selection:
    """What is extracted from each text.

    Attributes:
      layers: N of them.
      pooling: how the vectors of the tokens become one; "none": they stay.
      combination: how the vectors of the layers become one; "none": they stay.
    """

    layers: tuple[Layer, ...]
    pooling: str = "none"
    combination: str = "none"

    @property
    def has_tokens(self) -> bool:
        """Whether there is a vector for each token, and not one for each text."""
        return self.pooling == "none"

    @property
    def names(self) -> tuple[int | str, ...]:
        """What each vector of a token, or of a text, is called: N names, or one."""
        if self.pooling == "pooled":
            return (self.pooling,)
        if self.combination != "none":
            return (self.combination,)
        return tuple(layer.name for layer in self.layers)

    def width(self, hidden_size: int) -> int:
        """Numbers per vector."""
        return hidden_size * (len(self.layers) if self.combination == "concat" else 1)


def parse(text: str, num_layers: int) -> tuple[Layer, ...]:
    """Reads --layers.

    Args:
      num_layers: L.

    Raises:
      InputError: a layer is not one of the model's, or is given twice.
    """
    found: list[Layer] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        layers = _every(num_layers) if word == _ALL else [_one(word, text, num_layers)]
        for layer in layers:
            if layer.depth in (other.depth for other in found):
                raise InputError(f"--layers={text} has layer {layer.name} twice; give it once.")
            found.append(layer)
    if not found:
        raise InputError(f"--layers={text} names no layer; -1 is the last one.")
    return tuple(found)


def _every(num_layers: int) -> list[Layer]:
    return [Layer(EMBEDDINGS, 0), *(Layer(i, i + 1) for i in range(num_layers))]


def _one(word: str, text: str, num_layers: int) -> Layer:
    if word == EMBEDDINGS:
        return Layer(EMBEDDINGS, 0)
    index = int(word) if word.removeprefix("-").isdecimal() else num_layers
    if not -num_layers <= index < num_layers:
        raise InputError(
            f"--layers={text}: {word!r} is none of the {num_layers} layers of this model. Give 0 "
            f"to {num_layers - 1} from the first to the last, -1 to -{num_layers} from the last to "
            "the first, embeddings, or all."
        )
    return Layer(index, index % num_layers + 1)
