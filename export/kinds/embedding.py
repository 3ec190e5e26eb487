"""Signatures that give vectors: of texts, or of each of their tokens; and exported encoders."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.examples import packing
from bert_tf.examples.rows import Rows
from bert_tf.modeling import pooling
from bert_tf.text.graph_packing import PackedRows, TextRows, most_ids
from export.kinds import checks, chunks
from export.kinds.module import Answers, Row, Served, ServingModule, Signature, function

EMBED_SIGNATURE, ENCODE_SIGNATURE = "embed", "encode"
_EMBEDDING, _SEQUENCE, _POOLED = "embedding", "sequence_output", "pooled_output"

GraphRows = Callable[..., PackedRows]


class EmbeddingModule(ServingModule):
    """A vector for each text: `model(["a text"])`.

    - `embedding`: float32 [B H].

    The ids signature gives what the encoder gives: `sequence_output` float32 [B T H], and
    `pooled_output` and `embedding` [B H].
    """

    def __init__(self, served: Served) -> None:
        self._computer = _Computer(served)
        super().__init__(served, {"text": 1})

    def answer(self, *inputs: tf.Tensor) -> Answers:
        return self._computer.embedding(self._graph_rows(*inputs))

    def answer_ids(self, batch: dict[str, tf.Tensor]) -> Answers:
        return self._computer.encoded(chunks.IdRows(batch))

    def other_signatures(self) -> dict[str, Callable[[], Signature]]:
        return signatures(self, self._served, self._graph_rows)

    def _graph_rows(self, text: tf.Tensor) -> PackedRows:
        served = self._served
        ids = self.tokenizer.first_ids(text, most_ids(served.max_seq_length, num_texts=1))
        return TextRows(ids, None, served.directory.vocabulary, served.max_seq_length)

    def rows(self, rows: Sequence[Row]) -> Rows:
        served = self._served
        packed = [
            packing.pack(
                self._python_tokenizer.encode(text),
                None,
                served.directory.vocabulary,
                served.max_seq_length,
            )
            for (text,) in rows
        ]
        return Rows([each[0] for each in packed], [each[1] for each in packed], {})

    def text_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        return self._computer.difference(outputs, self.ids_of(rows), rows, (_EMBEDDING,))

    def ids_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        names = (_EMBEDDING, _POOLED, _SEQUENCE)
        return self._computer.difference(outputs, self.ids_of(rows), rows, names)


def signatures(
    module: ServingModule, served: Served, graph_rows: GraphRows
) -> dict[str, Callable[[], Signature]]:
    """The signatures that give vectors, of a module whose model has an encoder.

    `embed` gives `embedding` float32 [B H]; `encode` gives `sequence_output` float32 [B T H],
    `pooled_output` [B H], and the `input_word_ids` and `input_mask` int32 [B T] that these belong
    to, padded to the longest row of the batch.

    Args:
      graph_rows: from the inputs of the module's text signature to rows, one for each answer.
    """
    if hasattr(served.model, "members"):
        return {}  # there is more than one encoder
    computer = _Computer(served)
    specs = [
        tf.TensorSpec([None] * axes, tf.string, name=name) for name, axes in module.inputs.items()
    ]

    def make(
        answer: Callable[[PackedRows], Answers], names: Sequence[str]
    ) -> Callable[[], Signature]:
        def difference(outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
            return computer.difference(outputs, module.ids_of(rows), rows, names)

        return lambda: Signature(
            function(lambda *inputs: answer(graph_rows(*inputs)), specs),
            module.texts_of,
            difference,
        )

    return {
        EMBED_SIGNATURE: make(computer.embedding, (_EMBEDDING,)),
        ENCODE_SIGNATURE: make(computer.encoded_with_ids, (_SEQUENCE, _POOLED)),
    }


class _Computer:
    """What the encoder of a model gives for rows, in the graph and by the Python path."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._encoder = getattr(served.model, "encoder", served.model)
        self._hidden_size = served.directory.config.hidden_size

    def embedding(self, rows: PackedRows) -> Answers:
        """`embedding` float32 [B H]."""
        vectors = tf.TensorSpec([None, self._hidden_size], tf.float32)

        def embed(batch: dict[str, tf.Tensor], _: tf.Tensor) -> Answers:
            return {_EMBEDDING: self._embedding(self._encoder(batch, training=False), batch)}

        return chunks.compute_each(rows, embed, {_EMBEDDING: vectors}, self._served.chunk_rows)

    def encoded(self, rows: PackedRows | chunks.IdRows) -> Answers:
        """`sequence_output` float32 [B T H], `pooled_output` and `embedding` [B H]."""
        longest = self._longest(rows)

        def encode(batch: dict[str, tf.Tensor], _: tf.Tensor) -> Answers:
            outputs = self._encoder(batch, training=False)
            # A chunk is padded to a multiple of a few tokens, which may be more than the longest.
            sequence = tf.cast(outputs[_SEQUENCE], tf.float32)[:, :longest]
            # What stands at padding depends on the chunk; it is 0 everywhere.
            sequence *= tf.cast(batch[features.MASK.name], tf.float32)[:, :longest, tf.newaxis]
            padding = [[0, 0], [0, longest - tf.shape(sequence)[1]], [0, 0]]
            return {
                _SEQUENCE: tf.pad(sequence, padding),
                _POOLED: tf.cast(outputs[_POOLED], tf.float32),
                _EMBEDDING: self._embedding(outputs, batch),
            }

        size = self._hidden_size
        specs = {
            _SEQUENCE: tf.TensorSpec([None, None, size], tf.float32),
            _POOLED: tf.TensorSpec([None, size], tf.float32),
            _EMBEDDING: tf.TensorSpec([None, size], tf.float32),
        }
        return chunks.compute_each(
            rows, encode, specs, self._served.chunk_rows, {_SEQUENCE: [0, longest, size]}
        )

    def encoded_with_ids(self, rows: PackedRows) -> Answers:
        """What `encoded` gives but the embedding, and the tokens that it belongs to."""
        batch = rows.batch(tf.range(tf.size(rows.lengths)), self._longest(rows))
        outputs = self.encoded(rows)
        del outputs[_EMBEDDING]
        return outputs | {
            name: batch[name] for name in (features.WORD_IDS.name, features.MASK.name)
        }

    def _longest(self, rows: PackedRows | chunks.IdRows) -> tf.Tensor:
        """Tokens that `sequence_output` is padded to."""
        if isinstance(rows, chunks.IdRows):
            return rows.max_length
        return tf.reduce_max(tf.concat([rows.lengths, [1]], axis=0))

    def _embedding(self, outputs: Mapping[str, tf.Tensor], batch: Mapping[str, tf.Tensor]) -> Any:
        if self._served.pooling == "pooled":
            vectors = tf.cast(outputs[_POOLED], tf.float32)
        else:
            mask = batch[features.MASK.name]
            vectors = pooling.pool(outputs[_SEQUENCE], mask, self._served.pooling)
        return tf.math.l2_normalize(vectors, axis=-1) if self._served.normalize else vectors

    def difference(
        self,
        outputs: Mapping[str, np.ndarray],
        batch: Mapping[str, np.ndarray],
        rows: Sequence[Row],
        names: Sequence[str],
    ) -> float:
        """The largest difference of some outputs from the Python path."""
        encoded = self._served.offline(batch, of_encoder=True)
        mask = batch[features.MASK.name]
        want = {
            _SEQUENCE: _padded_like(
                np.asarray(encoded[_SEQUENCE]) * mask[:, :, np.newaxis], outputs.get(_SEQUENCE)
            ),
            _POOLED: np.asarray(encoded[_POOLED]),
            _EMBEDDING: np.asarray(self._embedding(encoded, batch)),
        }
        return max(
            checks.largest_difference(outputs[name], want[name], rows, name) for name in names
        )


def _padded_like(sequence: np.ndarray, given: np.ndarray | None) -> np.ndarray:
    """Vectors [B T H] as a longer batch would hold them: with zeros up to the length of `given`."""
    longer = 0 if given is None else given.shape[1] - sequence.shape[1]
    return np.pad(sequence, [[0, 0], [0, max(0, longer)], [0, 0]])
