"""A written version against the Python path: tokenizer, packing, model and answers offline."""

from collections.abc import Mapping

import tensorflow as tf

from export.kinds import checks
from export.kinds.module import ServingModule, Signature


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
    loaded = tf.saved_model.load(path)
    rows = module.check_rows()
    module.forget()
    largest = 0.0
    for name, signature in signatures.items():
        feeds = {key: tf.constant(value) for key, value in signature.feeds(rows).items()}
        outputs = {key: x.numpy() for key, x in loaded.signatures[name](**feeds).items()}
        try:
            largest = max(largest, signature.difference(outputs, rows))
        except checks.Mismatch as error:
            raise checks.Mismatch(
                f"Signature {name} of the exported graph answers otherwise than the Python path: "
                f"{error}."
            ) from None
    return largest
