"""The encoder gives the bytes that protobuf gives, for every kind of example."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.examples import choices
from bert_tf.examples.pretraining import row_dtype
from bert_tf.records.build.encode import Encoder
from tests.reference import records

CLS = 101
EXAMPLE_TYPES = ("nsp", "sop", "full_sentences", "doc_sentences", "packed")


def random_rows(num_rows, max_seq_length, max_predictions, vocab_size, example_type, seed=0):
    """Rows of every length, with ids of every number of bytes that the vocabulary has."""
    rng = np.random.default_rng(seed)
    rows = np.zeros(num_rows, row_dtype(max_seq_length, max_predictions, vocab_size))
    has_pairs = example_type in ("nsp", "sop")
    for number, row in enumerate(rows):
        length = max_seq_length - number % max_seq_length
        ids = np.exp(rng.random(length) * np.log(vocab_size)).astype(np.int64)
        ids[ids == CLS] += 1
        ids[0] = CLS
        if example_type == "packed":
            ids[rng.random(length) < 0.3] = CLS
        row["word_ids"][:length] = ids
        row["num_tokens"] = length
        row["num_type_a"] = rng.integers(length + 1) if has_pairs else length
        # None at all is there as well: an empty list.
        count = min(length, number % (max_predictions + 1))
        row["positions"][:count] = np.sort(rng.choice(length, count, replace=False))
        row["labels"][:count] = np.exp(rng.random(count) * np.log(vocab_size))
        row["num_predictions"] = count
        row["pair_label"] = number % 2 if has_pairs else -1
    return rows


def reference(row, example_type, pad):
    """The record of one row, by protobuf."""
    length, count = int(row["num_tokens"]), int(row["num_predictions"])
    word_ids = row["word_ids"][:length].tolist()
    sizes = {"T": len(row["word_ids"]), "P": len(row["positions"])} if pad else None
    values = records.pretraining_values(
        word_ids,
        row["positions"][:count].tolist(),
        row["labels"][:count].tolist(),
        type_ids=[int(place >= row["num_type_a"]) for place in range(length)],
        pair_label=int(row["pair_label"]) if example_type in ("nsp", "sop") else None,
        sizes=sizes,
    )
    if not len(row["positions"]):
        values = {name: numbers for name, numbers in values.items() if name.axes != "B P"}
    if example_type == "packed":
        padding = (sizes["T"] if pad else length) - length
        values[features.SEQUENCE_IDS] = [
            word_ids[: place + 1].count(CLS) for place in range(length)
        ] + [0] * padding
    return records.record(values)


def encoded(rows, example_type, pad):
    """The records of some rows as a list of bytes."""
    num_tokens, num_slots = len(rows[0]["word_ids"]), len(rows[0]["positions"])
    encoder = Encoder(num_tokens, num_slots, choices.EXAMPLE_TYPES[example_type], pad)
    buffer, ends = encoder.encode(rows)
    assert (buffer.dtype, ends.dtype) == (np.uint8, np.int64)
    assert ends[-1] == len(buffer)
    starts = [0, *ends[:-1]]
    return [buffer[start:end].tobytes() for start, end in zip(starts, ends, strict=True)]


@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize("example_type", EXAMPLE_TYPES)
@pytest.mark.parametrize(
    ("max_seq_length", "max_predictions", "vocab_size"),
    [
        (7, 3, 113),  # one byte an id, every length below 128
        (127, 19, 9973),
        (128, 20, 30522),
        (127, 0, 30522),  # without masks
        (131, 37, 65536),  # positions beyond 127
        (523, 137, 2**21 + 7),  # lists beyond 127 bytes of every feature, ids of four bytes
    ],
)
def test_every_row_has_the_bytes_of_protobuf(
    max_seq_length, max_predictions, vocab_size, example_type, pad
):
    vocab_size = max(vocab_size, CLS + 3)
    rows = random_rows(149, max_seq_length, max_predictions, vocab_size, example_type)
    wanted = [reference(row, example_type, pad) for row in rows]
    assert encoded(rows, example_type, pad) == wanted


@pytest.mark.parametrize("pad", [True, False])
def test_lists_beyond_16383_bytes(pad):
    rows = random_rows(3, 8209, 4099, 2**27, "packed")
    rows["num_predictions"] = 4099
    assert encoded(rows, "packed", pad) == [reference(row, "packed", pad) for row in rows]


def test_one_encoder_takes_blocks_of_any_size_and_vocabulary_in_turn():
    """What one block leaves in the encoder's memory is not seen in the next."""
    encoder = Encoder(131, 37, choices.EXAMPLE_TYPES["nsp"], True)
    for seed, (num_rows, vocab_size) in enumerate(
        [(1500, 60_000), (1, 60_000), (2, 120), (7, 990)]
    ):
        rows = random_rows(num_rows, 131, 37, vocab_size, "nsp", seed)
        buffer, _ = encoder.encode(rows)
        assert buffer.tobytes() == b"".join(reference(row, "nsp", True) for row in rows)


def test_no_rows_no_bytes():
    buffer, ends = Encoder(7, 3, choices.EXAMPLE_TYPES["nsp"], True).encode(
        np.empty(0, row_dtype(7, 3, 113))
    )
    assert (buffer.tolist(), ends.tolist()) == ([], [])


def test_refuses_an_id_beyond_four_bytes():
    rows = random_rows(2, 7, 3, 2**20, "nsp")
    rows["word_ids"][1, 2] = 2**28
    with pytest.raises(ValueError, match="268435456"):
        Encoder(7, 3, choices.EXAMPLE_TYPES["nsp"], True).encode(rows)


def test_the_released_input_function_reads_it():
    """Names, lengths and types that the released run_pretraining.py asks for, and no others."""
    rows = np.zeros(1, row_dtype(11, 3, 100_000))
    rows["word_ids"][0, :6] = [2, 4, 300, 3, 70_000, 3]
    rows["positions"][0, :2], rows["labels"][0, :2] = [1, 4], [29_999, 5]
    rows["num_tokens"], rows["num_type_a"], rows["num_predictions"] = 6, 4, 2
    rows["pair_label"] = 1
    (record,) = encoded(rows, "nsp", True)
    ints = {"input_ids": 11, "input_mask": 11, "segment_ids": 11, "masked_lm_positions": 3}
    ints |= {"masked_lm_ids": 3, "next_sentence_labels": 1}
    specification = {name: tf.io.FixedLenFeature([size], tf.int64) for name, size in ints.items()}
    specification["masked_lm_weights"] = tf.io.FixedLenFeature([3], tf.float32)
    assert set(tf.train.Example.FromString(record).features.feature) == set(specification)
    found = tf.io.parse_single_example(record, specification)
    assert {name: value.numpy().tolist() for name, value in found.items()} == {
        "input_ids": [2, 4, 300, 3, 70_000, 3, 0, 0, 0, 0, 0],
        "input_mask": [1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0],
        "segment_ids": [0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0],
        "masked_lm_positions": [1, 4, 0],
        "masked_lm_ids": [29_999, 5, 0],
        "masked_lm_weights": [1.0, 1.0, 0.0],
        "next_sentence_labels": [1],
    }
