"""What a build does to text, tokens and examples in memory, and how it divides them.

    units of text -> ids -> pools of units -> examples -> buckets -> records

Every result depends on the arguments, the options and the vocabulary alone. `scratch.Stages` runs
these steps over files, `beam.pipeline` over the collections of a Beam pipeline; so both make the
same bytes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bert_tf.corpus.units import Unit
from bert_tf.errors import InputError
from bert_tf.examples.choices import EXAMPLE_TYPES, MaskSettings
from bert_tf.examples.masking import Masker
from bert_tf.examples.pool import Documents, Pool, assign_pools, check_documents
from bert_tf.examples.pretraining import ExampleMaker
from bert_tf.examples.random_bits import RandomBits
from bert_tf.options import PretrainingData
from bert_tf.records.build.encode import Encoder
from bert_tf.records.build.summary import ExampleCounts, TextCounts, count_rows
from bert_tf.text.vocab import Vocabulary

if TYPE_CHECKING:
    from bert_tf.records.build.tokens import UnitTokenizer

Key = tuple[int, int]  # of a unit: number of its input, its number there

# A share of a shard that is shuffled in memory.
_BUCKET_BYTES = 2**25
# Rows that are drawn before they are written, sorted by bucket.
_RUN_BYTES = 2**25
_ROWS_PER_TOKEN = 1.25  # a guess: rows per token of text, times `max_seq_length`
_BLOCK_ROWS = 2048
# Keys of random streams, in addition to (seed, pass, input, unit) of the examples.
_BUCKETS, _ORDER = 2**31, 2**31 + 1


class Recipe:
    """The steps of a build; what they need is made once and kept.

    Args:
      options: of the build.
      vocabulary: of the build.

    Attributes:
      row_dtype: of an example, see `examples.pretraining.row_dtype`.
    """

    def __init__(self, options: PretrainingData, vocabulary: Vocabulary) -> None:
        self._options, self._vocabulary = options, vocabulary
        self._example_type = EXAMPLE_TYPES[options.example_type]
        settings = MaskSettings(
            max_predictions_per_seq=options.num_predictions,
            masked_lm_prob=options.masked_lm_prob,
            mask_prob=options.mask_prob,
            random_prob=options.random_prob,
            granularity=options.granularity,
            max_ngram=options.max_ngram,
        )
        self._maker = ExampleMaker(
            vocabulary=vocabulary,
            masker=Masker(vocabulary, settings) if options.mask else None,
            example_type=self._example_type,
            max_seq_length=options.max_seq_length,
            short_seq_prob=options.short_seq_prob,
            random_seed=options.random_seed,
        )
        self._continuations = np.frombuffer(vocabulary.continuations, bool)
        self._encoder = Encoder(
            options.max_seq_length, options.num_slots, self._example_type, options.is_padded
        )
        self._tokenizer: UnitTokenizer | None = None
        self.row_dtype = self._maker.row_dtype

    def tokenize(self, unit: Unit) -> tuple[Documents, TextCounts]:
        """Tokenizes a unit of text; ids take as few bytes as the vocabulary allows."""
        if self._tokenizer is None:
            # Loads TensorFlow, which the process that only divides the work does not need.
            from bert_tf.records.build.tokens import UnitTokenizer

            self._tokenizer = UnitTokenizer(self._vocabulary, self._options)
        documents, counts = self._tokenizer(unit)
        return documents._replace(ids=documents.ids.astype(self.row_dtype["labels"].base)), counts

    def pools(self, units: Iterable[tuple[Key, int, int]], num_tokens: int) -> list[tuple]:
        """Groups units into pools, tuples of keys, from which examples are drawn together.

        Args:
          units: (key, tokens, documents) in the order of their keys; documents above 0.
          num_tokens: a pool is full with this many.

        Raises:
          InputError: too few documents for the type of examples.
        """
        units = list(units)
        check_documents(sum(num for _, _, num in units), self._example_type)
        return assign_pools(
            units, num_tokens, self._example_type.min_documents, self._options.random_seed
        )

    def runs(self, pool: Iterable[Key], num_tokens: Mapping[Key, int]) -> list[tuple[Key, ...]]:
        """Divides a pool into runs of units, in order, whose examples are kept in one file.

        A bucket has a share of every file, so they must not be small.

        Args:
          pool: keys of its units.
          num_tokens: of each unit.
        """
        runs: list[tuple[Key, ...]] = []
        size = 0.0
        for key in pool:
            num_bytes = self._num_bytes(num_tokens[key])
            if not runs or size + num_bytes > _RUN_BYTES:
                runs.append(())
                size = 0.0
            runs[-1] += (key,)
            size += num_bytes
        return runs

    def num_buckets(self, num_tokens: int, num_shards: int) -> int:
        """Buckets of all shards, from the tokens of the whole text; a multiple of the shards."""
        return num_shards * (1 + int(self._num_bytes(num_tokens) / _BUCKET_BYTES / num_shards))

    def _num_bytes(self, num_tokens: int) -> float:
        """A guess at the size of the rows of a text."""
        options = self._options
        num_rows = _ROWS_PER_TOKEN * num_tokens * options.dupe_factor / options.max_seq_length
        return num_rows * self.row_dtype.itemsize

    def pool(self, parts: Sequence[Documents]) -> Pool:
        """Makes a pool of the documents of several units, as `tokenize` returns them."""
        parts = [part._replace(ids=part.ids.astype(np.int32)) for part in parts]
        pool = Pool(parts, self._continuations)
        if self._example_type.has_random_texts:
            pool.prepare_random_texts()
        return pool

    def draw(
        self, pool: Pool, part: int, key: Key, num_buckets: int
    ) -> tuple[npt.NDArray, npt.NDArray[np.int64], ExampleCounts]:
        """Draws the examples of a unit, all passes.

        Args:
          pool: that holds the unit.
          part: which of the pool's parts the unit is.
          key: of the unit.
          num_buckets: of the whole build.

        Returns:
          Rows [n] of `row_dtype`, sorted by bucket; [num_buckets], where in the rows each bucket
          ends; what was counted.
        """
        passes = range(self._options.dupe_factor)
        blocks = [block for p in passes for block in self._maker.rows(pool, part, key, p)]
        rows = np.concatenate([np.empty(0, self.row_dtype), *blocks])
        counts = sum(
            (count_rows(block, self._vocabulary) for block in blocks), start=ExampleCounts()
        )
        order, ends = _by_bucket(
            len(rows), num_buckets, RandomBits(self._options.random_seed, _BUCKETS, *key)
        )
        return rows[order], ends, counts

    def encode(self, rows: npt.NDArray, bucket: int) -> Iterator[tuple[npt.NDArray, npt.NDArray]]:
        """Shuffles and encodes the rows of a bucket; yields what `write.write_records` takes.

        Args:
          rows: [n] of `row_dtype`, in the order of their units.
          bucket: its number.
        """
        order = RandomBits(self._options.random_seed, _ORDER, bucket).permutation(len(rows))
        for start in range(0, len(rows), _BLOCK_ROWS):
            yield self._encoder.encode(rows[order[start : start + _BLOCK_ROWS]])


def _by_bucket(
    num_rows: int, num_buckets: int, random: RandomBits
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Deals rows out to buckets at random, each bucket the same number of them or one more.

    Returns:
      [num_rows], rows in the order of their buckets; [num_buckets], where in it each bucket ends.
    """
    first = int(random.uniform(1)[0] * num_buckets)
    bucket = (np.arange(num_rows) + first) % num_buckets
    order = random.permutation(num_rows)[np.argsort(bucket, kind="stable")]
    return order, np.cumsum(np.bincount(bucket, minlength=num_buckets))


def check_examples(num_examples: int, num_shards: int) -> None:
    """Refuses more output files than there are examples.

    Raises:
      InputError: there are more.
    """
    if num_examples < num_shards:
        raise InputError(
            f"The input gives {num_examples} example(s), fewer than the {num_shards} files of "
            "--output_file. Name fewer files."
        )
