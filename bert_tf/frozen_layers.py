"""Which layers of a frozen encoder a model reads: rows of table 7 of the paper (section 5.3)."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class FrozenLayers:
    """A choice of layers, and how their vectors become the input of a model.

    Attributes:
      title: as the paper calls it.
      indices: of a list of the embeddings and L layers; None: all L layers.
      is_weighted: whether their weighted sum is read, the weights being learned; otherwise all of
        them, one after the other.
    """

    title: str
    indices: tuple[int, ...] | None
    is_weighted: bool = False

    def depths(self, num_layers: int) -> tuple[int, ...]:
        """The layers, from 1 to L; 0 are the embeddings.

        Raises:
          ValueError: an encoder of L layers has not so many.
        """
        if self.indices is None:
            return tuple(range(1, num_layers + 1))
        if (wanted := -min(self.indices)) > num_layers:
            raise ValueError(f"{wanted} layers are wanted; the encoder has {num_layers}")
        return tuple(range(num_layers + 1)[index] for index in self.indices)


_LAST_FOUR = (-4, -3, -2, -1)
FROZEN_LAYERS = {
    "embeddings": FrozenLayers("Embeddings", (0,)),
    "second_to_last": FrozenLayers("Second-to-Last Hidden", (-2,)),
    "last": FrozenLayers("Last Hidden", (-1,)),
    "weighted_last_four": FrozenLayers("Weighted Sum Last Four Hidden", _LAST_FOUR, True),
    "concat_last_four": FrozenLayers("Concat Last Four Hidden", _LAST_FOUR),
    "weighted_all": FrozenLayers("Weighted Sum All Layers", None, True),
}
