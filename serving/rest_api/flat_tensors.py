"""Tensors as bytes in a file that two processes share: nothing is copied, nothing is parsed again.

A vector of strings is the lengths of all, then all of them one behind the other.
"""

import mmap
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

_ALIGNMENT = 64  # TensorFlow takes memory that begins so without copying it
_STRINGS_AT_ONCE = 2**13
_WRITTEN_AT_ONCE = 2**24
# Name, NumPy's name of the type, shape, first byte, number of bytes.
Entry = tuple[str, str, Sequence[int], int, int]


def write(tensors: dict[str, np.ndarray], file: int) -> list[Entry]:
    """Writes tensors to an empty file.

    Args:
      tensors: strings are bytes in arrays of objects.
      file: descriptor.

    Returns:
      What `read` needs to know of them.
    """
    entries: list[Entry] = []
    start = 0
    for name, tensor in tensors.items():
        is_text = tensor.dtype == object
        parts = _string_parts(tensor) if is_text else [tensor.ravel()]
        size = 0
        for part in parts:
            _write_at(file, start + size, part.view(np.uint8).data)
            size += part.nbytes
        kind = "object" if is_text else tensor.dtype.name
        entries.append((name, kind, tensor.shape, start, size))
        start += -(-size // _ALIGNMENT) * _ALIGNMENT
    return entries


def _string_parts(tensor: np.ndarray) -> Iterator[np.ndarray]:
    flat = tensor.ravel()
    yield np.fromiter(map(len, flat), np.int64, len(flat))
    for first in range(0, len(flat), _STRINGS_AT_ONCE):
        yield np.frombuffer(b"".join(flat[first : first + _STRINGS_AT_ONCE]), np.uint8)


def _write_at(file: int, position: int, content: memoryview) -> None:
    while content:
        written = os.pwrite(file, content[:_WRITTEN_AT_ONCE], position)
        content, position = content[written:], position + written


class Reader:
    """Tensors that another process has written to a file.

    Attributes:
      tensors: by name; complete once the reader was iterated over. Numbers are views of the file.
    """

    def __init__(self, entries: Sequence[Entry], file: int) -> None:
        self.tensors: dict[str, np.ndarray] = {}
        self._entries = entries
        size = os.fstat(file).st_size
        self._content: Any = mmap.mmap(file, size, access=mmap.ACCESS_READ) if size else b""

    def __iter__(self) -> Iterator[None]:
        """Makes the arrays; between the steps, of a millisecond each, others may work."""
        for name, kind, shape, start, size in self._entries:
            if kind == "object":
                flat = np.empty(int(np.prod(shape)), object)
                yield from self._fill(flat, start)
            else:
                count = size // np.dtype(kind).itemsize
                flat = np.frombuffer(self._content, kind, count, start if size else 0)
            self.tensors[name] = flat.reshape(tuple(shape))

    def _fill(self, flat: np.ndarray, start: int) -> Iterator[None]:
        if not flat.size:
            return
        lengths = np.frombuffer(self._content, np.int64, len(flat), start)
        position = start + lengths.nbytes
        for first in range(0, len(flat), _STRINGS_AT_ONCE):
            chunk = slice(first, first + _STRINGS_AT_ONCE)
            ends = (position + np.cumsum(lengths[chunk])).tolist()
            starts = [position, *ends[:-1]]
            flat[chunk] = [
                self._content[begin:end] for begin, end in zip(starts, ends, strict=True)
            ]
            position = ends[-1]
            yield
