"""Batches: every record once an epoch, an order that is a function of the seed, exact resume."""

import itertools
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.records.read import stream
from bert_tf.records.read.global_batches import Reader
from bert_tf.text.vocab import Vocabulary
from tests.reference import records

SIZES = {"T": 7, "P": 3}
FILE_SIZES = (11, 5, 7)
NUM_RECORDS = sum(FILE_SIZES)


def three_files(directory, sizes):
    """Record i has i as its fourth word id; with `sizes` None there is no padding."""
    numbers = itertools.count()
    return [
        records.write_file(
            directory / f"{file_number}.tfrecord",
            [
                records.pretraining_values(
                    [2, 9, 3, number, 3],
                    [1],
                    [8],
                    type_ids=[0, 0, 0, 1, 1],
                    pair_label=number % 2,
                    sizes=sizes,
                )
                for number in itertools.islice(numbers, size)
            ],
        )
        for file_number, size in enumerate(FILE_SIZES)
    ]


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return three_files(tmp_path_factory.mktemp("records"), SIZES)


@pytest.fixture
def unpadded(tmp_path):
    """The same without padding, as their manifest says."""
    found = three_files(tmp_path, None)
    vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    changes = {"max_seq_length": 7, "max_predictions_per_seq": 3, "pad_to_max_seq_length": False}
    records.enter(found, vocabulary, **changes)
    return found


def reader(paths, seed=3, batch_size=4, sizes=SIZES, **arguments):
    return Reader(
        paths,
        features.PRETRAINING,
        sizes,
        batch_size=batch_size,
        seed=seed,
        records_to_shuffle=arguments.pop("records_to_shuffle", 6),
        **arguments,
    )


def dataset(paths, start_batch=0, **arguments):
    return reader(paths, **arguments).batches(start_batch)


def numbers(batches, count):
    """The numbers of the records in the first `count` batches."""
    batches = batches.take(count).as_numpy_iterator()
    return [batch["input_word_ids"][:, 3].tolist() for batch in batches]


def test_types_shapes_and_values(paths):
    batches = dataset(paths)
    static = {name: (spec.dtype.name, spec.shape) for name, spec in batches.element_spec.items()}
    assert static == {
        "input_word_ids": ("int32", (4, 7)),
        "input_mask": ("int32", (4, 7)),
        "input_type_ids": ("int32", (4, 7)),
        "masked_lm_positions": ("int32", (4, 3)),
        "masked_lm_ids": ("int32", (4, 3)),
        "masked_lm_weights": ("float32", (4, 3)),
        "next_sentence_labels": ("int32", (4,)),
    }
    batch = next(batches.as_numpy_iterator())
    number = batch["input_word_ids"][:, 3]
    np.testing.assert_array_equal(batch["input_mask"], [[1, 1, 1, 1, 1, 0, 0]] * 4)
    np.testing.assert_array_equal(batch["input_type_ids"], [[0, 0, 0, 1, 1, 0, 0]] * 4)
    np.testing.assert_array_equal(batch["masked_lm_positions"], [[1, 0, 0]] * 4)
    np.testing.assert_array_equal(batch["masked_lm_ids"], [[8, 0, 0]] * 4)
    np.testing.assert_array_equal(batch["masked_lm_weights"], [[1, 0, 0]] * 4)
    np.testing.assert_array_equal(batch["next_sentence_labels"], number % 2)


@pytest.mark.parametrize("records_to_shuffle", [1, 6, 1000])
def test_every_record_once_an_epoch_and_batches_straddle_epochs(paths, records_to_shuffle):
    flat = sum(numbers(dataset(paths, records_to_shuffle=records_to_shuffle), 23), [])  # 4 epochs
    epochs = [flat[start : start + NUM_RECORDS] for start in range(0, 92, NUM_RECORDS)]
    assert all(sorted(epoch) == list(range(NUM_RECORDS)) for epoch in epochs)
    if records_to_shuffle > 1:  # else the order of three files is all there is
        assert len({tuple(epoch) for epoch in epochs}) == 4


def test_order_is_a_function_of_the_seed(paths):
    tf.random.set_seed(1)
    first = numbers(dataset(paths), 15)
    tf.random.set_seed(2)
    assert numbers(dataset(paths), 15) == first
    assert numbers(dataset(paths, seed=4), 15) != first


def test_files_and_blocks_are_mixed(paths):
    """The first block draws from every file, and not in order."""
    (first,) = numbers(dataset(paths, batch_size=6), 1)
    assert {number < 11 for number in first} == {True, False}
    assert first != sorted(first)


