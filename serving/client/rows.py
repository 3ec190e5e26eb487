"""The rows that the command is asked about: flags, arguments, or lines of standard input."""

import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from bert_tf.errors import InputError

# Inputs of a model of several texts, in their order: each has a flag.
CHOICES = ("context", "choices")
_SEVERAL = (("text_a", "text_b"), ("question", "context"), CHOICES)
_WAYS = (
    "Give --text_a and --text_b, --context and its --choice flags, or --question and --context, or "
    "separate the texts of a row with tabs."
)


def in_order(names: Iterable[str]) -> list[str]:
    """Names of inputs in the order of the texts of a row."""
    ordered = sorted(names)
    return next((list(each) for each in _SEVERAL if sorted(each) == ordered), ordered)


class Rows:
    """The rows to ask about.

    Args:
      model_name: for messages.
      row: that of the flags, or None.
      names: of the model's inputs, in the order of the texts.

    Attributes:
      source: what a row was given as, in the plural.
      num_blank: rows without a text, which are passed over, so far.
    """

    def __init__(
        self,
        model_name: str,
        row: list[bytes] | None,
        arguments: Sequence[str],
        names: Sequence[str],
    ) -> None:
        self._name, self._names = model_name, names
        self._given: Iterable[bytes | list[bytes]]
        self.source, self.num_blank = "texts", 0
        if row:
            if arguments:
                raise InputError(f"{_WAYS} There are flags and texts ({arguments}).")
            self._given = [row]
        elif arguments:
            self._given = list(map(os.fsencode, arguments))
        elif sys.stdin.isatty():
            raise InputError('No texts. Give them as arguments ("a text" "another") or on stdin.')
        else:
            self._given = (line.rstrip(b"\r\n") for line in sys.stdin.buffer)
            self.source = "lines of standard input"

    def __iter__(self) -> Iterator[list[bytes]]:
        """Yields the texts of each row.

        Raises:
          InputError: a row has another number of texts than the model takes, or there is none among
            those of the command line.
        """
        number = 0
        for number, given in enumerate(self._given, 1):
            row = given if isinstance(given, list) else self._split(given)
            if not any(text.strip() for text in row):
                self.num_blank += 1
                continue
            self._check(number, row)
            yield row
        if self.source == "texts" and self.num_blank == number:
            raise InputError("Every text is blank; there is nothing to ask.")

    def _split(self, text: bytes) -> list[bytes]:
        return text.split(b"\t") if len(self._names) > 1 else [text]

    def _check(self, number: int, row: Sequence[bytes]) -> None:
        count = len(self._names)
        if tuple(self._names) == CHOICES:
            if len(row) < count:
                raise InputError(
                    f"Row {number} holds {len(row)} texts; {self._name} takes a context and its "
                    f"choices. {_WAYS}"
                )
        elif len(row) != count:
            way_out = "Give texts as arguments." if count == 1 else _WAYS
            raise InputError(
                f"Row {number} holds {len(row)} texts; {self._name} takes {count}. {way_out}"
            )


def columns(names: Sequence[str], batch: Sequence[Sequence[bytes]]) -> dict[str, list]:
    """The inputs of a request. All rows have as many choices; an empty one is none."""
    if tuple(names) != CHOICES:
        return {
            name: list(texts) for name, texts in zip(names, zip(*batch, strict=True), strict=True)
        }
    most = max(map(len, batch))
    return {
        "context": [row[0] for row in batch],
        "choices": [[*row[1:], *[b""] * (most - len(row))] for row in batch],
    }


def from_lines(
    lines: Sequence[bytes], names: Sequence[str], batch_size: int
) -> list[dict[str, list]]:
    """The inputs of requests for the rows of --input_file; blank lines are passed over.

    The last request is filled up with the first rows, so that all have `batch_size` rows.

    Raises:
      InputError: there are no rows, or one has too few or too many texts.
    """
    texts = [line.split(b"\t") if len(names) > 1 else [line] for line in lines if line.strip()]
    if not texts:
        raise InputError("The file of --input_file has no rows.")
    for number, row in enumerate(texts, 1):
        has_choices = tuple(names) == CHOICES and len(row) > 1
        if len(row) != len(names) and not has_choices:
            raise InputError(
                f"Row {number} of --input_file holds {len(row)} texts; the model takes "
                f"{len(names)}: {', '.join(names)}, with tabs between them."
            )
    batches = [texts[start : start + batch_size] for start in range(0, len(texts), batch_size)]
    while len(batches[-1]) < batch_size:
        batches[-1] += texts[: batch_size - len(batches[-1])]
    return [columns(names, batch) for batch in batches]
