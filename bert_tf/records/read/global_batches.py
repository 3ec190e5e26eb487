"""Pre-training records to global batches, or to one worker's share of each.

The order of the examples, their masks and the lengths of their pieces are functions of the seed
and of the number of the batch. Every worker reads the stream of raw records and parses the rows
that are its own.
"""

import numpy as np
import tensorflow as tf

from bert_tf import features as rows
from bert_tf.errors import InputError
from bert_tf.records import check, manifest
from bert_tf.records.read import dynamic_masking, micro_batches, stream

# What a record may have, in any order.
FEATURES = (*rows.PRETRAINING, rows.SEQUENCE_IDS)


class Reader:
    """Reads batches of a number of rows, the same ones for any number of workers.

    Args:
      paths: list of str, record files of any objective, padded or not.
      features: iterable of `features.Feature`, those of a batch; `check.present` of `FEATURES`
        gives all that the files have. With a masker the masked LM ones are made whether the files
        have them or not.
      sizes: dict from axis letter to length, e.g. `{"T": 128, "P": 20}`. With a masker P is that
        of the masker.
      batch_size: int, B, rows of the global batch.
      seed: int, of the order.
      masker: `dynamic_masking.DynamicMasker` or None: the masks that the records have. Those are
        undone before new ones are drawn.
      records_to_shuffle: int, see `read.endless`.

    Attributes:
      num_records: int, in all files: one epoch.
      features: tuple of `features.Feature`, those of a batch.

    Raises:
      InputError: a file is not whole or does not hold what was wanted; see
        `check.record_names`.
    """

    def __init__(
        self, paths, features, sizes, *, batch_size, seed, masker=None, records_to_shuffle=10_000
    ):
        self._paths, self._masker = list(paths), masker
        self._batch_size, self._seed = batch_size, seed
        self._records_to_shuffle = records_to_shuffle
        self.num_records = sum(map(check.num_records, self._paths))
        self.features = tuple(features)
        stored = self.features
        if masker is None:
            self._check_masked()
        else:
            self.features = (*(f for f in stored if f not in rows.MASKED_LM), *rows.MASKED_LM)
            stored = tuple(feature for feature in stored if feature not in rows.MASKED_LM)
            stored += check.present(self._paths, rows.MASKED_LM)
            if rows.MASKED_LM_POSITIONS in stored:
                sizes = sizes | {"P": _num_predictions(self._paths)}
        self._parser = stream.Parser(self._paths, stored, sizes)
        self._max_seq_length = sizes["T"]

    def _check_masked(self):
        wanted = [feature for feature in self.features if feature in rows.MASKED_LM]
        if wanted and not check.present(self._paths, wanted):
            raise InputError(
                f"{self._paths[0]} has no masked tokens. Records that were made without masks can "
                "only be used with masks drawn while they are read: give --dynamic_masking=true."
            )

    def batches(self, start_batch=0, *, first_row=0, num_rows=None):
        """Reads rows of every batch, without end, in the order in which they come.

        Args:
          start_batch: int, number of batches to leave out.
          first_row: int, of those of each batch to give.
          num_rows: int, how many; None: all that follow.

        Returns:
          `tf.data.Dataset` of dicts from model name to [n], [n T] or [n P], n = `num_rows`.
        """
        num_rows = self._batch_size - first_row if num_rows is None else num_rows
        if not 0 <= first_row < first_row + num_rows <= self._batch_size:
            raise ValueError(f"Rows from {first_row} on, {num_rows} of them, are not in a batch.")
        share = slice(first_row, first_row + num_rows)

        def parse(batch, records):
            return self._parse(records[share], self._numbers(batch)[share])

        return stream.ready(self._stream(start_batch), parse)

    def pieces(
        self,
        start_batch=0,
        *,
        num_pieces=1,
        length_buckets=(),
        first_row=0,
        num_rows=None,
        num_replicas=1,
    ):
        """Reads every batch as pieces of static shape, without end; see `static_pieces`.

        Where there is more than one length, a batch is sorted by length, rows of equal length
        in the order in which they come; else it stays as it comes.

        Args:
          start_batch: int, number of batches to leave out.
          num_pieces: int, K.
          length_buckets: iterable of int, see `micro_batches.buckets`.
          first_row, num_rows, num_replicas: see `micro_batches.Cut`; None: all rows that follow.

        Returns:
          `tf.data.Dataset` of dicts from model name to [K b], [K b T] or [K b P] and of
          `micro_batches.BUCKET` int32 [K]. Those of the replicas follow one another, which is
          what `tf.distribute.Strategy.distribute_datasets_from_function` wants.
        """
        num_rows = self._batch_size - first_row if num_rows is None else num_rows
        cut = micro_batches.Cut(
            batch_size=self._batch_size,
            num_pieces=num_pieces,
            buckets=micro_batches.buckets(length_buckets, self._max_seq_length),
            first_row=first_row,
            num_rows=num_rows,
            num_replicas=num_replicas,
        )

        def parse(batch, records):
            numbers, places = self._numbers(batch), cut.places
            chosen = tf.zeros([num_pieces], tf.int32)
            if len(cut.buckets) > 1:
                lengths = self._lengths(records)
                order = tf.argsort(lengths, stable=True)
                chosen = cut.chosen_buckets(tf.gather(lengths, order))
                places = tf.gather(order, places)
            found = self._parse(tf.gather(records, places), tf.gather(numbers, places))
            return cut.shared_out(found, chosen)

        return stream.ready(self._stream(start_batch), parse, unbatch=True)

    def once(self):
        """Reads every record once, in the order of the files, e.g. to evaluate.

        A masker draws the masks of the first `num_records` examples, the same ones every time.

        Returns:
          `tf.data.Dataset` of dicts as those of `batches`; the last batch may be short.
        """
        records = tf.data.TFRecordDataset(self._paths).enumerate().batch(self._batch_size)
        return stream.ready(records, lambda numbers, records: self._parse(records, numbers))

    def sources(self, batch):
        """Says where the rows of a batch lie.

        Args:
          batch: int, number of the batch, from 0.

        Returns:
          list of (path, number of the record in the file, from 0), in the order of `batches`.
        """

        def numbered(path):
            return tf.data.TFRecordDataset(path).enumerate().map(lambda number, _: (path, number))

        found = self._records(batch, source=numbered).take(self._batch_size)
        return [(path.decode(), int(number)) for path, number in found.as_numpy_iterator()]

    def _records(self, start_batch, **arguments):
        return stream.endless(
            self._paths,
            seed=self._seed,
            num_records=self.num_records,
            records_to_shuffle=self._records_to_shuffle,
            first_record=start_batch * self._batch_size,
            **arguments,
        )

    def _stream(self, start_batch):
        """(number of the batch, its raw records [B]) from `start_batch` on."""
        records = self._records(start_batch)
        return records.batch(self._batch_size, drop_remainder=True).enumerate(start_batch)

    def _numbers(self, batch):
        """int64 [B], how many examples come before each of a batch, over all epochs."""
        return batch * self._batch_size + tf.constant(np.arange(self._batch_size))

    def _lengths(self, records):
        """int32 [B], tokens of raw records; nothing else of them is parsed."""
        mask = self._parser(records, (rows.MASK,))[rows.MASK.name]
        return tf.reduce_sum(mask, axis=1)

    def _parse(self, records, numbers):
        """Parses and masks raw records [n], examples of these numbers [n]."""
        found = self._parser(records)
        if self._masker is None:
            return found
        word_ids = found[rows.WORD_IDS.name]
        if rows.MASKED_LM_POSITIONS.name in found:
            old = (found.pop(feature.name) for feature in rows.MASKED_LM)
            word_ids = dynamic_masking.restored(word_ids, *old)
        return found | self._masker(word_ids, numbers)


def _num_predictions(paths):
    """The most slots that a record of some files has."""
    builds = manifest.find_all(paths)
    return max(
        build.max_predictions_per_seq if build else check.num_values(path, rows.MASKED_LM_POSITIONS)
        for path, build in zip(paths, builds, strict=True)
    )
