"""One or two id sequences to one row of the model: special tokens, types, truncation."""

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
