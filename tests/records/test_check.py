"""What is wrong with a TFRecord file is said before work starts."""

import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.records import check
from bert_tf.text.vocab import Vocabulary
from tests.reference import records as reference

SIZES = {"T": 7, "P": 3}
ROWS = (features.WORD_IDS, features.MASKED_LM_WEIGHTS, features.NEXT_SENTENCE_LABELS)


def values(word_ids=range(7), weights=(1.0, 0.0, 0.0), labels=(1,)):
    return dict(zip(ROWS, (word_ids, weights, labels), strict=True))


def write_file(tmp_path, records, name="a.tfrecord"):
    return reference.write_file(tmp_path / name, records)


def test_counts_records(tmp_path):
    assert check.num_records(write_file(tmp_path, [b"", b"x" * 1000, b"y"])) == 3


def test_present_are_those_that_every_file_has(tmp_path):
    three, two = values(), dict(list(values().items())[:2])
    same = [write_file(tmp_path, [two], name) for name in "ab"]
    assert check.present(same, ROWS) == ROWS[:2]
    assert check.present(same, ROWS[2:]) == ()
    other = write_file(tmp_path, [three], "c")
    for paths in ([*same, other], [other, *same]):
        with pytest.raises(InputError, match="[ab] has no next_sentence_labels; .*c has"):
            check.present(paths, ROWS)


def test_model_garden_s_names_are_present(tmp_path):
    example = tf.train.Example()
    example.features.feature["input_word_ids"].int64_list.value.extend(range(7))
    path = write_file(tmp_path, [example.SerializeToString()])
    assert check.present([path], ROWS) == (features.WORD_IDS,)


def test_a_list_may_be_empty_where_nothing_is_padded(tmp_path):
    """The first record of a file has no token to predict."""
    path = write_file(tmp_path, [values(weights=())])
    with pytest.raises(InputError, match="masked_lm_weights"):
        check.record_names([path], ROWS, SIZES)
    vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    reference.enter([path], vocabulary, max_seq_length=7, pad_to_max_seq_length=False)
    assert check.record_names([path], ROWS, SIZES)[features.MASKED_LM_WEIGHTS]


def test_accepts_what_is_right(tmp_path):
    paths = [write_file(tmp_path, [values()] * 2, name) for name in "ab"]
    names = check.record_names(paths, ROWS, SIZES)
    assert [names[row] for row in ROWS] == [
        "input_ids",
        "masked_lm_weights",
        "next_sentence_labels",
    ]


def garden(path):
    """The records of a file under Model Garden's names."""
    records = []
    for record in tf.data.TFRecordDataset(path):
        example = tf.train.Example.FromString(record.numpy())
        feature = example.features.feature
        feature["input_word_ids"].CopyFrom(feature["input_ids"])
        del feature["input_ids"]
        records.append(example.SerializeToString())
    return records


def test_accepts_the_names_of_model_garden(tmp_path):
    path = write_file(tmp_path, garden(write_file(tmp_path, [values()])), "garden")
    assert check.record_names([path], ROWS, SIZES)[features.WORD_IDS] == "input_word_ids"


def test_refuses_a_mixture_of_names(tmp_path):
    released = write_file(tmp_path, [values()])
    path = write_file(tmp_path, garden(released), "garden")
    with pytest.raises(InputError, match="same names") as error:
        check.record_names([released, path], ROWS, SIZES)
    assert path in str(error.value)
    assert "input_word_ids" in str(error.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (values(word_ids=range(11)), r"input_ids has 11 value\(s\); 7 .*Give --max_seq_length=11"),
        (
            values(weights=[1.0] * 5),
            r"masked_lm_weights has 5 value\(s\); 3 .*Give --max_predictions_per_seq=5",
        ),
        (values(labels=(1, 0)), r"next_sentence_labels has 2 value\(s\); 1 were wanted"),
        ({features.WORD_IDS: range(7)}, "no feature masked_lm_weights; it has input_ids"),
        ({}, "it has none"),
        (b"\xff\xff no example", "record 0 is not a tf.train.Example"),
    ],
)
def test_refuses_what_is_wrong_in_any_file(tmp_path, wrong, message):
    right = write_file(tmp_path, [values()], "right")
    path = write_file(tmp_path, [wrong], "wrong")
    with pytest.raises(InputError, match=message) as error:
        check.record_names([right, path], ROWS, SIZES)
    assert path in str(error.value)


def test_refuses_another_type(tmp_path):
    example = tf.train.Example.FromString(reference.record(values()))
    example.features.feature["masked_lm_weights"].int64_list.value.extend([1, 0, 0])
    path = write_file(tmp_path, [example.SerializeToString()])
    with pytest.raises(InputError, match="masked_lm_weights is a int64_list; a float_list"):
        check.record_names([path], ROWS, SIZES)


@pytest.mark.parametrize("num_bytes_lost", [1, 5, 30])
def test_refuses_a_file_that_was_cut_off(tmp_path, num_bytes_lost):
    path = write_file(tmp_path, [values()] * 3)
    with open(path, "rb+") as file:
        file.truncate(file.seek(0, 2) - num_bytes_lost)
    with pytest.raises(InputError, match="not a complete TFRecord file") as error:
        check.num_records(path)
    assert path in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"some text that is no record file\n" * 3, "not a complete TFRecord file"),
        (b"\x1f\x8b\x08 and so on, for many bytes", "compressed with gzip"),
    ],
)
def test_refuses_what_is_no_record_file(tmp_path, data, message):
    path = tmp_path / "file"
    path.write_bytes(data)
    for function in (check.num_records, lambda path: check.record_names([path], ROWS, SIZES)):
        with pytest.raises(InputError, match=message):
            function(str(path))


def test_refuses_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        check.num_records(str(tmp_path / "none"))


@pytest.mark.parametrize("word_ids", [[0, 30, 31], [-1, 5]])
def test_ids_beyond_the_vocabulary(tmp_path, word_ids):
    path = write_file(tmp_path, [values()] * 4 + [values(word_ids=word_ids)])
    with pytest.raises(InputError, match="input_ids of record 4 .* vocab_size is 31") as error:
        check.check_ids([path], vocab_size=31)
    assert path in str(error.value)
    check.check_ids([path], vocab_size=31, limit=4)  # a look at the first ones only


def test_the_last_id_of_the_vocabulary_is_inside(tmp_path):
    check.check_ids([write_file(tmp_path, [values(word_ids=[0, 30])])], vocab_size=31)


def test_lists_of_a_file_without_padding_may_be_shorter_but_not_longer(tmp_path):
    short = values(word_ids=range(5), weights=[1.0])
    path = write_file(tmp_path, [short])
    vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    changes = {"max_predictions_per_seq": 3, "pad_to_max_seq_length": False}
    reference.enter([path], vocabulary, max_seq_length=7, **changes)
    assert check.record_names([path], ROWS, SIZES)[features.WORD_IDS] == "input_ids"
    write_file(tmp_path, [values(word_ids=range(11))])
    reference.enter([path], vocabulary, max_seq_length=7, **changes)
    with pytest.raises(InputError, match="has 11 value.*Give --max_seq_length=11"):
        check.record_names([path], ROWS, SIZES)


def test_counts_the_values_of_a_feature(tmp_path):
    path = write_file(tmp_path, [values()])
    assert check.num_values(path, features.MASKED_LM_WEIGHTS) == 3
    with pytest.raises(InputError, match="no feature masked_lm_positions"):
        check.num_values(path, features.MASKED_LM_POSITIONS)
