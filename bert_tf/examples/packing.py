"""One or two id sequences to one row of the model: special tokens, types, truncation."""

import dataclasses
from collections.abc import Sequence

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary

Packed = tuple[list[int], list[int]]  # word ids and type ids


@dataclasses.dataclass(frozen=True)
class Windows:
    """How a text that is longer than a row is cut into overlapping windows.

    Attributes:
      max_windows: of a text; what follows them is left out.
      stride: tokens from the start of one window to the start of the next, at most what a window
        holds; None: half of that.
      pooling: how the model makes one answer of those of the windows, see
        `modeling.models.ClassifierModel`.
    """

    max_windows: int
    stride: int | None = None
    pooling: str = "mean"

    def spans(self, length: int, room: int) -> list[tuple[int, int]]:
        """Start and end of each window of a text.

        Args:
          length: tokens of the text.
          room: tokens of it that a window holds.
        """
        stride = min(self.stride or max(1, room // 2), room)
        count = 1 + -(-max(0, length - room) // stride)
        starts = range(0, min(count, self.max_windows) * stride, stride)
        return [(start, min(start + room, length)) for start in starts]


def truncated_lengths(length_a: int, length_b: int, budget: int) -> tuple[int, int]:
    """Lengths of the prefixes to keep of two sequences, so that together they fit `budget`.

    The longer one loses ids until both fit; of two equally long ones the second loses first
    (released code, `_truncate_seq_pair`, in closed form).
    """
    keep_a = min(length_a, max(budget - length_b, budget - budget // 2))
    keep_b = min(length_b, max(budget - length_a, budget // 2))
    return keep_a, keep_b


def pack(
    ids_a: Sequence[int], ids_b: Sequence[int] | None, vocabulary: Vocabulary, max_seq_length: int
) -> Packed:
    """Packs ids as `[CLS] a [SEP]` or `[CLS] a [SEP] b [SEP]` (paper section 3, figure 2).

    Args:
      ids_a: first text.
      ids_b: second text; None for a single text. An empty second text is still a pair.
      vocabulary: of the ids.
      max_seq_length: special tokens included.

    Returns:
      Word ids and type ids, of equal length, at most `max_seq_length`.
    """
    cls, sep = vocabulary.cls_id, vocabulary.sep_id
    if ids_b is None:
        word_ids = [cls, *ids_a[: max_seq_length - 2], sep]
        return word_ids, [0] * len(word_ids)
    keep_a, keep_b = truncated_lengths(len(ids_a), len(ids_b), max_seq_length - 3)
    word_ids = [cls, *ids_a[:keep_a], sep, *ids_b[:keep_b], sep]
    return word_ids, [0] * (keep_a + 2) + [1] * (keep_b + 1)


def pack_windows(
    ids_a: Sequence[int],
    ids_b: Sequence[int] | None,
    vocabulary: Vocabulary,
    max_seq_length: int,
    windows: Windows,
) -> tuple[list[Packed], int]:
    """Packs ids as `pack` does, in as many rows as hold all of them.

    In a pair the windows move over the longer text. The other one is in every row, cut to half of
    the room if it is longer than that.

    Args:
      ids_a, ids_b, vocabulary, max_seq_length: see `pack`.

    Returns:
      The rows, and how many ids at the end of the longer text are in none of them.
    """
    if ids_b is None:
        spans = windows.spans(len(ids_a), max_seq_length - 2)
        rows = [pack(ids_a[slice(*span)], None, vocabulary, max_seq_length) for span in spans]
        return rows, len(ids_a) - spans[-1][1]
    budget = max_seq_length - 3
    shorter, longer = sorted((ids_a, ids_b), key=len)
    shorter = shorter[: max(budget - len(longer), budget // 2)]
    spans = windows.spans(len(longer), budget - len(shorter))
    rows = []
    for start, end in spans:
        pair = (shorter, longer[start:end])
        first, second = pair if len(ids_a) <= len(ids_b) else pair[::-1]
        rows.append(pack(first, second, vocabulary, max_seq_length))
    return rows, len(longer) - spans[-1][1]


def check_length(max_seq_length: int, config: BertConfig, shortest: int) -> None:
    """Refuses a sequence length that the position table or the special tokens cannot take.

    Args:
      max_seq_length: as the user gave it.
      config: of the model.
      shortest: the special tokens of one sequence plus one token of text for each part.

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
