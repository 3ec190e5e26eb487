"""An exported masked language model: the most probable tokens at each [MASK] of a text."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.examples.rows import Rows
from bert_tf.text.graph_packing import PackedRows, TextRows, most_ids
from export.kinds import checks, chunks, embedding
from export.kinds.module import Answers, Row, Served, ServingModule, Signature

_MASK = "[MASK]"
_TOKENS, _PROBABILITIES = "tokens", "probabilities"


class MaskedLmModule(ServingModule):
    """Fills each [MASK] of a text: `model(["The [MASK] landed."])`.

    - `tokens`: string [B M K], the K most probable tokens at each [MASK], best first. M is the
      most that a text of the batch has; behind the last one of a text they are empty.
    - `probabilities`: float32 [B M K], of these tokens; 0 behind the last [MASK].

    A [MASK] behind the tokens that the model takes is not answered. The ids signature answers rows
    of ids in the same way, wherever they hold the id of [MASK].

    Raises:
      InputError: the model sees only what stands before a [MASK].
    """

    def __init__(self, served: Served) -> None:
        if served.directory.config.is_causal:
            raise InputError(
                f"--model_dir={served.directory.path} is a left-to-right language model "
                "(is_causal): it sees only what stands before a [MASK]. A masked language model "
                "was wanted."
            )
        vocabulary = served.directory.vocabulary
        self._mask_id = vocabulary.mask_id
        self._num_tokens = len(vocabulary)
        self._top_k = min(served.top_k, self._num_tokens)
        self._tokens = tf.constant(vocabulary.tokens)
        super().__init__(served, {"text": 1})

    def answer(self, *inputs: tf.Tensor) -> Answers:
        rows = self._graph_rows(*inputs)
        return self._fill(rows, self._num_masks(rows))

    def answer_ids(self, batch: dict[str, tf.Tensor]) -> Answers:
        rows = chunks.IdRows(batch)
        return self._fill(rows, self._num_masks(rows))

    def other_signatures(self) -> dict[str, Callable[[], Signature]]:
        return embedding.signatures(self, self._served, self._graph_rows)

    def _graph_rows(self, text: tf.Tensor) -> PackedRows:
        """The rows of texts, in which [MASK] is one token."""
        served = self._served
        limit = most_ids(served.max_seq_length, num_texts=1)
        parts = tf.strings.split(text, _MASK, maxsplit=limit)
        ids = self.tokenizer.first_ids(parts.flat_values, limit)
        last = tf.cast(parts.row_limits(), tf.int32) - 1
        has_mask = tf.tensor_scatter_nd_update(
            tf.ones_like(parts.flat_values, tf.int64),
            tf.boolean_mask(last, parts.row_lengths() > 0)[:, tf.newaxis],
            tf.zeros_like(tf.boolean_mask(last, parts.row_lengths() > 0), tf.int64),
        )
        masks = tf.RaggedTensor.from_row_lengths(
            tf.fill([tf.reduce_sum(has_mask)], self._mask_id), has_mask
        )
        joined = tf.concat([ids, masks], axis=1)
        of_texts = tf.RaggedTensor.from_row_splits(
            joined.flat_values, tf.gather(joined.row_splits, parts.row_splits)
        )
        return TextRows(of_texts, None, served.directory.vocabulary, served.max_seq_length)

    def _num_masks(self, rows: PackedRows | chunks.IdRows) -> tf.Tensor:
        """M: the most [MASK]s that a row has."""
        batch = rows.batch(
            tf.range(tf.size(rows.lengths)), tf.reduce_max(tf.concat([rows.lengths, [1]], axis=0))
        )
        is_mask = tf.cast(batch[features.WORD_IDS.name] == self._mask_id, tf.int32)
        return tf.reduce_max(tf.concat([tf.reduce_sum(is_mask, axis=1), [0]], axis=0))

    def _fill(self, rows: PackedRows | chunks.IdRows, num_masks: tf.Tensor) -> Answers:
        def fill(batch: dict[str, tf.Tensor], _: tf.Tensor) -> Answers:
            is_mask = batch[features.WORD_IDS.name] == self._mask_id
            # One more than there are, so that the model always has a position to predict.
            positions = _positions(is_mask, num_masks + 1)
            outputs = self._served.model(
                batch | {features.MASKED_LM_POSITIONS.name: positions}, training=False
            )
            # Rows of the embeddings behind the vocabulary are padding.
            logits = outputs["masked_lm_logits"][:, :num_masks, : self._num_tokens]
            best, ids = tf.math.top_k(tf.nn.softmax(logits), self._top_k)
            count = tf.reduce_sum(tf.cast(is_mask, tf.int32), axis=1)
            is_there = (tf.range(num_masks) < count[:, tf.newaxis])[:, :, tf.newaxis]
            return {
                _TOKENS: tf.where(is_there, tf.gather(self._tokens, ids), ""),
                _PROBABILITIES: tf.where(is_there, best, 0.0),
            }

        specs = {
            _TOKENS: tf.TensorSpec([None, None, self._top_k], tf.string),
            _PROBABILITIES: tf.TensorSpec([None, None, self._top_k], tf.float32),
        }
        empty = [0, num_masks, self._top_k]
        return chunks.compute_each(
            rows, fill, specs, self._served.chunk_rows, dict.fromkeys(specs, empty)
        )

    # The Python path.

    def check_rows(self) -> list[Row]:
        return [
            ("The [MASK] of a text that the model will see.",),
            ("[MASK]",),
            ("",),
            ("Crème [MASK] brûlée [MASK][MASK] — straße",),
            ("word " * 600 + _MASK,),
            (f"{_MASK} {'word ' * 9}{_MASK} [mask] {_MASK}",),
        ]

    def warm_up_rows(self, count: int) -> list[Row]:
        return [(f"{text} {_MASK}",) for (text,) in super().warm_up_rows(count)]

    def rows(self, rows: Sequence[Row]) -> Rows:
        served, packed = self._served, []
        for (text,) in rows:
            first, *others = text.split(_MASK)
            ids = self._python_tokenizer.encode(first)
            for part in others:
                ids = [*ids, self._mask_id, *self._python_tokenizer.encode(part)]
            packed.append(
                packing.pack(ids, None, served.directory.vocabulary, served.max_seq_length)
            )
        return Rows([each[0] for each in packed], [each[1] for each in packed], {})

    def text_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        return self._difference(outputs, rows)

    def ids_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        return self._difference(outputs, rows)

    def _difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        batch = self.ids_of(rows)
        logits = self._served.offline(batch)["masked_lm_logits"]  # [B T V]
        all_probabilities = tf.nn.softmax(logits[:, :, : self._num_tokens]).numpy()
        is_mask = batch[features.WORD_IDS.name] == self._mask_id
        index = {token: i for i, token in enumerate(self._served.directory.vocabulary.tokens)}
        largest = 0.0
        for row, (text,) in enumerate(rows):
            of_row = all_probabilities[row, is_mask[row]]  # [M V]
            best = np.sort(of_row, axis=1)[:, ::-1][:, : self._top_k]
            tokens = outputs[_TOKENS][row, : len(of_row)]
            ids = [[index[token.decode()] for token in of_mask] for of_mask in tokens]
            of_tokens = np.take_along_axis(of_row, np.array(ids, int).reshape(best.shape), axis=1)
            given = outputs[_PROBABILITIES][row]
            for want in (best, of_tokens):
                difference = checks.largest_difference(
                    given[: len(of_row)], want, [text] * len(want), _PROBABILITIES
                )
                largest = max(largest, difference)
            if given[len(of_row) :].any():
                raise checks.Mismatch(f"more tokens than [MASK]s for {text!r}")
        return largest


def _positions(is_mask: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
    """The first `count` positions that are true, then 0: int32 [B count] from bool [B T]."""
    # A stable sort moves them to the front, in their order.
    order = tf.argsort(tf.cast(~is_mask, tf.int32), axis=1, stable=True)
    order = tf.pad(order, [[0, 0], [0, tf.maximum(count - tf.shape(order)[1], 0)]])[:, :count]
    num_true = tf.reduce_sum(tf.cast(is_mask, tf.int32), axis=1, keepdims=True)
    return tf.where(tf.range(count) < num_true, order, 0)
