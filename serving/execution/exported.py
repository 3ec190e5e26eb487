"""What is known of the signatures of this product's own exports, so that their rows can be merged.

Rows of ids of several lengths are filled up with zeros: their graph drops what stands behind a
row's last token before it computes anything (`export/kinds/chunks.py`). Answers that are as wide as
the widest row of their batch are cut, so that a client cannot see whose rows were next to its own.
Of other models neither is known; for them the rules are TensorFlow Serving's.
"""

import dataclasses
import os
from collections.abc import Collection, Mapping

import numpy as np

from bert_tf import features
from serving.execution.parameters import BatchingParameters
from serving.models.servable import Servable, Signature, Tensors, TensorSpec

_CARD_FILE = os.path.join("assets.extra", "model_card.json")  # every export has one
_IDS = {feature.name for feature in (features.WORD_IDS, features.MASK, features.TYPE_IDS)}

# Outputs with an axis whose size is that of the row that has most, such as words of a text. The
# first of each tells how many a row has: it is empty, or 0, behind them and nowhere else.
_AXES = (
    ("words", "starts", "ends", "tags", "scores"),
    ("entities", "entity_types", "entity_starts", "entity_ends", "entity_scores"),
    ("tokens", "probabilities"),
    (features.MASK.name, features.WORD_IDS.name, "sequence_output"),
)


@dataclasses.dataclass(frozen=True)
class Merging:
    """How requests to a signature are merged.

    Attributes:
      padding: see `serving.execution.merging.merged`.
      by_shape: whether only rows of one shape may be in a batch.
      axes: names of outputs that are cut together; the first says where.
    """

    padding: str
    by_shape: bool = False
    axes: tuple[tuple[str, ...], ...] = ()

    def takes(self, feeds: Tensors, parameters: BatchingParameters) -> bool:
        """Whether a request may be in a batch with others.

        Zeros would hide that the shapes of ids, mask and types differ, which the graph refuses; and
        what is cut cannot be joined again, so that a request is not divided among batches.
        """
        sizes = range(parameters.capacity + 1, parameters.max_batch_size + 1)
        if self.axes and any(len(array) in sizes for array in feeds.values()):
            return False
        return self.padding != "zeros" or len({array.shape for array in feeds.values()}) == 1

    def cut(self, answer: Tensors) -> dict[str, np.ndarray]:
        """The answer of a request as it is without the other rows of its batch."""
        result = dict(answer)
        for names in self.axes:
            given = answer[names[0]]
            is_there = (given != (b"" if given.dtype == object else 0)).any(
                axis=(0, *range(2, given.ndim))
            )
            size = int(np.flatnonzero(is_there)[-1]) + 1 if is_there.any() else 0
            result |= {name: answer[name][:, :size] for name in names if name in answer}
        return result


def merging(
    servable: Servable, signature_name: str, outputs: Collection[str], pads_with_first: bool
) -> Merging | None:
    """How requests to a signature are merged, or None if each must run alone.

    Args:
      outputs: names of those wanted.
      pads_with_first: whether TensorFlow Serving would fill up shorter rows.
    """
    if not os.path.isfile(os.path.join(servable.path, _CARD_FILE)):
        return Merging("first" if pads_with_first else "none")
    signature = servable.signature(signature_name)
    wanted = {name: signature.outputs[name] for name in outputs}
    axes = []
    for names in _AXES:
        if names[0] in signature.outputs and any(_is_wide(wanted, name) for name in names):
            if names[0] not in wanted:
                return None
            axes.append(names)
    cut = {name for names in axes for name in names}
    rest_is_fixed = not any(_is_wide(wanted, name) for name in wanted.keys() - cut)
    if _takes_ids(signature) and rest_is_fixed:
        return Merging("zeros", axes=tuple(axes))
    return Merging("none", by_shape=True, axes=tuple(axes))


def _is_wide(outputs: Mapping[str, TensorSpec], name: str) -> bool:
    """Whether an output has an axis of any size behind that of the rows."""
    if name not in outputs:
        return False
    shape = outputs[name].shape
    return shape is None or -1 in shape[1:]


def _takes_ids(signature: Signature) -> bool:
    return signature.inputs.keys() == _IDS and all(
        spec.dtype == "int32" and spec.shape == (-1, -1) for spec in signature.inputs.values()
    )
