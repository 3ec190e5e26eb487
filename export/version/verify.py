"""A written version against the Python path: tokenizer, packing, model and answers offline."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf

from export.kinds import checks
from export.kinds.module import Feeds, ServingModule, Signature


def largest_difference(
    path: str, module: ServingModule, signatures: Mapping[str, Signature]
) -> float:
    """Loads the SavedModel at `path` and compares what its signatures answer.

    Args:
      module: what was saved.
      signatures: of the module, by name.

    Returns:
      The largest difference of a number.

    Raises:
      Mismatch: a difference is larger than float32 rounding explains.
    """
    rows = module.check_rows()
    module.forget()
    answers = _answers(path, {name: each.feeds(rows) for name, each in signatures.items()})
    largest = 0.0
    for name, signature in signatures.items():
        try:
            largest = max(largest, signature.difference(answers[name], rows))
        except checks.Mismatch as error:
            raise checks.Mismatch(
                f"Signature {name} of the exported graph answers otherwise than the Python path: "
                f"{error}."
            ) from None
    return largest


def _answers(path: str, feeds: Mapping[str, Feeds]) -> dict[str, dict[str, np.ndarray]]:
    """The outputs of the signatures of a SavedModel for some inputs.

    All run as one function: what TensorFlow makes of weights and functions that they share, which
    takes most of the time and the memory, it then makes once.
    """
    loaded = tf.saved_model.load(path)

    @tf.function(autograph=False)
    def answer(feeds: Mapping[str, Feeds]) -> dict[str, dict[str, tf.Tensor]]:
        return {name: loaded.signatures[name](**each) for name, each in feeds.items()}

    tensors = {
        name: {key: tf.constant(value) for key, value in each.items()}
        for name, each in feeds.items()
    }
    return {
        name: {key: x.numpy() for key, x in each.items()}
        for name, each in answer.get_concrete_function(tensors)(tensors).items()
    }
