"""The three stages of a build as functions from parts of the scratch directory to parts of it.

Each depends on its arguments, the options and the parts alone, so it does not matter which process
runs it, when, or whether it was begun before:

1. `tokenize`: a unit of text to ids.
2. `draw`: the ids of some units, in a pool of more, to examples, sorted by the bucket they go to.
   A bucket is a share of a shard that fits into memory; each example goes to a random one.
3. `encode`: all examples of a bucket, in random order, to a TFRecord file; those of the buckets of
   a shard, one behind the other, are the shard.
"""

import dataclasses

import numpy as np

from bert_tf.examples.pool import Documents
from bert_tf.records.build import scratch as scratch_lib
from bert_tf.records.build import write
from bert_tf.records.build.recipe import Recipe
from bert_tf.records.build.summary import ExampleCounts
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
        if found.group_starts is not None:
            arrays.append(found.group_starts)
        scratch_lib.write_arrays(self._scratch.tokens(key), header, *arrays)
        return header

    def draw(self, pool_keys, run, keys, num_buckets):
        """Stage 2.

        Args:
          pool_keys: tuple of keys, the units of the pool.
          run: (number of the pool, number of the run in it).
          keys: tuple of keys, the units of the run, in the order of the pool.
          num_buckets: int, of the whole build.

        Returns:
          dict, the header of the part.
        """
        pool, units, counts = self._loaded(pool_keys), [], ExampleCounts()
        for key in keys:
            place = pool_keys.index(key)
            rows, ends, counts_of_unit = self._recipe.draw(pool, place, key, num_buckets)
            units.append((rows, ends))
            counts += counts_of_unit
        header = {"run": run, "counts": dataclasses.asdict(counts)}
        scratch_lib.write_rows(self._scratch.rows(run), header, units)
        return header

    def _loaded(self, pool_keys):
        """The pool of some units; the last one is kept, for the next task may need it."""
        if self._pool[0] != pool_keys:
            pool = self._recipe.pool([self._documents(key) for key in pool_keys])
            self._pool = pool_keys, pool
        return self._pool[1]

    def _documents(self, key):
        with open(self._scratch.tokens(key), "rb") as file:
            ids, sentence_ends, document_ends = (np.load(file) for _ in range(3))
            starts = np.load(file) if self._options.has_group_starts else None
            return Documents(ids, sentence_ends, document_ends, starts)

    def encode(self, bucket, runs, num_buckets, max_rows):
        """Stage 3.

        Args:
          bucket: int.
          runs: list of (pool, run), all of the build.
          num_buckets: int, of the whole build.
          max_rows: int, no bucket has more.

        Returns:
          (path, number of records) of the TFRecord file made.
        """
        path = self._scratch.bucket(bucket)
        rows = self._bucket(runs, bucket, num_buckets, max_rows)
        return path, write.write_records(path, self._recipe.encode(rows, bucket))

    def _bucket(self, runs, bucket, num_buckets, max_rows):
        """All rows of a bucket, in the order of pools and runs."""
        rows, count = np.empty(max_rows, self._recipe.row_dtype), 0
        for run in runs:
            path = self._scratch.rows(run)
            count += scratch_lib.read_rows(path, rows[count:], bucket, num_buckets)
        return rows[:count]
