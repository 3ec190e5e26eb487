"""Statistics of pre-training records, counted from the records themselves."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.features import Feature
from bert_tf.progress import Progress
from bert_tf.records import check, manifest
from bert_tf.records.build.summary import ExampleCounts
from bert_tf.records.read import stream
from bert_tf.text.vocab import Vocabulary

# Features that a record may have in addition to those of the encoder.
_OPTIONAL = (*features.MASKED_LM, features.NEXT_SENTENCE_LABELS, features.SEQUENCE_IDS)

# Counts of `summary.ExampleCounts` that records tell: all but `num_capped`.
COUNTED = tuple(
    field.name for field in dataclasses.fields(ExampleCounts) if field.name != "num_capped"
)

_BATCH_SIZE = 1024
_Counts = npt.NDArray[np.int64]


@dataclasses.dataclass
class Statistics:
    """Counts of some record files.

    Attributes:
      num_records: by path.
      counts: of `COUNTED`.
      lengths: [T+1], records by their number of tokens.
      predictions: [P+1], records by their number of tokens to predict.
      predicted: [T], tokens to predict by their position.
      num_sequences: packed into the rows; 0 if the records do not say.
    """

    num_records: dict[str, int]
    counts: dict[str, int]
    lengths: _Counts
    predictions: _Counts
    predicted: _Counts
    num_sequences: int

    @property
    def present(self) -> _Counts:
        """[T], records that have a token at a position."""
        return self.lengths[::-1].cumsum()[::-1][1:]

    @property
    def shares(self) -> dict[str, float | None]:
        """See `manifest.shares`."""
        return manifest.shares(self.counts)


def count(
    paths: list[str], vocabulary: Vocabulary, max_seq_length: int | None = None
) -> Statistics:
    """Reads all records of the files and counts.

    Args:
      paths: of the files.
      vocabulary: of the records.
      max_seq_length: T; None: the longest list of token ids.

    Raises:
      InputError: a file is damaged or holds something else; see `check.record_names`.
    """
    names = stored_names(paths)
    num_records = {path: check.num_records(path) for path in paths}
    with Progress("count", sum(num_records.values()), "records") as progress:
        counter = _Counter(vocabulary)
        for path in paths:
            with stream.naming_damaged_file([path]):
                for batch in _batches(path, names):
                    counter.add(path, batch)
                    progress.advance(len(batch[features.WORD_IDS]))
    return counter.statistics(num_records, max_seq_length)


def stored_names(paths: list[str]) -> dict[Feature, str]:
    """The names under which files have the features of every record, and masks if they have any.

    Raises:
      InputError: see `check.record_names`.
    """
    masks = features.MASKED_LM if check.present(paths, features.MASKED_LM) else ()
    return check.record_names(paths, (*features.ENCODER_INPUTS, *masks), None)


def _batches(path: str, names: dict[Feature, str]) -> Iterator[dict[Feature, npt.NDArray]]:
    """Yields [B L] by feature, zeros behind; L differs by batch.

    The label is [B], -1 where a record has none; other features that records lack are [B 0].
    """
    names = {feature: feature.record_name for feature in _OPTIONAL} | names
    specification = {
        name: tf.io.RaggedFeature(tf.float32 if feature.dtype == "float32" else tf.int64)
        for feature, name in names.items()
    }
    batches = tf.data.TFRecordDataset(path).batch(_BATCH_SIZE)
    for batch in batches.map(lambda records: tf.io.parse_example(records, specification)):
        labels = batch[features.NEXT_SENTENCE_LABELS.record_name]
        labels = labels.to_tensor(default_value=-1, shape=[None, 1])
        values = {feature: batch[name].to_tensor().numpy() for feature, name in names.items()}
        yield values | {features.NEXT_SENTENCE_LABELS: labels.numpy()[:, 0]}


class _Counter:
    """Adds batches up."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._counts = ExampleCounts()
        self._lengths = self._predictions = self._predicted = np.zeros(1, np.int64)
        self._longest = self._most = self._num_sequences = 0

    def add(self, path: str, batch: dict[Feature, npt.NDArray]) -> None:
        """Counts one batch of `_batches`."""
        _check_widths(path, batch)
        word_ids, labels = batch[features.WORD_IDS], batch[features.MASKED_LM_IDS]
        positions = batch[features.MASKED_LM_POSITIONS]
        is_token = batch[features.MASK] > 0
        is_prediction = batch[features.MASKED_LM_WEIGHTS] > 0
        lengths = is_token.sum(axis=1)
        _check_positions(path, positions, is_prediction, lengths)
        put_in = np.take_along_axis(word_ids, np.where(is_prediction, positions, 0), axis=1)
        vocabulary, pair_labels = self._vocabulary, batch[features.NEXT_SENTENCE_LABELS]
        is_special = (word_ids == vocabulary.cls_id) | (word_ids == vocabulary.sep_id)
        self._counts += ExampleCounts(
            num_examples=len(word_ids),
            num_pairs=int((pair_labels >= 0).sum()),
            num_label_1=int((pair_labels == 1).sum()),
            num_tokens=int(lengths.sum()),
            num_special=int((is_special & is_token).sum()),
            num_predictions=int(is_prediction.sum()),
            num_masked=int(((put_in == vocabulary.mask_id) & is_prediction).sum()),
            num_kept=int(((put_in == labels) & is_prediction).sum()),
        )
        self._lengths = _add(self._lengths, np.bincount(lengths))
        self._predictions = _add(self._predictions, np.bincount(is_prediction.sum(axis=1)))
        self._predicted = _add(self._predicted, np.bincount(positions[is_prediction]))
        self._longest = max(self._longest, word_ids.shape[1])
        self._most = max(self._most, positions.shape[1])
        self._num_sequences += int(batch[features.SEQUENCE_IDS].max(axis=1, initial=0).sum())

    def statistics(self, num_records: dict[str, int], max_seq_length: int | None) -> Statistics:
        """The `Statistics` of everything added."""
        length = max(max_seq_length or 0, self._longest)
        counts = dataclasses.asdict(self._counts)
        counts["num_positions"] = self._counts.num_examples * length
        return Statistics(
            num_records=num_records,
            counts={name: counts[name] for name in COUNTED},
            lengths=_add(self._lengths, np.zeros(length + 1, np.int64)),
            predictions=_add(self._predictions, np.zeros(self._most + 1, np.int64)),
            predicted=_add(self._predicted, np.zeros(length, np.int64)),
            num_sequences=self._num_sequences,
        )


def _check_widths(path: str, batch: dict[Feature, npt.NDArray]) -> None:
    for axes in ("B T", "B P"):
        widths = {
            feature.record_name: values.shape[1]
            for feature, values in batch.items()
            if feature.axes == axes and feature != features.SEQUENCE_IDS
        }
        if len(set(widths.values())) > 1:
            raise InputError(
                f"{path} has lists of different lengths where they must be equal: {widths}. "
                "The file was made by something else; make it again."
            )


def _check_positions(
    path: str,
    positions: npt.NDArray,
    is_prediction: npt.NDArray[np.bool_],
    lengths: npt.NDArray,
) -> None:
    outside = is_prediction & ((positions < 0) | (positions >= lengths[:, None]))
    if outside.any():
        row, slot = np.argwhere(outside)[0]
        raise InputError(
            f"{path} has a record of {lengths[row]} tokens that asks for the token at position "
            f"{positions[row, slot]}. The file is damaged or made by something else; make it again."
        )


def _add(one: _Counts, other: _Counts) -> _Counts:
    """The sum of two counts by number, the shorter one filled up with zeros."""
    total = np.zeros(max(len(one), len(other)), np.int64)
    total[: len(one)] += one
    total[: len(other)] += other
    return total
