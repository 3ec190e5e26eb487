"""Statistics of records against what is known of each of them."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.records.inspect import statistics
from bert_tf.text.vocab import Vocabulary
from tests.reference import records

VOCABULARY = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"])
SIZES = {"T": 11, "P": 3}
# 2 [CLS], 3 [SEP], 4 [MASK]. To predict: one masked, one random, one kept; then one masked.
FIRST = {"word_ids": [2, 5, 4, 3, 8, 9, 3], "positions": [2, 4, 5], "labels": [6, 7, 9]}
SECOND = {"word_ids": [2, 4, 3, 6, 3], "positions": [1], "labels": [7]}
WANTED = {
    "num_examples": 2,
    "num_pairs": 2,
    "num_label_1": 1,
    "num_tokens": 12,
    "num_special": 6,
    "num_positions": 22,
    "num_predictions": 4,
    "num_masked": 2,
    "num_kept": 1,
}


def values(sizes=SIZES):
    return [
        records.pretraining_values(**FIRST, pair_label=1, sizes=sizes),
        records.pretraining_values(**SECOND, pair_label=0, sizes=sizes),
    ]


def count(path, **arguments):
    return statistics.count([path], VOCABULARY, **arguments)


def garden(found):
    """Records under Model Garden's names."""
    renamed = []
    for each in found:
        example = tf.train.Example.FromString(records.record(each))
        feature = example.features.feature
        for row in (features.WORD_IDS, features.TYPE_IDS):
            feature[row.name].CopyFrom(feature[row.record_name])
            del feature[row.record_name]
        renamed.append(example.SerializeToString())
    return renamed


@pytest.mark.parametrize("form", ["padded", "not padded", "Model Garden's"])
def test_counts(tmp_path, form):
    found = values(None if form == "not padded" else SIZES)
    found = garden(found) if form == "Model Garden's" else found
    path = records.write_file(tmp_path / "a", found)
    result = count(path, max_seq_length=11)
    assert result.counts == WANTED
    assert result.num_records == {path: 2}
    assert result.lengths.tolist() == [0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]
    assert result.predictions.tolist() == [0, 1, 0, 1]
    assert result.predicted.tolist() == [0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0]
    assert result.present.tolist() == [2, 2, 2, 2, 2, 1, 1, 0, 0, 0, 0]
    assert result.num_sequences == 0
    assert result.shares["masked"] == 0.5


def test_without_a_manifest_the_longest_list_is_the_length(tmp_path):
    result = count(records.write_file(tmp_path / "a", values(None)))
    assert result.counts["num_positions"] == 14
    assert len(result.lengths) == 8


def test_many_files_and_batches(tmp_path):
    paths = [records.write_file(tmp_path / name, values() * 601) for name in "ab"]
    result = statistics.count(paths, VOCABULARY)
    assert result.counts == {name: 1202 * number for name, number in WANTED.items()}
    assert result.predicted.sum() == 4 * 1202


def test_packed_rows_without_pairs(tmp_path):
    packed = records.pretraining_values([2, 5, 3, 2, 6, 3], [1], [5])
    packed[features.SEQUENCE_IDS] = [1, 1, 1, 2, 2, 2]
    result = count(records.write_file(tmp_path / "a", [packed, packed]))
    assert result.num_sequences == 4
    assert (result.counts["num_pairs"], result.shares["label_1"]) == (0, None)


def test_a_row_with_nothing_to_predict(tmp_path):
    nothing = records.pretraining_values([2, 5, 3], [], [], pair_label=0)
    result = count(records.write_file(tmp_path / "a", [nothing]))
    assert result.predictions.tolist() == [1]
    assert np.all(result.predicted == 0)


def unmasked(values):
    return {name: numbers for name, numbers in values.items() if name not in features.MASKED_LM}


def test_records_without_masks(tmp_path):
    result = count(records.write_file(tmp_path / "a", map(unmasked, values())))
    none = {"num_predictions": 0, "num_masked": 0, "num_kept": 0}
    assert result.counts == WANTED | none
    assert result.predictions.tolist() == [2]
    assert not result.predicted.any()
    assert result.shares["masked"] is None


def test_refuses_masks_in_some_files_or_some_of_their_features(tmp_path):
    paths = [records.write_file(tmp_path / "a", values())]
    paths.append(records.write_file(tmp_path / "b", map(unmasked, values())))
    with pytest.raises(InputError, match="b has no masked_lm_ids, .* --mask"):
        statistics.count(paths, VOCABULARY)
    partly = unmasked(values()[0]) | {features.MASKED_LM_IDS: [5, 6, 7]}
    with pytest.raises(InputError, match="no feature masked_lm_positions"):
        count(records.write_file(tmp_path / "c", [partly]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({features.MASKED_LM_POSITIONS: [2, 4, 7]}, "7 tokens that asks .* position 7"),
        ({features.MASKED_LM_POSITIONS: [-1, 4, 5]}, "position -1"),
        ({features.MASK: [1] * 5}, "lists of different lengths"),
    ],
)
def test_refuses_what_cannot_be(tmp_path, wrong, message):
    path = records.write_file(tmp_path / "a", [values()[0] | wrong])
    with pytest.raises(InputError, match=message) as error:
        count(path)
    assert path in str(error.value)


def test_damaged_files_are_named(tmp_path):
    path = tmp_path / "a"
    records.write_file(path, values())
    data = bytearray(path.read_bytes())
    path.write_bytes(data[:-1])
    with pytest.raises(InputError, match="not a complete TFRecord file"):
        count(str(path))
    data[-40] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="a is damaged: the checksum of record 1"):
        count(str(path))
    records.write_file(path, [{features.WORD_IDS: [1], features.LABEL_IDS: [1]}])
    with pytest.raises(InputError, match="a file for another task"):
        count(str(path))
