"""Documents to single sequences, without a second text (RoBERTa, arXiv 1907.11692, section 4.2).

A sequence is whole sentences in their order, as many as fit. A row is a list of texts, each given
by its start and end in the ids of the pool and followed by [SEP]; the first one follows [CLS].
"""

import random
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from bert_tf.examples.pool import Pool

Text = tuple[int, int]  # start and end in the ids of a pool

_NUM_SPECIAL_TOKENS = 2  # [CLS] text [SEP]


def doc_sentences(pool: Pool, documents: Iterable[int], room: int) -> Iterator[Text]:
    """Yields the sequences of each document; the last one of a document may be short.

    Args:
      pool: its sentences are no longer than `room`.
      documents: of the pool.
      room: tokens of a sequence without the special ones.
    """
    bounds = pool.bounds
    for document in documents:
        start, last = pool.first_sentences[document], pool.first_sentences[document + 1]
        while start < last:
            end = bisect_right(bounds, bounds[start] + room, start + 1, last + 1) - 1
            yield bounds[start], bounds[end]
            start = end


def full_sentences(
    pool: Pool, documents: Iterable[int], rng: random.Random, room: int
) -> Iterator[list[Text]]:
    """Yields rows that go on with the next document where one ends, with a [SEP] between them.

    The documents come in random order, so that no two passes have the same rows.

    Args:
      pool: its sentences are no longer than `room`.
      documents: of the pool.
      rng: source of the order.
      room: maximum tokens of a row without its first and last special token.
    """
    bounds = pool.bounds
    row: list[Text] = []
    left = room
    for document in _shuffled(documents, rng):
        start, last = pool.first_sentences[document], pool.first_sentences[document + 1]
        while start < last:
            end = bisect_right(bounds, bounds[start] + left, start + 1, last + 1) - 1
            if end > start:
                row.append((bounds[start], bounds[end]))
                left -= bounds[end] - bounds[start] + 1
                start = end
            if start < last or left < 1:
                yield row
                row, left = [], room
    if row:
        yield row


def packed(pool: Pool, documents: Iterable[int], max_seq_length: int) -> Iterator[list[Text]]:
    """Yields rows of several sequences, each with its own [CLS] and [SEP].

    The longest come first, each goes into the row with the least room that takes it; so few
    positions stay empty.

    Args:
      pool: its sentences are no longer than `max_seq_length` - 2.
      documents: of the pool.
      max_seq_length: special tokens included.
    """
    sequences = list(doc_sentences(pool, documents, max_seq_length - _NUM_SPECIAL_TOKENS))
    sequences.sort(key=lambda span: span[0] - span[1])
    # By the room that they have left.
    open_rows: list[list[list[Text]]] = [[] for _ in range(max_seq_length + 1)]
    rooms = 0  # a bit for each room that an open row has
    for start, end in sequences:
        size = end - start + _NUM_SPECIAL_TOKENS
        row: list[Text] = []
        room = max_seq_length
        if enough := rooms >> size:
            room = size + (enough & -enough).bit_length() - 1
            row = open_rows[room].pop()
            if not open_rows[room]:
                rooms ^= 1 << room
        row.append((start, end))
        open_rows[room - size].append(row)
        rooms |= 1 << room - size
    for rows in open_rows:
        yield from rows


def _shuffled(documents: Iterable[int], rng: random.Random) -> list[int]:
    items = list(documents)
    for last in range(len(items) - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        items[last], items[other] = items[other], items[last]
    return items
