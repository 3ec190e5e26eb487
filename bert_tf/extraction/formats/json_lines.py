"""The released layout: a JSON object for each line of the input.

    {"linex_index": 0, "features": [{"token": "[CLS]", "layers": [{"index": -1, "values": [...]}]}]}

With a vector for each text, "layers" stands directly in the object. "linex_index" is spelled as in
the released code, values are rounded to six digits after the point as there.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from bert_tf.extraction.formats.base import Appended, Extracted, Format

_DIGITS = 6  # released code


class JsonLines(Format):
    """The released layout, with a list of vectors for each token."""

    def encode(self, rows: Sequence[Extracted]) -> Appended:
        lines = [
            orjson.dumps(
                self._object(row), option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
            )
            for row in rows
        ]
        return {"rows": self.compressed(b"".join(lines))}

    def _object(self, extracted: Extracted) -> dict[str, Any]:
        row, vectors = extracted
        # Exact: a float32 times 10^6 is a float64.
        values = np.round(vectors.astype(np.float64), _DIGITS)
        if not self.layout.selection.has_tokens:
            return {"linex_index": row.number, "layers": self._layers(values)}
        tokens = (self.layout.vocabulary.tokens[index] for index in row.word_ids)
        features = [
            {"token": token, "layers": self._layers(of_token)}
            for token, of_token in zip(tokens, values, strict=True)
        ]
        return {"linex_index": row.number, "features": features}

    def _layers(self, values: np.ndarray) -> list[dict[str, Any]]:
        names = self.layout.selection.names
        return [{"index": n, "values": v} for n, v in zip(names, values, strict=True)]

    def finish(self, streams: Mapping[str, str], path: str) -> None:
        os.replace(streams["rows"], path)

    def hint(self, path: str) -> str:
        return f"A JSON object on each line: head -c 400 {path}"
