"""Pools of documents to pre-training examples: drawn, packed and masked, many rows at a time."""

import dataclasses
import itertools
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bert_tf.examples import pairs, sequences
from bert_tf.examples.choices import ExampleType
from bert_tf.examples.masking import Masker
from bert_tf.examples.numpy_masking import NumpyArrays
from bert_tf.examples.pool import Pool
from bert_tf.examples.random_bits import RandomBits
from bert_tf.text.vocab import Vocabulary

_BLOCK_ROWS = 2048  # so that a block and its intermediate results stay in the processor's cache
NO_PAIR = -1


def row_dtype(max_seq_length: int, max_predictions_per_seq: int, vocab_size: int) -> np.dtype:
    """One example as a row of a structured array; zeros behind its tokens and predictions.

    Fields:
      word_ids: [T], with special tokens; masked unless P is 0.
      num_tokens: tokens of the row, special tokens included.
      num_type_a: those of them that have type 0; the others have type 1.
      positions: [P], ascending, of the tokens to predict.
      labels: [P], the ids before masking there.
      num_predictions: how many there are.
      pair_label: 1: the second text is a random one, or the two are swapped; else 0, and
        `NO_PAIR` where there is one text only.
      num_sequences: sequences in the row; more than one only where they are packed, and then
        each starts with a [CLS].
      is_capped: whether P lowered the share of masked tokens.
    """
    id_type = "<u2" if vocab_size <= 2**16 else "<u4"
    place_type = "<u2" if max_seq_length < 2**16 else "<u4"
    return np.dtype(
        [
            ("word_ids", id_type, (max_seq_length,)),
            ("num_tokens", place_type),
            ("num_type_a", place_type),
            ("positions", place_type, (max_predictions_per_seq,)),
            ("labels", id_type, (max_predictions_per_seq,)),
            ("num_predictions", place_type),
            ("pair_label", "i1"),
            ("num_sequences", place_type),
            ("is_capped", "?"),
        ]
    )


