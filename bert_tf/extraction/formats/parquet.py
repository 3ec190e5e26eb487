"""A Parquet file, through pyarrow: a row for each line of the input.

linex_index  int64
tokens       list of string, only with a vector for each token
layer_-1     list of vectors, or one vector; a column for each layer
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_tf.extraction.formats.base import Appended, Extracted, Format


class Parquet(Format):
    """A Parquet file; until it is complete, a stream in Arrow's format."""

    def start(self) -> Appended:
        return {"rows": self._schema().serialize().to_pybytes()}

    def encode(self, rows: Sequence[Extracted]) -> Appended:
        import pyarrow as pa

        columns = [pa.array([each.row.number for each in rows], pa.int64())]
        if self.layout.selection.has_tokens:
            tokens = self.layout.vocabulary.tokens
            lists = [[tokens[index] for index in each.row.word_ids] for each in rows]
            columns.append(pa.array(lists, pa.list_(pa.string())))
        columns += [self._column(rows, number) for number in range(self.layout.shape[0])]
        batch = pa.record_batch(columns, schema=self._schema())
        return {"rows": batch.serialize().to_pybytes()}

    def _column(self, rows: Sequence[Extracted], number: int) -> Any:
        """The vectors of layer `number` of the selection."""
        import pyarrow as pa

        flat = np.concatenate([each.vectors[..., number, :].reshape(-1) for each in rows])
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(flat), self.layout.width)
        if not self.layout.selection.has_tokens:
            return vectors
        ends = np.cumsum([len(each.row.word_ids) for each in rows])
        return pa.ListArray.from_arrays(np.concatenate([[0], ends]).astype(np.int32), vectors)

    def _schema(self) -> Any:
        import pyarrow as pa

        vector: Any = pa.list_(pa.from_numpy_dtype(np.dtype(self.layout.dtype)), self.layout.width)
        fields = [("linex_index", pa.int64())]
        if self.layout.selection.has_tokens:
            fields.append(("tokens", pa.list_(pa.string())))
            vector = pa.list_(vector)
        fields += [(f"layer_{name}", vector) for name in self.layout.selection.names]
        return pa.schema(fields)

    def finish(self, streams: Mapping[str, str], path: str) -> None:
        """Writes the rows of the stream as row groups, one in memory at a time."""
        import pyarrow as pa
        from pyarrow import parquet

        with pa.OSFile(streams["rows"]) as file, pa.ipc.open_stream(file) as stream:
            with parquet.ParquetWriter(path, stream.schema, use_dictionary=["tokens"]) as writer:
                for batch in stream:
                    writer.write_batch(batch)

    def hint(self, path: str) -> str:
        return f"A table: pandas.read_parquet({path!r})"
