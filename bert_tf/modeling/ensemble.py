"""Several models as one: the mean of their probabilities."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from bert_tf.modeling import Tensor


class EnsembleModel(keras.layers.Layer):
    """Answers with the mean of what the members answer (Hansen and Salamon 1990).

    Its logits are those of the mean probabilities, so that everything that reads logits takes an
    ensemble for one model. It is not trained.

    Args:
      members: models of `modeling.models` of one kind.
      activation: what makes probabilities of their logits, key of `MEANS`.

    Call arguments:
      batch: as the members take it.
    Returns:
      dict: `logits` float32, of the members' shape.
    """

    def __init__(
        self,
        members: Sequence[keras.layers.Layer],
        activation: str,
        name: str = "ensemble",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.members = list(members)
        self.config = members[0].config
        self.mean = MEANS[activation]
        self.built = True

    def call(self, batch: Mapping[str, Tensor], training: bool = False) -> dict[str, Tensor]:
        logits = [member(batch, training=training)["logits"] for member in self.members]
        return {"logits": self.mean(ops.stack([ops.cast(x, "float32") for x in logits]))}


def _mean_of_logarithms(logarithms: Tensor) -> Tensor:
    """Logarithms of the means, over the first axis, of what these are logarithms of."""
    return ops.logsumexp(logarithms, axis=0) - math.log(logarithms.shape[0])


def _softmax_mean(logits: Tensor) -> Tensor:
    return _mean_of_logarithms(ops.log_softmax(logits, axis=-1))


def _sigmoid_mean(logits: Tensor) -> Tensor:
    yes, no = (_mean_of_logarithms(ops.log_sigmoid(x)) for x in (logits, -logits))
    return yes - no


def _mean(logits: Tensor) -> Tensor:
    return ops.mean(logits, axis=0)


# From what makes answers of logits to the mean of several models' logits, [n ...] to [...].
MEANS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": _softmax_mean,
    "sigmoid": _sigmoid_mean,
    "linear": _mean,
}
