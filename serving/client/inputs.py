"""What a client is given, as arrays and in batches."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from serving.status import invalid

Inputs = Sequence[str | bytes] | np.ndarray | Mapping[str, Any]
Arrays = dict[str, np.ndarray]

ONLY = ""  # the name of the only input of a signature, whatever it is called


def arrays(inputs: Inputs) -> Arrays:
    """Inputs as arrays with a row each; strings are `str` or `bytes` in arrays of objects.

    Args:
      inputs: texts, or from the name of an input to its values, a row each.

    Raises:
      ServingError: INVALID_ARGUMENT; not the same number of rows everywhere, or rows of unequal
        shape.
    """
    if isinstance(inputs, str | bytes):
        raise invalid(f"A list of texts was wanted, not a text: {inputs[:40]!r}.")
    columns = inputs if isinstance(inputs, Mapping) else {ONLY: inputs}
    found = {name: _array(name, values) for name, values in columns.items()}
    counts = {name: len(array) for name, array in found.items()}
    if len(set(counts.values())) != 1:
        raise invalid(f"The inputs have unequal numbers of rows: {counts}.")
    return found


def num_rows(feeds: Arrays) -> int:
    """Rows of the inputs."""
    return len(next(iter(feeds.values())))


def batches(feeds: Arrays, batch_size: int) -> Iterator[Arrays]:
    """The inputs in chunks of at most `batch_size` rows."""
    for start in range(0, num_rows(feeds), batch_size):
        yield {name: array[start : start + batch_size] for name, array in feeds.items()}


def text_bytes(text: str | bytes) -> bytes:
    """UTF-8, or the bytes that a text of the command line or of a file name stands for.

    Raises:
      ServingError: INVALID_ARGUMENT; half of a character has no encoding.
    """
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise invalid(f"A text is not valid Unicode: {error}.") from None


def _array(name: str, values: Any) -> np.ndarray:
    what = f"Input {name}" if name else "The input"
    is_text = isinstance(_first(values), str | bytes)
    try:
        array = np.asarray(values, object if is_text else None)
    except ValueError:
        raise invalid(f"{what} has rows of unequal shape; fill them up to one shape.") from None
    if array.ndim == 0:
        raise invalid(f"{what} has no rows; a list was wanted, with an element for each row.")
    if is_text:
        strange = next((each for each in array.flat if not isinstance(each, str | bytes)), None)
        if strange is not None:
            raise invalid(
                f"{what} has a {type(strange).__name__} among its texts: "
                f"{str(strange)[:40]}. Rows of several texts must have equally many."
            )
    elif array.dtype.kind not in "biufO":
        raise invalid(f"{what} has values of type {array.dtype}, which is no type of a tensor.")
    return array


def _first(values: Any) -> Any:
    """The first value that is no list."""
    while isinstance(values, list | tuple | np.ndarray) and len(values):
        values = values[0]
    return values
