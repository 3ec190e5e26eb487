"""What a build does to text, tokens and examples in memory, wherever they come from and go to.

Every result depends on the arguments, the options and the vocabulary alone. `stages` runs these
steps over files of a scratch directory, `beam_pipeline` over the collections of a Beam pipeline;
so both make the same bytes.
"""

import numpy as np

from bert_tf.examples import pool as pool_lib
from bert_tf.examples.choices import EXAMPLE_TYPES, MaskSettings
from bert_tf.examples.masking import Masker
from bert_tf.examples.pretraining import ExampleMaker
from bert_tf.examples.random_bits import RandomBits
from bert_tf.records.build import summary
from bert_tf.records.build.encode import Encoder
from bert_tf.records.build.tokens import UnitTokenizer

_BLOCK_ROWS = 2048
# Keys of random streams, beside (seed, pass, input, unit) of the examples.
_BUCKETS, _ORDER = 2**31, 2**31 + 1


class Recipe:
    """The steps of a build; what they need is made once and kept.

    Args:
      options: `options.PretrainingData`.
      vocabulary: `text.vocab.Vocabulary`.

    Attributes:
      row_dtype: dtype of an example, see `examples.pretraining.row_dtype`.
    """

    def __init__(self, options, vocabulary):
        self._options = options
        self._vocabulary = vocabulary
        self._maker = _example_maker(vocabulary, options)
        self._continuations = np.frombuffer(vocabulary.continuations, bool)
        self._tokenizer = self._encoder = None
        self.row_dtype = self._maker.row_dtype

    def tokenize(self, unit):
        """Tokenizes a unit of text.

        Args:
          unit: `text.documents.Unit`.

        Returns:
          (`pool.Documents` with ids in as few bytes as the vocabulary allows, `TextCounts`).
        """
        if self._tokenizer is None:
            self._tokenizer = UnitTokenizer(self._vocabulary, self._options)
        found, counts = self._tokenizer(unit)
        return found._replace(ids=found.ids.astype(self.row_dtype["labels"].base)), counts

    def pool(self, parts):
        """Makes a pool of the documents of several units, as `tokenize` returns them."""
        parts = [part._replace(ids=part.ids.astype(np.int32)) for part in parts]
        pool = pool_lib.Pool(parts, self._continuations)
        if EXAMPLE_TYPES[self._options.example_type].has_random_texts:
            pool.prepare_random_texts()
        return pool

    def draw(self, pool, part, key, num_buckets):
        """Draws the examples of a unit, all passes.

        Args:
          pool: `pool.Pool`.
          part: int, which of its parts the unit is.
          key: (input, number) of the unit.
          num_buckets: int, of the whole build.

        Returns:
          (rows, ends, counts): structured array [n] of rows sorted by bucket; int64 [num_buckets],
            where in the rows each bucket ends; `ExampleCounts`.
        """
        passes = range(self._options.dupe_factor)
        blocks = [block for p in passes for block in self._maker.rows(pool, part, key, p)]
        rows = np.concatenate([np.empty(0, self.row_dtype), *blocks])
        counts = sum(
            (summary.count_rows(block, self._vocabulary) for block in blocks),
            start=summary.ExampleCounts(),
        )
        order, ends = _by_bucket(
            len(rows), num_buckets, RandomBits(self._options.random_seed, _BUCKETS, *key)
        )
        return rows[order], ends, counts

    def encode(self, rows, bucket):
        """Shuffles and encodes the rows of a bucket.

        Args:
          rows: structured array [n], in the order of their units.
          bucket: int.

        Yields:
          (records, ends) as `write.write_records` takes them.
        """
        options = self._options
        if self._encoder is None:
            self._encoder = Encoder(
                options.max_seq_length,
                options.num_slots,
                EXAMPLE_TYPES[options.example_type],
                options.is_padded,
            )
        order = RandomBits(options.random_seed, _ORDER, bucket).permutation(len(rows))
        for start in range(0, len(rows), _BLOCK_ROWS):
            yield self._encoder.encode(rows[order[start : start + _BLOCK_ROWS]])


def _example_maker(vocabulary, options):
    """The `ExampleMaker` that `options` ask for."""
    settings = MaskSettings(
        max_predictions_per_seq=options.num_predictions,
        masked_lm_prob=options.masked_lm_prob,
        mask_prob=options.mask_prob,
        random_prob=options.random_prob,
        granularity=options.granularity,
        max_ngram=options.max_ngram,
    )
    return ExampleMaker(
        vocabulary=vocabulary,
        masker=Masker(vocabulary, settings) if options.mask else None,
        example_type=EXAMPLE_TYPES[options.example_type],
        max_seq_length=options.max_seq_length,
        short_seq_prob=options.short_seq_prob,
        random_seed=options.random_seed,
    )


def _by_bucket(num_rows, num_buckets, random):
    """Deals rows out to buckets at random, each bucket the same number of them or one more.

    Returns:
      (order, ends): int64 [num_rows], rows in the order of their buckets; int64 [num_buckets],
        where in `order` each bucket ends.
    """
    first = int(random.uniform(1)[0] * num_buckets)
    bucket = (np.arange(num_rows) + first) % num_buckets
    order = random.permutation(num_rows)[np.argsort(bucket, kind="stable")]
    return order, np.cumsum(np.bincount(bucket, minlength=num_buckets))