@pytest.mark.parametrize("records_to_shuffle", [1, 6, 1000])
@pytest.mark.parametrize("start_batch", [0, 1, 4, 5, 6, 11, 23, 24])
def test_resume_gives_the_tail(paths, start_batch, records_to_shuffle):
    whole = numbers(dataset(paths, records_to_shuffle=records_to_shuffle), 30)
    tail = dataset(paths, start_batch=start_batch, records_to_shuffle=records_to_shuffle)
    assert numbers(tail, 30 - start_batch) == whole[start_batch:]


def test_a_batch_may_be_larger_than_an_epoch(paths):
    (batch,) = numbers(dataset(paths, batch_size=2 * NUM_RECORDS + 1), 1)
    assert sorted(batch[:NUM_RECORDS]) == sorted(batch[NUM_RECORDS:-1]) == list(range(NUM_RECORDS))


def test_no_tuner_runs_that_a_deleted_iterator_would_wait_for(paths):
    for dataset in (reader(paths).batches(), reader(paths).micro_batches(), reader(paths).once()):
        assert dataset.options().autotune.enabled is False


def test_once_gives_every_record_in_order(paths):
    batches = reader(paths, batch_size=5).once()
    assert batches.element_spec["input_word_ids"].shape.as_list() == [None, 7]
    found = numbers(batches, 100)
    assert [len(batch) for batch in found] == [5, 5, 5, 5, 3]
    assert sum(found, []) == list(range(NUM_RECORDS))


def test_checks_every_file_before_work_starts(paths, tmp_path):
    cut_off = tmp_path / "cut_off"
    with open(paths[0], "rb") as file:
        cut_off.write_bytes(file.read()[:-1])
    with pytest.raises(InputError, match="cut_off"):
        reader([*paths, str(cut_off)])
    with pytest.raises(InputError, match="--max_seq_length=7"):
        reader(paths, sizes={"T": 13, "P": 3})


def test_a_damaged_record_is_found(paths, tmp_path):
    damaged = tmp_path / "damaged"
    with open(paths[0], "rb") as file:
        data = bytearray(file.read())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    files = [paths[1], str(damaged)]
    batches = reader(files, batch_size=2).once()
    with pytest.raises(InputError, match="damaged is damaged: the checksum of record 5"):
        with stream.naming_damaged_file(files):
            for _ in batches:
                pass


def test_a_record_of_another_length_is_named(paths, tmp_path):
    odd = str(tmp_path / "odd")
    found = list(tf.data.TFRecordDataset(paths[0]).as_numpy_iterator())
    example = tf.train.Example.FromString(found[3])
    example.features.feature["input_ids"].int64_list.value.append(0)
    records.write_file(odd, [*found[:3], example.SerializeToString()])
    files = [paths[1], odd]
    batches = reader(files, batch_size=2).once()
    with pytest.raises(InputError, match="odd: record 3 has 8 value.*of input_ids, record 0 has 7"):
        with stream.naming_damaged_file(files):
            for _ in batches:
                pass


def test_other_errors_pass_by(paths):
    with pytest.raises(tf.errors.InvalidArgumentError), stream.naming_damaged_file(paths):
        raise tf.errors.InvalidArgumentError(None, None, "of something else")
    with pytest.raises(KeyError), stream.naming_damaged_file(paths):
        raise KeyError


def test_records_without_padding_are_padded(paths, unpadded):
    theirs = dataset(paths)
    ours = dataset(unpadded)
    assert ours.element_spec == theirs.element_spec
    for one, other in zip(ours.take(7), theirs.take(7), strict=True):
        for name in other:
            np.testing.assert_array_equal(one[name], other[name])


def test_padded_and_unpadded_files_together(paths, unpadded):
    files = [paths[0], unpadded[1]]
    batches = reader(files).once()
    assert sum(numbers(batches, 100), []) == list(range(16))


def test_shorter_records_without_a_manifest_are_refused(unpadded):
    os.remove(os.path.join(os.path.dirname(unpadded[0]), "manifest.json"))
    with pytest.raises(InputError, match="has 5 value.*--max_seq_length=5"):
        dataset(unpadded)


def test_a_row_beyond_the_length_is_not_cut(unpadded):
    """Only the first record of a file is looked at before work starts."""
    values = records.pretraining_values([2] * 8, [1], [8], pair_label=0)
    data = tf.data.TFRecordDataset(unpadded[0]).take(1).as_numpy_iterator()
    path = records.write_file(unpadded[0], [*data, values])
    vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    changes = {"max_seq_length": 7, "max_predictions_per_seq": 3, "pad_to_max_seq_length": False}
    records.enter([path], vocabulary, **changes)
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than 7 values of input_ids"):
        list(reader([path], batch_size=2).once())
