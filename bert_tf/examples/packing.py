"""One or two id sequences to model inputs, and batches cut so that padding is not computed."""

import numpy as np

from bert_tf import features
from bert_tf.errors import InputError


def truncated_lengths(length_a, length_b, budget):
    """How many ids of each of two sequences stay, so that together they fit `budget`.

    The longer one loses ids until both fit; of two equally long ones the second loses first
    (released code, `_truncate_seq_pair`, in closed form).

    Returns:
      (keep_a, keep_b): ints, prefixes to keep.
    """
    keep_a = min(length_a, max(budget - length_b, budget - budget // 2))
    keep_b = min(length_b, max(budget - length_a, budget // 2))
    return keep_a, keep_b


def pack(ids_a, ids_b, vocabulary, max_seq_length):
    """Packs ids as `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]` (paper section 3, figure 2).

    Args:
      ids_a: sequence of int.
      ids_b: sequence of int, or None for a single text. An empty second text is still a pair.
      vocabulary: `text.vocab.Vocabulary`.
      max_seq_length: int, special tokens included.

    Returns:
      (word_ids, type_ids): two lists of int of equal length, at most `max_seq_length`.
    """
    cls, sep = vocabulary.cls_id, vocabulary.sep_id
    if ids_b is None:
        word_ids = [cls, *ids_a[: max_seq_length - 2], sep]
        return word_ids, [0] * len(word_ids)
    keep_a, keep_b = truncated_lengths(len(ids_a), len(ids_b), max_seq_length - 3)
    word_ids = [cls, *ids_a[:keep_a], sep, *ids_b[:keep_b], sep]
    return word_ids, [0] * (keep_a + 2) + [1] * (keep_b + 1)


def check_length(max_seq_length, config, shortest):
    """Refuses a sequence length that the position table or the special tokens cannot take.

    Args:
      max_seq_length: int, as the user gave it.
      config: `BertConfig`.
      shortest: int, the special tokens of one sequence plus one token of text for each part.

    Raises:
      InputError: longer than `max_position_embeddings`, or shorter than `shortest`.
    """
    if max_seq_length > config.max_position_embeddings:
        raise InputError(
            f"--max_seq_length={max_seq_length} is beyond the model's position table of "
            f"{config.max_position_embeddings} (max_position_embeddings in its config). "
            f"Give --max_seq_length={config.max_position_embeddings} or less."
        )
    if max_seq_length < shortest:
        raise InputError(
            f"--max_seq_length={max_seq_length} leaves no room for text; at least {shortest} "
            "is wanted ([CLS] and [SEP] count)."
        )


def length_pieces(lengths, num_pieces):
    """Cuts the rows of a batch into pieces of similar length: the cut with least padding.

    The gradients of the pieces are summed, so the update is that of the whole batch, and
    each piece is padded to its own longest row only.

    Args:
      lengths: int [B], tokens of each row.
      num_pieces: int, wanted number of pieces; fewer rows give fewer pieces.

    Returns:
      list of min(num_pieces, B) int arrays of row numbers, shortest rows first; together
      every row once.
    """
    order = np.argsort(lengths, kind="stable")
    sorted_lengths = np.asarray(lengths)[order]
    num_rows, num_pieces = len(order), min(num_pieces, len(order))
    # cost[j] is the least number of positions that the first j rows need in k pieces: the last
    # piece is rows i..j-1, each as long as row j-1.
    rows = np.arange(num_rows + 1)
    cost = np.where(rows == 0, 0.0, np.inf)
    cuts = []
    for _ in range(num_pieces):
        piece = (rows[None, :] - rows[:, None]) * np.append(0, sorted_lengths)[None, :]
        total = np.where(rows[None, :] > rows[:, None], cost[:, None] + piece, np.inf)  # [i j]
        cuts.append(total.argmin(axis=0))
        cost = total.min(axis=0)
    pieces, end = [], num_rows
    for cut in reversed(cuts):
        pieces.append(order[cut[end] : end])
        end = cut[end]
    return pieces[::-1]


def pad_rows(rows, length, dtype=np.int32):
    """Stacks lists of different length into one array, zeros behind.

    Args:
      rows: list of B sequences of numbers, none longer than `length`.
      length: int.

    Returns:
      array of `dtype`, [B length].
    """
    padded = np.zeros((len(rows), length), dtype)
    for target, row in zip(padded, rows, strict=True):
        target[: len(row)] = row
    return padded


def encoder_inputs(word_ids, type_ids, length=None):
    """Pads packed rows into the three inputs of the encoder.

    Args:
      word_ids: list of B lists of int.
      type_ids: list of B lists of int, as long as those of `word_ids`.
      length: int, or None for the longest row.

    Returns:
      dict with int32 [B T] `input_word_ids`, `input_mask`, `input_type_ids`.
    """
    lengths = np.array([len(row) for row in word_ids])
    if length is None:
        length = int(lengths.max())
    return {
        features.WORD_IDS.name: pad_rows(word_ids, length),
        features.MASK.name: (np.arange(length)[None, :] < lengths[:, None]).astype(np.int32),
        features.TYPE_IDS.name: pad_rows(type_ids, length),
    }
