"""What pre-training records hold, counted from the records themselves."""

import dataclasses

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.progress import Progress
from bert_tf.records import check, manifest
from bert_tf.records.build.summary import ExampleCounts
from bert_tf.records.read import stream

# What a record may have besides those of the encoder.
_OPTIONAL = (*features.MASKED_LM, features.NEXT_SENTENCE_LABELS, features.SEQUENCE_IDS)

# Counts that records tell; of `summary.ExampleCounts` only `num_capped` is none.
COUNTED = tuple(
    field.name for field in dataclasses.fields(ExampleCounts) if field.name != "num_capped"
)

_BATCH_SIZE = 1024


@dataclasses.dataclass
class Statistics:
    """Counts of some record files.

    Attributes:
      num_records: dict from path to int.
      counts: dict with `COUNTED`.
      lengths: int64 [T+1], records by their number of tokens.
      predictions: int64 [P+1], records by their number of tokens to predict.
      predicted: int64 [T], tokens to predict by their position.
      num_sequences: int, sequences packed into the rows; 0 if the records do not say.
    """

    num_records: dict
    counts: dict
    lengths: np.ndarray
    predictions: np.ndarray
    predicted: np.ndarray
    num_sequences: int

    @property
    def present(self):
        """int64 [T], records that have a token at a position."""
        return self.lengths[::-1].cumsum()[::-1][1:]

    @property
    def shares(self):
        """What the counts mean, see `manifest.shares`."""
        return manifest.shares(self.counts)


def count(paths, vocabulary, max_seq_length=None):
    """Reads files whole and counts.

    Args:
      paths: list of str.
      vocabulary: `text.vocab.Vocabulary`.
      max_seq_length: int, T; None: the longest list of token ids.

    Returns:
      `Statistics`.

    Raises:
      InputError: a file is damaged or holds something else; see `check.record_names`.
    """
    names = stored_names(paths)
    num_records = {path: check.num_records(path) for path in paths}
    progress = Progress("count", sum(num_records.values()), "records")
    counter = _Counter(vocabulary)
    for path in paths:
        with stream.naming_damaged_file([path]):
            for batch in _batches(path, names):
                counter.add(path, batch)
                progress.advance(len(batch[features.WORD_IDS]))
    progress.close()
    return counter.statistics(num_records, max_seq_length)


def stored_names(paths):
    """The names under which some files have what every record needs, and masks if they have any.

    Args:
      paths: list of str.

    Returns:
      dict from `features.Feature` to str.

    Raises:
      InputError: see `check.record_names`.
    """
    masks = features.MASKED_LM if check.present(paths, features.MASKED_LM) else ()
    return check.record_names(paths, (*features.ENCODER_INPUTS, *masks), None)


def _batches(path, names):
    """Yields dicts from feature to array [B L], zeros behind; L differs by batch.

    The label is [B], -1 where a record has none; what else records lack is [B 0].
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
        found = {feature: batch[name].to_tensor().numpy() for feature, name in names.items()}
        yield found | {features.NEXT_SENTENCE_LABELS: labels.numpy()[:, 0]}


class _Counter:
    """Adds batches up."""

    def __init__(self, vocabulary):
        self._vocabulary = vocabulary
        self._counts = ExampleCounts()
        self._lengths = self._predictions = self._predicted = np.zeros(1, np.int64)
        self._longest = self._most = self._num_sequences = 0

    def add(self, path, batch):
        """Counts one batch of `_batches`."""
        _check_widths(path, batch)
        word_ids, labels = batch[features.WORD_IDS], batch[features.MASKED_LM_IDS]
        positions = batch[features.MASKED_LM_POSITIONS]
        is_token = batch[features.MASK] > 0
        is_prediction = batch[features.MASKED_LM_WEIGHTS] > 0
        lengths = is_token.sum(axis=1)
        _check_positions(path, positions, is_prediction, lengths)
        found = np.take_along_axis(word_ids, np.where(is_prediction, positions, 0), axis=1)
        vocabulary, pair_labels = self._vocabulary, batch[features.NEXT_SENTENCE_LABELS]
        is_special = (word_ids == vocabulary.cls_id) | (word_ids == vocabulary.sep_id)
        self._counts += ExampleCounts(
            num_examples=len(word_ids),
            num_pairs=int((pair_labels >= 0).sum()),
            num_label_1=int((pair_labels == 1).sum()),
            num_tokens=int(lengths.sum()),
            num_special=int((is_special & is_token).sum()),
            num_predictions=int(is_prediction.sum()),
            num_masked=int(((found == vocabulary.mask_id) & is_prediction).sum()),
            num_kept=int(((found == labels) & is_prediction).sum()),
        )
        self._lengths = _add(self._lengths, np.bincount(lengths))
        self._predictions = _add(self._predictions, np.bincount(is_prediction.sum(axis=1)))
        self._predicted = _add(self._predicted, np.bincount(positions[is_prediction]))
        self._longest = max(self._longest, word_ids.shape[1])
        self._most = max(self._most, positions.shape[1])
        self._num_sequences += int(batch[features.SEQUENCE_IDS].max(axis=1, initial=0).sum())

    def statistics(self, num_records, max_seq_length):
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


def _check_widths(path, batch):
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


def _check_positions(path, positions, is_prediction, lengths):
    outside = is_prediction & ((positions < 0) | (positions >= lengths[:, None]))
    if outside.any():
        row, slot = np.argwhere(outside)[0]
        raise InputError(
            f"{path} has a record of {lengths[row]} tokens that asks for the token at position "
            f"{positions[row, slot]}. The file is damaged or made by something else; make it again."
        )


def _add(one, other):
    """The sum of two counts by number, the shorter one filled up with zeros."""
    total = np.zeros(max(len(one), len(other)), np.int64)
    total[: len(one)] += one
    total[: len(other)] += other
    return total
