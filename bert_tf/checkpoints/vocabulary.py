"""Checks whether a vocabulary fits an encoder."""

from collections.abc import Sized

from bert_tf.config import BertConfig
from bert_tf.errors import InputError

# Tables are padded to a multiple of 8 to 128 rows for speed. With more rows than that, the
# vocabulary is that of another model.
_PADDING_LIMIT = 128


def check_vocabulary(config: BertConfig, vocabulary: Sized) -> str:
    """Compares the number of tokens with the rows of the word embeddings.

    Returns:
      A warning if there are a few more rows than tokens, else "".

    Raises:
      InputError: a token would have no row, or 128 or more rows would have no token.
    """
    num_tokens, num_rows = len(vocabulary), config.vocab_size
    if num_tokens > num_rows:
        raise InputError(
            f"The vocabulary has {num_tokens} tokens, the config vocab_size={num_rows}: ids "
            f"{num_rows} to {num_tokens - 1} would have no embedding. Give the vocab.txt and the "
            "bert_config.json of the same model."
        )
    if num_rows - num_tokens >= _PADDING_LIMIT:
        raise InputError(
            f"The vocabulary has {num_tokens} tokens, the config vocab_size={num_rows}: "
            f"{num_rows - num_tokens} embeddings would have no token. Padding stays below "
            f"{_PADDING_LIMIT}; give the vocab.txt and the bert_config.json of the same model."
        )
    if num_tokens < num_rows:
        return (
            f"The vocabulary has {num_tokens} tokens, the config vocab_size={num_rows}; "
            f"taking the last {num_rows - num_tokens} embeddings for padding."
        )
    return ""
