"""What every layout of the output has in common.

Rows are encoded as they come, to one or more streams that can be cut at the end of any row, so that
a killed extraction goes on. Finishing makes the output file of the complete streams.
"""

import abc
import dataclasses
import gzip
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from bert_tf.extraction.lines import Row
from bert_tf.text.vocab import Vocabulary
from bert_tf.training.frozen.layers import Selection

Appended = dict[str, bytes]  # by the name of the stream that they continue


class Extracted(NamedTuple):
    """A line and its vectors.

    Attributes:
      vectors: [T N H], or [N H] of a vector for each text, as `VectorModel` gives them.
    """

    row: Row
    vectors: np.ndarray


@dataclasses.dataclass(frozen=True)
class Layout:
    """What a format must know of the rows before the first one.

    Attributes:
      width: numbers per vector.
      dtype: of the vectors, float32 or float16.
    """

    selection: Selection
    vocabulary: Vocabulary
    width: int
    dtype: str

    @property
    def shape(self) -> tuple[int, int]:
        """(N, H) of a token, or of a text."""
        return len(self.selection.names), self.width

    @property
    def row_bytes(self) -> int:
        """Bytes of the vectors of a token, or of a text."""
        return int(np.prod(self.shape)) * np.dtype(self.dtype).itemsize


class Format(abc.ABC):
    """A layout of the output file.

    Attributes:
      layout: of the rows.
      is_compressed: whether streams are compressed by gzip, as the file's name ends in .gz.
    """

    def __init__(self, layout: Layout, *, is_compressed: bool = False) -> None:
        self.layout = layout
        self.is_compressed = is_compressed

    def start(self) -> Appended:
        """What streams begin with."""
        return {}

    @abc.abstractmethod
    def encode(self, rows: Sequence[Extracted]) -> Appended:
        """What rows add to the streams."""

    @abc.abstractmethod
    def finish(self, streams: Mapping[str, str], path: str) -> None:
        """Makes the output file.

        Args:
          streams: from the name of each stream to its file, which may be moved.
          path: a temporary one, which is renamed afterwards.
        """

    @abc.abstractmethod
    def hint(self, path: str) -> str:
        """How to read the file `path`, for the last line on the terminal."""

    def compressed(self, data: bytes) -> bytes:
        """The data as a gzip member, where the output is compressed; members can follow another."""
        return gzip.compress(data, compresslevel=1, mtime=0) if self.is_compressed else data
