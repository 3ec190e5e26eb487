"""What a client gives back."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from serving.status import invalid

Scored = list[tuple[str, float]]  # labels with their scores


class Answer(dict[str, Any]):
    """The outputs of a row by name: numbers, strings, or nested lists of them.

    Strings are `str`, or `bytes` where they are not UTF-8 or the output's name ends with `_bytes`.
    """

    def ranked(self, labels: Sequence[str] | None = None) -> Scored:
        """Labels with their probabilities, the most probable first.

        Args:
          labels: for a model that does not answer with them itself.

        Raises:
          KeyError: the model answers with no probabilities, or with no labels and none are given.
        """
        names = self["labels"] if labels is None else labels
        pairs = zip(names, self["probabilities"], strict=True)
        return sorted(pairs, key=lambda pair: -pair[1])


@dataclasses.dataclass(frozen=True)
class TensorInfo:
    """An input or output of a signature.

    Attributes:
      dtype: as TensorFlow Serving names it, such as "DT_STRING".
      shape: with -1 for any size; None: any rank.
    """

    dtype: str
    shape: tuple[int, ...] | None


@dataclasses.dataclass(frozen=True)
class SignatureInfo:
    """A signature of a model: its inputs and outputs by name."""

    inputs: dict[str, TensorInfo]
    outputs: dict[str, TensorInfo]


@dataclasses.dataclass(frozen=True)
class Metadata:
    """What a server says of a version of a model.

    Attributes:
      version: the one that answered.
      signatures: by name.
    """

    version: int
    signatures: dict[str, SignatureInfo]

    def signature(self, name: str = "") -> SignatureInfo:
        """The signature of a name; `""`: the default one.

        Raises:
          ServingError: INVALID_ARGUMENT; there is no such signature.
        """
        name = name or "serving_default"
        if name not in self.signatures:
            raise invalid(f"The model has no signature {name}; it has {sorted(self.signatures)}.")
        return self.signatures[name]


def answers(
    columns: Mapping[str, Any], num_rows: int, wanted: Collection[str] = ()
) -> list[Answer]:
    """Outputs, a list each with an element for each row, as an answer for each row.

    Args:
      wanted: names of the outputs to keep; none: all.

    Raises:
      ServingError: INVALID_ARGUMENT; an output has another number of rows, or is not there.
    """
    if unknown := sorted(set(wanted) - columns.keys()):
        raise invalid(f"There are no outputs {unknown}; those of the model are {sorted(columns)}.")
    kept = {name: values for name, values in columns.items() if not wanted or name in wanted}
    for name, values in kept.items():
        if not isinstance(values, list) or len(values) != num_rows:
            found = len(values) if isinstance(values, list) else "no"
            raise invalid(
                f"Output {name} has {found} rows for {num_rows} rows of input, so that it cannot "
                "be given row by row. Name the outputs that can."
            )
    return [Answer(zip(kept, row, strict=True)) for row in zip(*kept.values(), strict=True)]