class _Layout(NamedTuple):
    """What the texts of a block of rows are.

    Attributes:
      spans: [texts, 2], start and end of each in the ids of the pool.
      counts: [n], texts of each row.
      pair_labels: [n].
    """

    spans: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    pair_labels: npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExampleMaker:
    """Makes the examples of documents; what it makes depends on its arguments alone.

    Attributes:
      masker: None: examples without masks, P is 0.
      max_seq_length: T, special tokens included.
      short_seq_prob: see `pairs.pairs`.
    """

    vocabulary: Vocabulary
    masker: Masker | None
    example_type: ExampleType
    max_seq_length: int
    short_seq_prob: float
    random_seed: int

    @property
    def row_dtype(self) -> np.dtype:
        """`row_dtype` for these lengths and this vocabulary."""
        num_slots = self.masker.settings.max_predictions_per_seq if self.masker else 0
        return row_dtype(self.max_seq_length, num_slots, len(self.vocabulary))

    def rows(
        self, pool: Pool, part: int, key: tuple[int, ...], pass_number: int
    ) -> Iterator[npt.NDArray]:
        """Yields the examples of one pass over the documents of one part of a pool.

        Args:
          pool: that holds the documents.
          part: which of its parts.
          key: names this part in the whole corpus. With the seed and the pass it seeds every random
            draw, so the examples do not depend on what was made before.
          pass_number: from 0.

        Yields:
          [n] of `row_dtype`.
        """
        documents = range(pool.first_documents[part], pool.first_documents[part + 1])
        seed = (self.random_seed, pass_number, *key)
        rng, bits = random.Random(" ".join(map(str, seed))), RandomBits(*seed)
        draw = self._pairs if self.example_type.has_pair else self._sequences
        for layout in draw(pool, documents, rng):
            yield self._rows_of(pool, layout, bits)

    def _pairs(self, pool: Pool, documents: range, rng: random.Random) -> Iterator[_Layout]:
        """Yields the layouts of all pairs, a block at a time."""
        drawn = pairs.pairs(
            pool,
            documents,
            rng,
            room=self.max_seq_length - self.example_type.num_special_tokens,
            short_seq_prob=self.short_seq_prob,
            swap=not self.example_type.has_random_texts,
        )
        while block := list(itertools.islice(drawn, _BLOCK_ROWS)):
            drawn_block = np.array(block, np.int64)
            spans = drawn_block[:, :4].reshape(-1, 2)
            yield _Layout(spans, np.full(len(block), 2), drawn_block[:, 4])

    def _sequences(self, pool: Pool, documents: range, rng: random.Random) -> Iterator[_Layout]:
        """Yields the layouts of all rows of single sequences, a block at a time."""
        room = self.max_seq_length - self.example_type.num_special_tokens
        rows: Iterator[list[sequences.Text]]
        if self.example_type.crosses_documents:
            rows = sequences.full_sentences(pool, documents, rng, room)
        elif self.example_type.is_packed:
            rows = sequences.packed(pool, documents, self.max_seq_length)
        else:
            rows = ([span] for span in sequences.doc_sentences(pool, documents, room))
        while block := list(itertools.islice(rows, _BLOCK_ROWS)):
            spans = np.array([span for row in block for span in row], np.int64)
            counts = np.array([len(row) for row in block])
            yield _Layout(spans, counts, np.full(len(block), NO_PAIR))

    def _rows_of(self, pool: Pool, layout: _Layout, bits: RandomBits) -> npt.NDArray:
        """The rows of a block, packed and masked."""
        rows = np.zeros(len(layout.counts), self.row_dtype)
        word_ids, group_starts, num_tokens, num_first = self._packed(pool, layout)
        rows["word_ids"] = word_ids
        rows["num_tokens"] = num_tokens
        rows["num_type_a"] = num_first if self.example_type.has_pair else num_tokens
        rows["pair_label"] = layout.pair_labels
        rows["num_sequences"] = layout.counts if self.example_type.is_packed else 1
        if self.masker:
            masked = self.masker(word_ids, NumpyArrays(word_ids.shape, bits), group_starts)
            for name in ("word_ids", "positions", "labels", "is_capped"):
                rows[name] = getattr(masked, name)
            rows["num_predictions"] = masked.is_used.sum(axis=1)
        return rows

    def _packed(self, pool: Pool, layout: _Layout) -> tuple[Any, Any, Any, Any]:
        """Copies the texts of a block out of the pool, special tokens around them.

        Returns:
          word_ids int32 [n T]; group_starts bool [n T] or None; num_tokens int64 [n]; those of them
          up to the end of the first text, int64 [n].
        """
        spans, counts = layout.spans, layout.counts
        num_rows, length = len(counts), self.max_seq_length
        row_of_text = np.repeat(np.arange(num_rows), counts)
        first_text = np.cumsum(counts) - counts
        has_cls = np.full(len(spans), self.example_type.is_packed)
        has_cls[first_text] = True

        lengths = spans[:, 1] - spans[:, 0]
        sizes = has_cls + lengths + 1
        before = np.cumsum(sizes) - sizes
        num_tokens = np.add.reduceat(sizes, first_text)
        # Where each text starts in the rows, laid one behind the other.
        starts = row_of_text * length + before - before[first_text][row_of_text] + has_cls

        word_ids = np.full(num_rows * length, self.vocabulary.pad_id, np.int32)
        word_ids[starts[has_cls] - 1] = self.vocabulary.cls_id
        word_ids[starts + lengths] = self.vocabulary.sep_id
        done = np.cumsum(lengths) - lengths
        index = np.arange(lengths.sum())
        source = index + np.repeat(spans[:, 0] - done, lengths)
        target = index + np.repeat(starts - done, lengths)
        word_ids[target] = pool.ids[source]
        group_starts = None
        if pool.group_starts is not None:
            group_starts = np.zeros((num_rows, length), bool)
            group_starts.reshape(-1)[target] = pool.group_starts[source]
        return word_ids.reshape(num_rows, length), group_starts, num_tokens, sizes[first_text]
