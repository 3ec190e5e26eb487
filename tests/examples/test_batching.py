"""Every row once, the least padding, and an order that a restart can take up again."""

import itertools

import numpy as np
import pytest

from bert_tf import features
from bert_tf.examples import batching
from bert_tf.examples.rows import Rows, encoder_inputs, pad_rows

NUM_ROWS = 23


def rows(num_rows=NUM_ROWS):
    """Rows whose label is their number and whose word ids all are their number plus one."""
    lengths = np.random.default_rng(3).integers(3, 14, num_rows).tolist()
    return Rows(
        [[number + 1] * length for number, length in enumerate(lengths)],
        [[0, *[1] * (length - 1)] for length in lengths],
        {features.LABEL_IDS.name: np.arange(num_rows, dtype=np.int32)},
    )


def numbers(batch):
    """Row numbers of a training batch, in the order of replicas and micro-batches."""
    return [int(i) for share in batch for micro_batch in share for i in micro_batch["label_ids"]]


def batches(
    count, *, num_rows=NUM_ROWS, batch_size=5, seed=7, replicas=2, micro_batches=3, first=0
):
    generator = batching.training_batches(
        rows(num_rows),
        batch_size=batch_size,
        random_seed=seed,
        replicas=replicas,
        num_micro_batches=micro_batches,
        first_step=first,
    )
    return list(itertools.islice(generator, count))


def positions(micro_batches, lengths):
    return sum(len(rows) * max(lengths[i] for i in rows) for rows in micro_batches)


def least_positions(lengths, num_micro_batches):
    """Over every way of cutting the sorted rows into so many runs."""
    ordered, end = sorted(lengths), len(lengths)
    return min(
        sum((j - i) * ordered[j - 1] for i, j in itertools.pairwise((0, *cuts, end)))
        for cuts in itertools.combinations(range(1, end), num_micro_batches - 1)
    )


