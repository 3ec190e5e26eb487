"""TFRecord files to parsed records, in an order that is a function of the seed and the epoch."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.features import Feature
from bert_tf.records import check, manifest

BATCHES_AHEAD = 4  # of their use
_MAX_FILES_AT_ONCE = 16
_ENDLESS = 2**62
# Nothing here is Python control flow over tensors, and AutoGraph takes seconds to find that out.
_as_written = tf.autograph.experimental.do_not_convert


def endless(
    paths: list[str],
    *,
    seed: int,
    num_records: int,
    records_to_shuffle: int,
    first_record: int = 0,
    source: Callable[[tf.Tensor], tf.data.Dataset] = tf.data.TFRecordDataset,
) -> tf.data.Dataset:
    """The raw records, epoch after epoch, without dropping one.

    Every epoch takes the files in its own order, reads up to 16 of them in turns, and shuffles
    blocks of `records_to_shuffle` records. All three depend on `seed` and the number of the epoch
    only, not on TensorFlow's global seed, the number of cores or timing. Leaving out whole epochs
    by `first_record` costs nothing, a part of one as much as reading it without parsing.

    Args:
      paths: of the files.
      seed: of the order.
      num_records: in all files together.
      records_to_shuffle: size of a block; memory holds two blocks.
      first_record: number of records to leave out, over all epochs.
      source: from the path of a file, a string scalar, to its records, or to what represents them;
        their order does not depend on it.
    """
    first_epoch, done = divmod(first_record, num_records)

    def one_epoch(epoch: tf.Tensor) -> tf.data.Dataset:
        left_out = tf.where(epoch == first_epoch, tf.constant(done, tf.int64), 0)
        return _shuffled_epoch(paths, tf.stack([seed, epoch]), records_to_shuffle, left_out, source)

    return tf.data.Dataset.range(first_epoch, _ENDLESS).flat_map(_as_written(one_epoch))


def _shuffled_epoch(
    paths: list[str],
    seed: tf.Tensor,
    records_to_shuffle: int,
    first_record: tf.Tensor,
    source: Callable[[tf.Tensor], tf.data.Dataset],
) -> tf.data.Dataset:
    """The elements of one epoch.

    Args:
      paths: of the files.
      seed: int64 [2], of this epoch.
      records_to_shuffle: size of a block.
      first_record: int64 scalar, number of shuffled records to leave out. Blocks before it are not
        shuffled.
      source: see `endless`.
    """

    def shuffle(number: tf.Tensor, block: Any) -> Any:
        block_seed = tf.random.experimental.stateless_fold_in(seed, number)
        return tf.nest.map_structure(
            lambda part: tf.random.experimental.stateless_shuffle(part, block_seed), block
        )

    first_block = first_record // records_to_shuffle
    order = tf.random.experimental.stateless_shuffle(tf.constant(paths), seed)
    # Not in parallel: a record costs 1 microsecond in turns, 6 through the parallel interleave.
    in_turns = tf.data.Dataset.from_tensor_slices(order).interleave(
        _as_written(source), cycle_length=min(_MAX_FILES_AT_ONCE, len(paths))
    )
    return (
        in_turns.skip(first_block * records_to_shuffle)
        .batch(records_to_shuffle)
        .enumerate(start=first_block)
        .map(_as_written(shuffle))
        .prefetch(1)
        .unbatch()
        .skip(first_record % records_to_shuffle)
    )


class Parser:
    """Raw records to the features of a batch, as graph ops.

    Args:
      paths: the files that the records come from.
      features: all have axes "B", "B T" or "B P".
      sizes: from axis letter to length. Records of files that are stored without padding are padded
        to it.

    Raises:
      InputError: see `check.record_names`.
    """

    def __init__(
        self, paths: list[str], features: Iterable[Feature], sizes: Mapping[str, int]
    ) -> None:
        names = check.record_names(paths, features, sizes)
        self._names = {feature.name: name for feature, name in names.items()}
        self._shapes = {f.name: [sizes[axis] for axis in f.axes.split()[1:]] for f in names}
        self._may_be_shorter = bool(manifest.unpadded(paths))
        self.features = tuple(names)

    def __call__(
        self, records: tf.Tensor, features: Iterable[Feature] | None = None
    ) -> dict[str, tf.Tensor]:
        """Parses a batch.

        Args:
          records: string [B].
          features: to parse; None: all. Fewer are faster.

        Returns:
          By model name [B], [B T] or [B P] of the feature's dtype.

        Raises:
          tf.errors.InvalidArgumentError: a record has another length than the first of its file.
        """
        features = tuple(features or self.features)
        specification = {self._names[f.name]: self._specification(f) for f in features}
        examples = tf.io.parse_example(records, specification)
        parsed = {}
        for feature in features:
            name = self._names[feature.name]
            values = examples[name]
            if isinstance(values, tf.RaggedTensor):
                shape = [records.shape[0], *self._shapes[feature.name]]
                values = _padded(values, shape, name)
            parsed[feature.name] = tf.cast(values, feature.dtype)
        return parsed

    def _specification(self, feature: Feature) -> Any:
        dtype = tf.float32 if feature.dtype == "float32" else tf.int64
        shape = self._shapes[feature.name]
        if self._may_be_shorter and shape:
            return tf.io.RaggedFeature(dtype)
        return tf.io.FixedLenFeature(shape, dtype)


def untuned() -> tf.data.Options:
    """Options of a dataset whose parallelism and buffers are set and not tuned while it runs.

    TensorFlow's tuner sleeps for up to a minute at a time. An iterator that is deleted waits for
    it, and now and then fails to wake it, so that the process stands still at the end of a run.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return options


def ready(
    batches: tf.data.Dataset, parse: Callable[..., Any], unbatch: bool = False
) -> tf.data.Dataset:
    """Maps batches of raw records, in order, ahead of their use.

    Args:
      batches: of raw records.
      parse: function of an element.
      unbatch: whether to give its results in slices along the first axis.
    """
    options = untuned()
    options.deterministic = True
    # One stream for all workers: its order, not the files, decides who gets what.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    parsed = batches.map(_as_written(parse), num_parallel_calls=BATCHES_AHEAD, deterministic=True)
    parsed = parsed.unbatch() if unbatch else parsed
    return parsed.prefetch(BATCHES_AHEAD).with_options(options)


def _padded(values: tf.RaggedTensor, shape: list[int], name: str) -> tf.Tensor:
    """Ragged [B (T)] with zeros behind: [B T]; a longer row is an error, not cut."""
    longest = tf.reduce_max(values.row_lengths())
    message = f"A record has more than {shape[1]} values of {name}."
    with tf.control_dependencies([tf.debugging.assert_less_equal(longest, shape[1], message)]):
        return tf.ensure_shape(values.to_tensor(shape=[None, shape[1]]), shape)


@contextlib.contextmanager
def naming_damaged_file(paths: list[str]) -> Iterator[None]:
    """Wraps the loop over the batches: an error names the file that a damaged record is in.

    Raises:
      InputError: a checksum in one of `paths` is wrong, or a record has other lengths than the
        first one of its file.
    """
    try:
        yield
    except tf.errors.InvalidArgumentError:
        check.check_lengths(paths)
        raise
    except tf.errors.DataLossError as error:
        for path in paths:
            records = iter(tf.data.TFRecordDataset(path))
            number = 0
            try:
                for number, _ in enumerate(records, 1):  # noqa: B007  read after the loop
                    pass
            except tf.errors.DataLossError:
                raise InputError(
                    f"{path} is damaged: the checksum of record {number} is wrong. Make or copy "
                    "it again."
                ) from error
        raise
