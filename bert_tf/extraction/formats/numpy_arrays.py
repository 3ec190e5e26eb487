"""A .npz file. `numpy.load` of it gives, for n lines, of K tokens together:

    values      [K N H], or [n N H] of a vector for each text
    row_splits  int64 [n+1]: the tokens of line i are row_splits[i] to row_splits[i+1]
    word_ids    int32 [K]
    layers      str [N]: what the N vectors are called

The second and the third are there only with a vector for each token.
"""

import io
import os
import shutil
import zipfile
from collections.abc import Mapping, Sequence

import numpy as np

from bert_tf.extraction.formats.base import Appended, Extracted, Format

_COPY_BYTES = 2**20


class NumpyArrays(Format):
    """NumPy arrays, uncompressed."""

    def encode(self, rows: Sequence[Extracted]) -> Appended:
        appended = {"values": b"".join(row.vectors.data for row in rows)}
        if self.layout.selection.has_tokens:
            word_ids = [np.array(row.row.word_ids, np.int32) for row in rows]
            appended["word_ids"] = b"".join(ids.data for ids in word_ids)
            appended["lengths"] = np.array([len(ids) for ids in word_ids], np.int64).tobytes()
        return appended

    def finish(self, streams: Mapping[str, str], path: str) -> None:
        """Copies the streams into the file; each is removed when it is copied."""
        num_vectors = os.path.getsize(streams["values"]) // self.layout.row_bytes
        arrays = {"layers": np.array([str(name) for name in self.layout.selection.names])}
        with zipfile.ZipFile(path, "w") as archive:
            if self.layout.selection.has_tokens:
                lengths = np.fromfile(streams["lengths"], np.int64)
                arrays["row_splits"] = np.concatenate([[0], np.cumsum(lengths)])
                _copy(archive, "word_ids", (num_vectors,), "int32", streams["word_ids"])
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w") as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
            shape = (num_vectors, *self.layout.shape)
            _copy(archive, "values", shape, self.layout.dtype, streams["values"])

    def hint(self, path: str) -> str:
        return f"NumPy arrays: numpy.load({path!r})['values']"


def _copy(
    archive: zipfile.ZipFile, name: str, shape: tuple[int, ...], dtype: str, stream: str
) -> None:
    """Adds the bytes of an array to the archive; they need not fit into memory."""
    header = io.BytesIO()
    description = {"descr": np.dtype(dtype).str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(header, description)
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member, open(stream, "rb") as data:
        member.write(header.getvalue())
        shutil.copyfileobj(data, member, _COPY_BYTES)