@pytest.mark.parametrize("num_micro_batches", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("seed", range(5))
def test_cut_by_length_have_the_least_padding_there_is(num_micro_batches, seed):
    lengths = np.random.default_rng(seed).integers(1, 30, 8)
    micro_batches = batching.cut_by_length(lengths, num_micro_batches)
    assert len(micro_batches) == num_micro_batches
    assert sorted(np.concatenate(micro_batches).tolist()) == list(range(8))
    assert positions(micro_batches, lengths) == least_positions(lengths.tolist(), num_micro_batches)


def test_cut_by_length_go_from_short_to_long():
    micro_batches = batching.cut_by_length([13, 2, 12, 3, 2], 2)
    assert [sorted(rows.tolist()) for rows in micro_batches] == [[1, 3, 4], [0, 2]]


def test_cut_by_length_of_fewer_rows_than_micro_batches():
    assert [rows.tolist() for rows in batching.cut_by_length([5, 3], 4)] == [[1], [0]]
    assert batching.cut_by_length([], 4) == []


def test_pad_rows():
    padded = pad_rows([[1, 2, 3], [], [4]], 3)
    assert padded.tolist() == [[1, 2, 3], [0, 0, 0], [4, 0, 0]]
    assert padded.dtype == np.int32


def test_pad_rows_does_not_cut():
    with pytest.raises(ValueError):
        pad_rows([[1, 2, 3]], 2)


@pytest.mark.parametrize("length", [None, 5])
def test_encoder_inputs(length):
    # The word id 0 is [PAD]: in a text, it is still a token.
    inputs = encoder_inputs([[7, 0, 9], [8]], [[0, 1, 1], [0]], length)
    behind = [0] * ((length or 3) - 3)
    assert {name: value.tolist() for name, value in inputs.items()} == {
        "input_word_ids": [[7, 0, 9, *behind], [8, 0, 0, *behind]],
        "input_mask": [[1, 1, 1, *behind], [1, 0, 0, *behind]],
        "input_type_ids": [[0, 1, 1, *behind], [0, 0, 0, *behind]],
    }
    assert {value.dtype for value in inputs.values()} == {np.dtype(np.int32)}


def test_a_batch_is_as_long_as_its_longest_row():
    data = Rows([[1], [2, 3], [4, 5, 6]], [[0], [0, 1], [0, 1, 1]], {"y": np.arange(3)})
    batch = data.batch(np.array([1, 0]))
    assert batch["input_word_ids"].tolist() == [[2, 3], [1, 0]]
    assert batch["y"].tolist() == [1, 0]
    assert data.lengths.tolist() == [1, 2, 3] and len(data) == 3


def test_the_batch_of_no_rows_has_a_position_and_the_types_of_the_others():
    data = rows()
    empty, full = data.batch(np.array([], np.int64)), data.batch(np.array([0]))
    assert {name: value.shape for name, value in empty.items()} == {
        "input_word_ids": (0, 1),
        "input_mask": (0, 1),
        "input_type_ids": (0, 1),
        "label_ids": (0,),
    }
    assert {k: v.dtype for k, v in empty.items()} == {k: v.dtype for k, v in full.items()}


def test_head():
    assert len(rows().head(None)) == NUM_ROWS
    first = rows().head(3)
    assert len(first) == len(first.type_ids) == 3
    assert first.labels["label_ids"].tolist() == [0, 1, 2]


def test_the_digest_is_that_of_the_content():
    def digest(word_ids=((1, 2), (3,)), type_ids=((0, 0), (1,)), labels=(0, 1)):
        return Rows(
            [list(row) for row in word_ids],
            [list(row) for row in type_ids],
            {"y": np.array(labels)},
        ).digest()

    others = [
        digest(word_ids=((1, 2), (4,))),
        digest(type_ids=((0, 1), (1,))),
        digest(labels=(1, 0)),
        digest(word_ids=((1,), (2, 3)), type_ids=((0,), (0, 1))),
        digest(word_ids=((3,), (1, 2)), type_ids=((1,), (0, 0))),
    ]
    # The same numbers in the same order, but for where a row ends.
    one, two = digest([[1, 0]], [[0, 0]]), digest([[1], [0]], [[0], [0]])
    assert one != two
    assert digest() == digest()
    assert len({digest(), *others}) == 6


def test_length_batches_are_sorted_longest_first():
    found = batching.length_batches([3, 9, 4, 9, 1], 2)
    assert [batch.tolist() for batch in found] == [[1, 3], [2, 0], [4]]


def test_epochs_have_orders_of_their_own_that_the_seed_decides():
    orders = {
        tuple(batching.epoch_order(NUM_ROWS, seed, epoch)) for seed in (7, 8) for epoch in (0, 1, 2)
    }
    assert len(orders) == 6
    assert all(sorted(order) == list(range(NUM_ROWS)) for order in orders)
    again = batching.epoch_order(NUM_ROWS, 7, 1)
    np.testing.assert_array_equal(again, batching.epoch_order(NUM_ROWS, 7, 1))


@pytest.mark.parametrize(("replicas", "micro_batches"), [(1, 1), (1, 3), (2, 1), (3, 2)])
def test_every_row_once_per_epoch(replicas, micro_batches):
    found = batches(10, replicas=replicas, micro_batches=micro_batches)  # two epochs of 5 batches
    for epoch in (found[:5], found[5:]):
        assert [len(numbers(batch)) for batch in epoch] == [5, 5, 5, 5, 3]
        assert sorted(i for batch in epoch for i in numbers(batch)) == list(range(NUM_ROWS))
    assert [set(numbers(a)) for a in found[:5]] != [set(numbers(b)) for b in found[5:]]


def test_the_batches_do_not_depend_on_how_they_are_shared_out():
    whole = [set(numbers(batch)) for batch in batches(7, replicas=1, micro_batches=1)]
    assert [set(numbers(batch)) for batch in batches(7, replicas=3, micro_batches=2)] == whole
    assert [
        set(numbers(batch)) for batch in batches(7, replicas=1, micro_batches=1, seed=8)
    ] != whole


@pytest.mark.parametrize("first", [1, 4, 5, 6, 11])
def test_a_restart_gets_the_batches_that_are_left(first):
    straight = batches(14)
    for wanted, found in zip(straight[first:], batches(14 - first, first=first), strict=True):
        assert numbers(found) == numbers(wanted)


@pytest.mark.parametrize(("replicas", "micro_batches"), [(1, 1), (1, 4), (3, 2), (4, 3)])
def test_a_row_has_its_position_in_the_global_batch_however_the_batch_is_cut(
    replicas, micro_batches
):
    order = batching.epoch_order(NUM_ROWS, 7, 0).tolist()
    for first, batch in enumerate(batches(5, replicas=replicas, micro_batches=micro_batches)):
        found = {
            int(row): int(number)
            for each in itertools.chain.from_iterable(batch)
            for row, number in zip(each["label_ids"], each["row_numbers"], strict=True)
        }
        assert {each["row_numbers"].dtype for share in batch for each in share} == {np.dtype("i4")}
        assert found == {row: number for number, row in enumerate(order[5 * first : 5 * first + 5])}


def test_a_row_keeps_its_ids_types_and_label():
    data = rows()
    for micro_batches in batches(1)[0]:
        for each in micro_batches:
            for index, row in enumerate(each["label_ids"]):
                length = data.lengths[row]
                assert each["input_word_ids"][index, :length].tolist() == data.word_ids[row]
                assert each["input_type_ids"][index, :length].tolist() == data.type_ids[row]
                assert each["input_mask"][index].sum() == length


def test_micro_batches_are_padded_to_their_own_longest_row_only():
    for rows in itertools.chain.from_iterable(itertools.chain.from_iterable(batches(5))):
        longest = rows["input_mask"].sum(axis=1).max(initial=1)  # 1: without rows
        assert rows["input_mask"].shape[1] == longest


def test_every_replica_gets_rows_of_all_lengths_and_equally_many_micro_batches():
    shares = batching.share_out(np.array([6, 4, 2, 1, 3, 5]), 2, 2)
    assert [[rows.tolist() for rows in micro_batches] for micro_batches in shares] == [
        [[3], [4, 5]],
        [[2], [1, 0]],
    ]


def test_replicas_with_fewer_rows_get_empty_micro_batches():
    shares = batching.share_out(np.array([4, 5, 6, 7, 8]), 4, 3)
    assert [[len(rows) for rows in micro_batches] for micro_batches in shares] == [
        *[[1, 1], [1, 0], [1, 0], [1, 0]]
    ]
    shares = batching.share_out(np.array([6]), 3, 3)
    assert [[rows.tolist() for rows in micro_batches] for micro_batches in shares] == [
        [[0]],
        [[]],
        [[]],
    ]


def test_an_epoch_s_last_row_for_more_replicas_than_rows():
    (batch,) = batches(1, num_rows=6, batch_size=5, replicas=3, micro_batches=2, first=1)
    assert [[len(rows["label_ids"]) for rows in micro_batches] for micro_batches in batch] == [
        [1],
        [0],
        [0],
    ]


def grouped(sizes, lengths):
    """Rows of those numbers of sequences, all sequences of a row equally long."""
    word_ids = [[1] * t for size, t in zip(sizes, lengths, strict=True) for _ in range(size)]
    return Rows(word_ids, word_ids, {}, np.array(sizes))


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_micro_batches_hold_as_many_sequences_whatever_rows_have(replicas):
    """No more sequences than 4 micro-batches of single sequences have; else a row by itself."""
    rng = np.random.default_rng(7)
    for num_rows in (1, 5, 31):
        sizes, lengths = rng.integers(1, 7, num_rows), rng.integers(3, 12, num_rows)
        shares = batching.share_out_sequences(lengths, sizes, replicas, 4)
        assert len({len(share) for share in shares}) == 1, "equally many on each replica"
        everything = [int(row) for share in shares for rows in share for row in rows]
        assert sorted(everything) == list(range(num_rows))
        room = -(-len(range(0, num_rows, replicas)) // 4)
        for micro_batch in (each for share in shares for each in share if len(each)):
            num_sequences = len(micro_batch) * sizes[micro_batch].max()
            assert num_sequences <= room or len(micro_batch) == 1


def test_micro_batches_of_rows_of_sequences_have_the_least_padding():
    """Of all ways to cut the sorted rows into as many, compared one by one."""
    sizes, lengths = np.array([1, 1, 1, 1, 2, 2]), np.array([3, 9, 4, 5, 7, 3])

    def positions(cut):
        return sum(len(rows) * sizes[rows].max() * lengths[rows].max() for rows in cut)

    (cut,) = batching.share_out_sequences(lengths, sizes, 1, 2)
    cut = [rows for rows in cut if len(rows)]
    order = np.lexsort((lengths, sizes))
    ways = []
    for bounds in itertools.combinations(range(1, 6), len(cut) - 1):
        way = np.split(order, bounds)
        if all(len(rows) * sizes[rows].max() <= 3 or len(rows) == 1 for rows in way):
            ways.append(positions(way))
    assert len(cut) == 4 and positions(cut) == min(ways)


def test_choices_are_cut_as_rows_are():
    """All rows have as many sequences: their number changes nothing."""
    lengths = [3, 9, 4, 5, 7, 3]
    arguments = {"batch_size": 6, "random_seed": 1, "replicas": 1, "num_micro_batches": 2}
    with_choices = next(
        batching.training_batches(grouped([3] * 6, lengths), **arguments, first_step=0)
    )
    single = next(batching.training_batches(grouped([1] * 6, lengths), **arguments, first_step=0))
    numbers = [
        [each[features.ROW_NUMBERS].tolist() for each in b[0]] for b in (with_choices, single)
    ]
    assert numbers[0] == numbers[1]
    assert with_choices[0][0]["input_word_ids"].shape[1] == 3


def test_batches_of_predictions_hold_as_many_sequences():
    rows_of_sequences = grouped([1, 5, 2, 2, 1, 1, 9], [3, 4, 5, 6, 7, 8, 9])
    found = [batch.tolist() for batch in batching.prediction_batches(rows_of_sequences, 4)]
    assert found == [[6], [1], [3, 2], [5, 4, 0]]
    alike = grouped([2] * 3, [3, 5, 4])
    assert [b.tolist() for b in batching.prediction_batches(alike, 2)] == [[1, 2], [0]]


def test_a_process_makes_micro_batches_for_its_own_replicas_only():
    def shares(here):
        found = batching.training_batches(
            rows(),
            batch_size=5,
            random_seed=7,
            replicas=4,
            num_micro_batches=2,
            first_step=1,
            here=here,
        )
        return [numbers([share]) for batch in itertools.islice(found, 4) for share in batch]

    everything, of_second_host = shares(None), shares((2, 3))
    assert of_second_host == [share for i, share in enumerate(everything) if i % 4 >= 2]
