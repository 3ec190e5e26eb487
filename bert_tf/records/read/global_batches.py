"""Pre-training records to global batches, or to one worker's share of each.

The order of the examples, their masks and the lengths of the micro-batches are functions of the
seed and of the number of the batch. Every worker reads the stream of raw records and parses its own
rows.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from bert_tf import features as rows
from bert_tf.errors import InputError
from bert_tf.features import Feature
from bert_tf.records import check, manifest
from bert_tf.records.read import dynamic_masking, micro_batches, stream

# Features that a record may have, in any order.
FEATURES = (*rows.PRETRAINING, rows.SEQUENCE_IDS)


class Reader:
    """Reads global batches, the same ones for any number of workers.

    Args:
      paths: record files of any objective, padded or not.
      features: those of a batch; `check.present` of `FEATURES` gives all that the files have. With
        a masker the masked LM ones are made whether or not the files have them.
      sizes: from axis letter to length, e.g. `{"T": 128, "P": 20}`. With a masker P is that of the
        masker.
      batch_size: B, rows of the global batch.
      seed: of the order.
      masker: draws new masks, after it has undone those of the records. None: the masks that the
        records have.
      records_to_shuffle: see `stream.endless`.

    Attributes:
      num_records: in all files: one epoch.
      features: those of a batch.

    Raises:
      InputError: a file is incomplete or lacks a feature; see `check.record_names`.
    """

    def __init__(
        self,
        paths: Iterable[str],
        features: Iterable[Feature],
        sizes: Mapping[str, int],
        *,
        batch_size: int,
        seed: int,
        masker: dynamic_masking.DynamicMasker | None = None,
        records_to_shuffle: int = 10_000,
    ) -> None:
        self._paths, self._masker = list(paths), masker
        self._batch_size, self._seed = batch_size, seed
        self._records_to_shuffle = records_to_shuffle
        self.num_records = sum(map(check.num_records, self._paths))
        self.features: tuple[Feature, ...] = tuple(features)
        stored = self.features
        if masker is None:
            self._check_masked()
        else:
            self.features = (*(f for f in stored if f not in rows.MASKED_LM), *rows.MASKED_LM)
            stored = tuple(feature for feature in stored if feature not in rows.MASKED_LM)
            stored += check.present(self._paths, rows.MASKED_LM)
            if rows.MASKED_LM_POSITIONS in stored:
                sizes = {**sizes, "P": _num_predictions(self._paths)}
        self._parser = stream.Parser(self._paths, stored, sizes)
        self._max_seq_length = sizes["T"]

    def _check_masked(self) -> None:
        wanted = [feature for feature in self.features if feature in rows.MASKED_LM]
        if wanted and not check.present(self._paths, wanted):
            raise InputError(
                f"{self._paths[0]} has no masked tokens. Records that were made without masks can "
                "only be used with masks drawn while they are read: give --dynamic_masking=true."
            )

    def batches(
        self, start_batch: int = 0, *, first_row: int = 0, num_rows: int | None = None
    ) -> tf.data.Dataset:
        """Reads rows of every batch, without end, in the order in which they come.

        Args:
          start_batch: batches to leave out.
          first_row, num_rows: the rows of each batch to give; None: all from `first_row` on.

        Returns:
          dataset of dicts from model name to [n], [n T] or [n P], n = `num_rows`.
        """
        num_rows = self._batch_size - first_row if num_rows is None else num_rows
        if not 0 <= first_row < first_row + num_rows <= self._batch_size:
            raise ValueError(f"Rows from {first_row} on, {num_rows} of them, are not in a batch.")
        share = slice(first_row, first_row + num_rows)

        def parse(batch: tf.Tensor, records: tf.Tensor) -> dict[str, tf.Tensor]:
            return self._parse(records[share], self._numbers(batch)[share])

        return stream.ready(self._stream(start_batch), parse)

    def micro_batches(
        self,
        start_batch: int = 0,
        *,
        num_micro_batches: int = 1,
        length_buckets: Iterable[int] = (),
        first_row: int = 0,
        num_rows: int | None = None,
        num_replicas: int = 1,
    ) -> tf.data.Dataset:
        """Reads every batch as micro-batches of static shape, without end.

        Where there is more than one length, a batch is sorted by length, rows of equal length in
        the order in which they come. With one length it keeps the order in which it comes.

        Args:
          start_batch: batches to leave out.
          num_micro_batches: K.
          length_buckets: see `micro_batches.buckets`.
          first_row, num_rows, num_replicas: see `micro_batches.Cut`; None: all rows that follow.

        Returns:
          dataset of dicts from model name to [K b], [K b T] or [K b P], with
          `features.ROW_NUMBERS` int32 [K b] and `features.LENGTH_BUCKET` int32 [K]. Those of the
          replicas follow one another, as `tf.distribute.Strategy.distribute_datasets_from_function`
          wants them.
        """
        num_rows = self._batch_size - first_row if num_rows is None else num_rows
        cut = micro_batches.Cut(
            batch_size=self._batch_size,
            num_micro_batches=num_micro_batches,
            buckets=micro_batches.buckets(length_buckets, self._max_seq_length),
            first_row=first_row,
            num_rows=num_rows,
            num_replicas=num_replicas,
        )

        def parse(batch: tf.Tensor, records: tf.Tensor) -> dict[str, tf.Tensor]:
            numbers, rows_here = self._numbers(batch), cut.positions.reshape(-1)
            chosen = tf.zeros([num_micro_batches], tf.int32)
            if len(cut.buckets) > 1:
                lengths = self._lengths(records)
                order = tf.argsort(lengths, stable=True)
                chosen = cut.chosen_buckets(tf.gather(lengths, order))
                rows_here = tf.gather(order, rows_here)
            parsed = self._parse(tf.gather(records, rows_here), tf.gather(numbers, rows_here))
            return cut.shared_out(parsed, chosen)

        return stream.ready(self._stream(start_batch), parse, unbatch=True)

    def once(self) -> tf.data.Dataset:
        """Reads every record once, in the order of the files, e.g. to evaluate.

        A masker draws the masks of the first `num_records` examples, the same ones every time.

        Returns:
          dataset of dicts as those of `batches`; the last batch may be short.
        """
        records = tf.data.TFRecordDataset(self._paths).enumerate().batch(self._batch_size)
        return stream.ready(records, lambda numbers, records: self._parse(records, numbers))

    def sources(self, batch: int) -> list[tuple[str, int]]:
        """Where the rows of a batch come from.

        Args:
          batch: number of the batch, from 0.

        Returns:
          (path, number of the record in the file, from 0) of each, in the order of `batches`.
        """

        def numbered(path: tf.Tensor) -> tf.data.Dataset:
            return tf.data.TFRecordDataset(path).enumerate().map(lambda number, _: (path, number))

        records = self._records(batch, source=numbered).take(self._batch_size)
        return [(path.decode(), int(number)) for path, number in records.as_numpy_iterator()]

    def _records(self, start_batch: int, **arguments: Any) -> tf.data.Dataset:
        return stream.endless(
            self._paths,
            seed=self._seed,
            num_records=self.num_records,
            records_to_shuffle=self._records_to_shuffle,
            first_record=start_batch * self._batch_size,
            **arguments,
        )

    def _stream(self, start_batch: int) -> tf.data.Dataset:
        """(number of the batch, its raw records [B]) from `start_batch` on."""
        records = self._records(start_batch)
        return records.batch(self._batch_size, drop_remainder=True).enumerate(start_batch)

    def _numbers(self, batch: tf.Tensor) -> tf.Tensor:
        """int64 [B], how many examples come before each of a batch, over all epochs."""
        return batch * self._batch_size + tf.constant(np.arange(self._batch_size))

    def _lengths(self, records: tf.Tensor) -> tf.Tensor:
        """int32 [B], tokens of raw records; nothing else of them is parsed."""
        mask = self._parser(records, (rows.MASK,))[rows.MASK.name]
        return tf.reduce_sum(mask, axis=1)

    def _parse(self, records: tf.Tensor, numbers: tf.Tensor) -> dict[str, tf.Tensor]:
        """Parses and masks raw records [n], examples of these numbers [n]."""
        parsed = self._parser(records)
        if self._masker is None:
            return parsed
        word_ids = parsed[rows.WORD_IDS.name]
        if rows.MASKED_LM_POSITIONS.name in parsed:
            old = (parsed.pop(feature.name) for feature in rows.MASKED_LM)
            word_ids = dynamic_masking.restored(word_ids, *old)
        return parsed | self._masker(word_ids, numbers)


def _num_predictions(paths: list[str]) -> int:
    """The largest number of prediction slots in a record of these files."""
    builds = manifest.find_all(paths)
    return max(
        build.max_predictions_per_seq if build else check.num_values(path, rows.MASKED_LM_POSITIONS)
        for path, build in zip(paths, builds, strict=True)
    )
