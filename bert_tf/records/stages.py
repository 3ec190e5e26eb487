"""The three stages of a build as functions from parts of the scratch directory to parts of it.

Each depends on its arguments, the options and the parts alone, so it does not matter which process
runs it, when, or whether it was begun before:

1. `tokenize`: a unit of text to ids.
2. `draw`: the ids of a unit, in a pool of several, to examples, sorted by the bucket they go to.
   A bucket is a share of a shard that fits into memory; each example goes to a random one.
3. `encode`: all examples of a bucket, in random order, to a TFRecord file; those of the buckets of
   a shard, one behind the other, are the shard.
"""

import dataclasses

import numpy as np

from bert_tf.examples.pool import Documents
from bert_tf.records import scratch as scratch_lib
from bert_tf.records import write
from bert_tf.records.recipe import Recipe
from bert_tf.text import vocab


class Stages:
    """What a process needs to run any stage.

    Args:
      options: `options.PretrainingData`.
      scratch: `scratch.Scratch`.
    """

    def __init__(self, options, scratch):
        self._options = options
        self._scratch = scratch
        self._recipe = Recipe(options, vocab.from_file(options.vocab_file))
        self._pool = (None, None)

    def tokenize(self, key, unit):
        """Stage 1.

        Args:
          key: (input, number) of the unit.
          unit: `text.documents.Unit`.

        Returns:
          dict, the header of the part.
        """
        found, counts = self._recipe.tokenize(unit)
        header = {"key": key, "counts": dataclasses.asdict(counts), "num_tokens": len(found.ids)}
        header |= {"num_documents": len(found.document_ends)}
        arrays = [found.ids, found.sentence_ends, found.document_ends]
        if found.unit_starts is not None:
            arrays.append(found.unit_starts)
        scratch_lib.write_arrays(self._scratch.tokens(key), header, *arrays)
        return header

    def draw(self, pool_keys, keys, num_buckets):
        """Stage 2.

        Args:
          pool_keys: tuple of keys, the units of the pool.
          keys: list of keys, the units of them to draw from.
          num_buckets: int, of the whole build.

        Returns:
          list of dicts, the headers of the parts.
        """
        pool = self._loaded(pool_keys)
        headers = []
        for key in keys:
            part = pool_keys.index(key)
            rows, ends, counts = self._recipe.draw(pool, part, key, num_buckets)
            header = {"key": key, "counts": dataclasses.asdict(counts)}
            scratch_lib.write_rows(self._scratch.rows(key), header, rows, ends)
            headers.append(header)
        return headers

    def _loaded(self, pool_keys):
        """The pool of some units; the last one is kept, for the next task may need it."""
        if self._pool[0] != pool_keys:
            pool = self._recipe.pool([self._documents(key) for key in pool_keys])
            self._pool = pool_keys, pool
        return self._pool[1]

    def _documents(self, key):
        with open(self._scratch.tokens(key), "rb") as file:
            ids, sentence_ends, document_ends = (np.load(file) for _ in range(3))
            has_units = self._options.segmented_text or self._options.unit == "span"
            starts = np.load(file) if has_units else None
            return Documents(ids, sentence_ends, document_ends, starts)

    def encode(self, bucket, keys, num_buckets, num_rows):
        """Stage 3.

        Args:
          bucket: int.
          keys: list of keys, all units of the build.
          num_buckets: int, of the whole build.
          num_rows: int, of the whole build.

        Returns:
          (path, number of records) of the TFRecord file made.
        """
        path = self._scratch.bucket(bucket)
        rows = self._bucket(keys, bucket, num_buckets, num_rows)
        return path, write.write_records(path, self._recipe.encode(rows, bucket))

    def _bucket(self, keys, bucket, num_buckets, num_rows):
        """All rows of a bucket, in the order of the units."""
        # Of each unit it has one row more than its even share at the most.
        rows = np.empty(num_rows // num_buckets + len(keys), self._recipe.row_dtype)
        count = 0
        for key in keys:
            path = self._scratch.rows(key)
            count += scratch_lib.read_rows(path, rows[count:], bucket, num_buckets)
        return rows[:count]
