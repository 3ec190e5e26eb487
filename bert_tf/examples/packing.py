"""One or two id sequences to one row of the model: special tokens, types, truncation."""

from collections.abc import Sequence

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary


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
) -> tuple[list[int], list[int]]:
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
