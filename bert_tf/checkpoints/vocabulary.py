"""Does a vocabulary fit an encoder?"""

from bert_tf.errors import InputError

# Tables are padded to a multiple of 8 to 128 rows for speed; more than that is another vocabulary.
_MOST_PADDING = 128


def check_vocabulary(config, vocabulary):
    """Checks the number of tokens against the rows of the word embeddings.

    Args:
      config: `BertConfig`.
      vocabulary: `text.vocab.Vocabulary`.

    Returns:
      str, a warning, if the table has a few rows more than there are tokens; "" if it has none.

    Raises:
      InputError: a token would have no row, or 128 rows and more would have no token.
    """
    num_tokens, num_rows = len(vocabulary), config.vocab_size
    if num_tokens > num_rows:
        raise InputError(
            f"The vocabulary has {num_tokens} tokens, the config vocab_size={num_rows}: ids "
            f"{num_rows} to {num_tokens - 1} would have no embedding. Give the vocab.txt and the "
            "bert_config.json of the same model."
        )
    if num_rows - num_tokens >= _MOST_PADDING:
        raise InputError(
            f"The vocabulary has {num_tokens} tokens, the config vocab_size={num_rows}: "
            f"{num_rows - num_tokens} embeddings would have no token. Padding stays below "
            f"{_MOST_PADDING}; give the vocab.txt and the bert_config.json of the same model."
        )
    if num_tokens < num_rows:
        return (
            f"The vocabulary has {num_tokens} tokens, the config vocab_size={num_rows}; "
            f"taking the last {num_rows - num_tokens} embeddings for padding."
        )
    return ""
