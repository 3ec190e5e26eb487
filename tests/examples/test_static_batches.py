"""Batches of one shape hold the rows of the host's batches, and fill up with rows of weight 0."""

import itertools

import numpy as np
import pytest

from bert_tf import features
from bert_tf.examples import batching
from bert_tf.examples.rows import NO_LABEL, Rows
from bert_tf.examples.static_batches import StaticBatches

NUM_ROWS, BATCH_SIZE, LENGTHS = 17, 7, (6, 13)
GROUP_SIZES = np.array([2, 3, 2, 5, 2, 3, 2, 2, 3, 2, 2, 2, 3, 2, 2, 4, 2])


def rows(is_grouped=False, **labels):
    """Rows whose label is their number and whose word ids all are their number plus one."""
    sizes = GROUP_SIZES if is_grouped else np.ones(NUM_ROWS, int)
    lengths = np.random.default_rng(3).integers(3, 14, sizes.sum()).tolist()
    owners = np.repeat(np.arange(NUM_ROWS), sizes).tolist()
    word_ids = [[row + 1] * n for row, n in zip(owners, lengths, strict=True)]
    found = {features.LABEL_IDS.name: np.arange(NUM_ROWS, dtype=np.int32)} | labels
    return Rows(word_ids, [[0] * n for n in lengths], found, GROUP_SIZES if is_grouped else None)


def made(data, num_replicas=1, num_micro_batches=2):
    return StaticBatches(
        rows=data,
        batch_size=BATCH_SIZE,
        random_seed=5,
        num_replicas=num_replicas,
        num_micro_batches=num_micro_batches,
        lengths=LENGTHS,
    )


def shares(data, count, num_replicas=1, num_micro_batches=2, here=None, first_step=0):
    """The first `count` batches, each a list of shares."""
    here = range(num_replicas) if here is None else here
    found = made(data, num_replicas, num_micro_batches).shares(here, first_step)
    return [list(itertools.islice(found, len(here))) for _ in range(count)]


def positions(batch, name):
    """Dict from the number of a real row in the global batch to its value of a feature."""
    found = {}
    for share in batch:
        is_real = share[features.EXAMPLE_WEIGHTS.name] > 0
        numbers, values = share[features.ROW_NUMBERS][is_real], share[name][is_real]
        found |= dict(zip(numbers.tolist(), values, strict=True))
    return found


@pytest.mark.parametrize("is_grouped", [False, True])
@pytest.mark.parametrize(("num_replicas", "num_micro_batches"), [(1, 1), (1, 3), (2, 2), (4, 1)])
def test_batches_hold_the_rows_of_the_host_at_their_positions(
    is_grouped, num_replicas, num_micro_batches
):
    data = rows(is_grouped)
    order = itertools.islice(
        batching.batch_indices(NUM_ROWS, batch_size=BATCH_SIZE, random_seed=5), 4
    )
    found = shares(data, 4, num_replicas, num_micro_batches)
    for batch, indices in zip(found, order, strict=True):
        labels = positions(batch, features.LABEL_IDS.name)
        assert {n: int(label) for n, label in labels.items()} == dict(enumerate(indices.tolist()))
        word_ids = positions(batch, features.WORD_IDS.name)
        masks = positions(batch, features.MASK.name)
        for number, row in enumerate(indices):
            wanted = data.batch(np.array([row]))
            assert masks[number].sum() == wanted[features.MASK.name].sum()
            assert set(word_ids[number][masks[number] > 0]) == {row + 1}


def test_every_share_has_the_shapes_of_the_layouts():
    data = rows(is_grouped=True)
    layouts = made(data, 2, 2).layouts
    assert layouts[features.WORD_IDS.name] == ((5, 13), np.int32)
    for batch in shares(data, 4, 2, 2):
        for share in batch:
            assert share.pop(features.LENGTH_BUCKET).shape == (2,)
            assert share.keys() == layouts.keys()
            for name, values in share.items():
                shape, dtype = layouts[name]
                assert (values.shape, values.dtype) == ((2, 2, *shape), dtype)


def test_a_short_batch_is_filled_up_with_rows_of_weight_0_and_no_token():
    (_, _, batch) = shares(rows(), 3, 2, 2)  # 17 = 7 + 7 + 3
    weights = [share[features.EXAMPLE_WEIGHTS.name] for share in batch]
    masks = [share[features.MASK.name] for share in batch]
    assert np.sum(weights) == 3 and np.size(weights) == 8
    np.testing.assert_array_equal(np.any(masks, axis=-1), np.array(weights) > 0)
    numbers = np.concatenate([share[features.ROW_NUMBERS].ravel() for share in batch])
    assert sorted(numbers.tolist()) == list(range(8))


def test_rows_keep_their_weights():
    weights = np.arange(1, NUM_ROWS + 1, dtype=np.float32)
    (batch,) = shares(rows(**{features.EXAMPLE_WEIGHTS.name: weights}), 1)
    labels = positions(batch, features.LABEL_IDS.name)
    found = positions(batch, features.EXAMPLE_WEIGHTS.name)
    assert {n: int(label) + 1 for n, label in labels.items()} == found


def test_micro_batches_have_the_shortest_length_that_holds_their_rows_on_every_replica():
    for batch in shares(rows(), 4, 2, 2):
        buckets = {tuple(share[features.LENGTH_BUCKET].tolist()) for share in batch}
        assert len(buckets) == 1
        longest = np.max([share[features.MASK.name].sum(-1).max(-1) for share in batch], axis=0)
        assert buckets == {tuple(int(length > 6) for length in longest)}


def test_labels_of_tokens_are_padded_with_no_label():
    data = rows()
    labels = [np.full(n, 3, np.int32) for n in data.lengths]
    (batch,) = shares(rows(**{features.TOKEN_LABEL_IDS.name: labels}), 1)
    for share in batch:
        is_token = share[features.MASK.name] > 0
        wanted = np.where(is_token, 3, NO_LABEL)
        np.testing.assert_array_equal(share[features.TOKEN_LABEL_IDS.name], wanted)


def test_a_process_makes_the_shares_of_its_own_replicas_and_a_restart_those_that_are_left():
    everything = shares(rows(), 5, 4, 1)
    second_host = shares(rows(), 3, 4, 1, here=(2, 3), first_step=2)
    for found, wanted in zip(second_host, everything[2:], strict=True):
        for share, wanted_share in zip(found, wanted[2:], strict=True):
            for name, values in wanted_share.items():
                np.testing.assert_array_equal(share[name], values)
