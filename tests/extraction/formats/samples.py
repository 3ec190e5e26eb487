"""Rows with vectors, for the tests of every layout."""

import numpy as np

from bert_tf.extraction.formats.base import Extracted, Layout
from bert_tf.extraction.lines import Row
from bert_tf.text.vocab import Vocabulary
from bert_tf.training.frozen.layers import Layer, Selection

TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##é", '"')
LAYERS = (Layer(-1, 3), Layer("embeddings", 0))
N, H = len(LAYERS), 5


def layout(pooling="none", combination="none", dtype="float32"):
    selection = Selection(LAYERS, pooling, combination)
    return Layout(selection, Vocabulary(TOKENS), selection.width(H), dtype)


def rows(layout, numbers=(0, 1, 2), seed=3):
    """Rows of 4, 2 and 3 tokens with random vectors."""
    rng = np.random.default_rng(seed)
    found = []
    for index in numbers:
        word_ids = [[2, 5, 6, 3], [2, 3], [2, 7, 3]][index % 3]
        shape = (len(word_ids),) * layout.selection.has_tokens + layout.shape
        vectors = rng.normal(0.0, 3.0, shape).astype(layout.dtype)
        found.append(Extracted(Row(index, word_ids, [0] * len(word_ids), False), vectors))
    return found


def write(output_format, folder, parts):
    """Writes parts of the rows as the extraction does; returns the path of the file."""
    streams = {}
    for appended in [output_format.start(), *map(output_format.encode, parts)]:
        for name, data in appended.items():
            streams[name] = folder / f"stream-{name}"
            with open(streams[name], "ab") as file:
                file.write(data)
    output_format.finish({name: str(path) for name, path in streams.items()}, str(folder / "out"))
    return folder / "out"
