"""Documents to single sequences, without a second text (RoBERTa, arXiv 1907.11692, section 4.2).

A sequence is whole sentences in their order, as many as fit. Rows are lists of (start, end),
places in the ids of the pool: each piece is followed by [SEP], the first one follows [CLS].
"""

from bisect import bisect_right

_NUM_SPECIAL_TOKENS = 2  # [CLS] text [SEP]


def doc_sentences(pool, documents, room):
    """Yields the sequences of each document; the last one of a document may be short.

    Args:
      pool: `pool.Pool`, its sentences no longer than `room`.
      documents: iterable of documents of the pool.
      room: int, tokens of a sequence without the special ones.

    Yields:
      (start, end).
    """
    bounds = pool.bounds
    for document in documents:
        start, last = pool.first_sentences[document], pool.first_sentences[document + 1]
        while start < last:
            end = bisect_right(bounds, bounds[start] + room, start + 1, last + 1) - 1
            yield bounds[start], bounds[end]
            start = end


def full_sentences(pool, documents, rng, room):
    """Yields rows that go on with the next document where one ends, a [SEP] between them.

    The documents come in random order, so that no two passes have the same rows.

    Args:
      pool: `pool.Pool`, its sentences no longer than `room`.
      documents: range of documents of the pool.
      rng: `random.Random`.
      room: int, tokens of a row without its first and last special token.

    Yields:
      list of (start, end), together with the [SEP]s between them `room` tokens at the most.
    """
    bounds = pool.bounds
    row, left = [], room
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


def packed(pool, documents, max_seq_length):
    """Yields rows of several sequences, each with its own [CLS] and [SEP].

    They are put together longest first, each into the row with the least room that takes it,
    so that few positions stay empty.

    Args:
      pool: `pool.Pool`, its sentences no longer than `max_seq_length` - 2.
      documents: iterable of documents of the pool.
      max_seq_length: int.

    Yields:
      list of (start, end).
    """
    sequences = list(doc_sentences(pool, documents, max_seq_length - _NUM_SPECIAL_TOKENS))
    sequences.sort(key=lambda span: span[0] - span[1])
    open_rows = [[] for _ in range(max_seq_length + 1)]  # by the room they have left
    rooms = 0  # a bit for each room that an open row has
    for start, end in sequences:
        size = end - start + _NUM_SPECIAL_TOKENS
        row, room = [], max_seq_length
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


def _shuffled(items, rng):
    items = list(items)
    for last in range(len(items) - 1, 0, -1):
        other = int(rng.random() * (last + 1))
        items[last], items[other] = items[other], items[last]
    return items
