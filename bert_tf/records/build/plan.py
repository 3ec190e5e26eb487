"""How a build is divided: units of text into pools, examples into buckets."""

from bert_tf.errors import InputError
from bert_tf.examples import pool as pool_lib
from bert_tf.examples.choices import EXAMPLE_TYPES

# A share of a shard that is shuffled in memory.
_BUCKET_BYTES = 2**25
# What is drawn before it is written, sorted by bucket.
_RUN_BYTES = 2**25
_ROWS_PER_TOKEN = 1.25  # roughly how many tokens a row takes, above its share of T


def pools(options, units, num_tokens):
    """Groups units into pools.

    Args:
      options: `options.PretrainingData`.
      units: list of (key, tokens, documents), in the order of their keys; documents above 0.
      num_tokens: int, a pool is full with so many.

    Returns:
      list of tuples of keys.

    Raises:
      InputError: too few documents for the objective.
    """
    example_type = EXAMPLE_TYPES[options.example_type]
    pool_lib.check_documents(sum(num for _, _, num in units), example_type)
    return pool_lib.pools(units, num_tokens, example_type.min_documents, options.random_seed)


def runs(options, pool, num_tokens, row_bytes):
    """Divides a pool into runs of units whose examples are kept in one file.

    A bucket has a share of every file, so they must not be small.

    Args:
      options: `options.PretrainingData`.
      pool: tuple of keys.
      num_tokens: dict from key to its number of tokens.
      row_bytes: int.

    Returns:
      list of tuples of keys, in the order of the pool.
    """
    found, size = [], 0
    for key in pool:
        num_bytes = _num_rows(options, num_tokens[key]) * row_bytes
        if not found or size + num_bytes > _RUN_BYTES:
            found.append(())
            size = 0
        found[-1] += (key,)
        size += num_bytes
    return found


def num_buckets(options, num_tokens, row_bytes, num_shards):
    """Buckets of all shards, from a rough guess at the size of the rows; a multiple of the shards.

    Args:
      options: `options.PretrainingData`.
      num_tokens: int, of the whole text.
      row_bytes: int.
      num_shards: int.
    """
    num_bytes = _num_rows(options, num_tokens) * row_bytes
    return num_shards * (1 + int(num_bytes / _BUCKET_BYTES / num_shards))


def _num_rows(options, num_tokens):
    return _ROWS_PER_TOKEN * num_tokens * options.dupe_factor / options.max_seq_length


def check_examples(num_examples, num_shards):
    """Refuses more output files than there are examples.

    Raises:
      InputError: they are more.
    """
    if num_examples < num_shards:
        raise InputError(
            f"The input gives {num_examples} example(s), fewer than the {num_shards} files of "
            "--output_file. Name fewer files."
        )
