"""Micro-batches: every row once, alike for every worker, the smallest length that holds them."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.records.read import micro_batches


def cut(first_row=0, num_rows=24, **arguments):
    arguments = {"batch_size": 24, "num_micro_batches": 3, "buckets": (5, 7, 11)} | arguments
    return micro_batches.Cut(first_row=first_row, num_rows=num_rows, **arguments)


@pytest.mark.parametrize(("num_workers", "num_replicas"), [(1, 1), (1, 4), (2, 1), (2, 2), (4, 2)])
def test_workers_and_replicas_share_every_micro_batch(num_workers, num_replicas):
    num_rows = 24 // num_workers
    positions = []
    for worker in range(num_workers):
        share = cut(worker * num_rows, num_rows, num_replicas=num_replicas)
        assert share.positions.shape[:2] == (num_replicas, 3)
        positions.extend(share.positions)
    # By micro-batch, then by replica over all workers: positions 0 to 23 in order.
    assert np.stack(positions, axis=1).reshape(-1).tolist() == list(range(24))


def test_one_micro_batch_is_the_row_range():
    assert cut(9, 6, num_micro_batches=1).positions.tolist() == [[[9, 10, 11, 12, 13, 14]]]


@pytest.mark.parametrize(
    ("longest", "expected"),
    [
        ((5, 7, 11), [0, 1, 2]),
        ((1, 6, 8), [0, 1, 2]),
        ((5, 5, 5), [0, 0, 0]),
        ((8, 8, 11), [2] * 3),
    ],
)
def test_the_smallest_bucket_that_holds_a_micro_batch(longest, expected):
    lengths = list(itertools.chain(*([1] * 7 + [length] for length in longest)))
    assert cut().chosen_buckets(tf.constant(lengths)).numpy().tolist() == expected


def test_rows_go_to_replicas_and_micro_batches():
    share = cut(num_replicas=2)
    rows = share.positions.reshape(-1)
    batch = {"label": tf.constant(rows), "ids": tf.repeat(rows[:, None], 11, 1)}
    shares = share.shared_out(batch, tf.constant([0, 1, 2]))
    assert shares["label"].shape == (2, 3, 4) and shares["ids"].shape == (2, 3, 4, 11)
    assert shares["label"][1, 2].numpy().tolist() == [20, 21, 22, 23]
    assert shares["ids"][1, 0, 0].numpy().tolist() == [4] * 11
    np.testing.assert_array_equal(shares["row_numbers"], share.positions)
    assert shares["length_bucket"].numpy().tolist() == [[0, 1, 2]] * 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_micro_batches": 5},
        {"first_row": 8, "num_rows": 3, "num_micro_batches": 8},
        {"num_replicas": 3},
        {"first_row": 12, "num_rows": 24},
        {"num_rows": 0},
    ],
)
def test_what_cannot_be_divided(arguments):
    with pytest.raises(ValueError, match="Cut"):
        cut(**arguments)


def test_buckets_end_with_the_full_length():
    assert micro_batches.buckets([64, 32, 64, 128, 256], 128) == (32, 64, 128)
    assert micro_batches.buckets([], 128) == (128,)


def test_a_micro_batch_is_cut_inside_a_compiled_step():
    """The bucket decides on the device which of the static shapes is computed."""
    lengths = (5, 7, 11)

    @tf.function(jit_compile=True, autograph=False)
    def num_positions(micro_batch):
        def branch(length):
            shortened = micro_batches.shortened(micro_batch, length)
            assert shortened["input_word_ids"].shape == (2, length)
            assert shortened["masked_lm_ids"].shape == (2, 3)
            assert features.LENGTH_BUCKET not in shortened
            return lambda: tf.size(shortened["input_word_ids"])

        branches = [branch(length) for length in lengths]
        return tf.switch_case(micro_batch[features.LENGTH_BUCKET], branches)

    micro_batch = {"input_word_ids": tf.ones([2, 11], tf.int32), "masked_lm_ids": tf.ones([2, 3])}
    for bucket, length in enumerate(lengths):
        assert (
            num_positions(micro_batch | {features.LENGTH_BUCKET: tf.constant(bucket)}) == 2 * length
        )
