"""One order of examples, one set of masks and one choice of lengths for any number of workers."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.examples.choices import MaskSettings
from bert_tf.records import check
from bert_tf.records.read import global_batches
from bert_tf.records.read.dynamic_masking import DynamicMasker
from bert_tf.text.vocab import Vocabulary
from tests.reference import records

FILE_SIZES = (11, 5, 7)
NUM_RECORDS = sum(FILE_SIZES)
SIZES = {"T": 11, "P": 3}
BATCH_SIZE = 12
# Slots stand for no text, so that the one which says a record's number is never masked.
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = Vocabulary(
    [*SPECIAL, *(f"[unused{i}]" for i in range(NUM_RECORDS)), *(f"word{i}" for i in range(31))]
)
CLS, SEP, MASK, SLOT, WORD = 2, 3, 4, 5, 5 + NUM_RECORDS
MASKED_LM = ("masked_lm_positions", "masked_lm_ids", "masked_lm_weights")


def text(number):
    """Word ids of a record, not masked: 5 to 11 of them."""
    words = [WORD + (number + place) % 31 for place in range(2 + number % 7)]
    return [CLS, SLOT + number, *words, SEP]


def values(number, sizes, *, is_masked=True, has_pair=True, is_packed=False):
    """What `records.record` takes: the third token is masked."""
    word_ids = text(number)
    label = word_ids[2]
    if is_masked:
        word_ids = [*word_ids[:2], MASK, *word_ids[3:]]
    found = records.pretraining_values(
        word_ids, [2], [label], pair_label=number % 2 if has_pair else None, sizes=sizes
    )
    if is_packed:
        sequence_ids = [1] * 3 + [2] * (len(word_ids) - 3)
        padding = [0] * (sizes["T"] - len(word_ids) if sizes else 0)
        found[features.SEQUENCE_IDS] = sequence_ids + padding
    if not is_masked:
        found = {key: value for key, value in found.items() if key.name not in MASKED_LM}
    return found


def write(directory, sizes=SIZES, **arguments):
    """Three files; without padding if `sizes` is None, as their manifest says."""
    numbers = iter(range(NUM_RECORDS))
    paths = [
        records.write_file(
            directory / f"{file}.tfrecord",
            [values(number, sizes, **arguments) for number in itertools.islice(numbers, size)],
        )
        for file, size in enumerate(FILE_SIZES)
    ]
    if sizes is None:
        changes = {"max_seq_length": 11, "max_predictions_per_seq": 3}
        records.enter(paths, VOCABULARY, **changes, pad_to_max_seq_length=False)
    return paths


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    return write(tmp_path_factory.mktemp("records"))


def masker(granularity="token", limit=3, seed=17):
    settings = MaskSettings(
        masked_lm_prob=0.3, max_predictions_per_seq=limit, granularity=granularity
    )
    return DynamicMasker(VOCABULARY, settings, seed)


def reader(paths, **arguments):
    wanted = check.present(paths, global_batches.FEATURES)
    arguments = {"batch_size": BATCH_SIZE, "seed": 3, "records_to_shuffle": 6} | arguments
    return global_batches.Reader(paths, wanted, SIZES, **arguments)


def taken(dataset, count):
    return list(dataset.take(count).as_numpy_iterator())


def numbers(batches):
    """The numbers of the records of each batch."""
    return [(batch["input_word_ids"][..., 1] - SLOT).tolist() for batch in batches]


def assert_equal(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name], name)


def joined(parts, axis):
    return {name: np.concatenate([part[name] for part in parts], axis) for name in parts[0]}


@pytest.mark.parametrize(
    ("num_slices", "start_batch", "make"),
    [
        *((*case, lambda: None) for case in [(1, 1), (1, 4), (2, 0), (2, 5), (3, 0), (3, 2)]),
        (1, 4, masker),
        (3, 2, masker),
    ],
)
def test_slices_and_restarts_give_the_same_batches(paths, num_slices, start_batch, make):
    whole = taken(reader(paths, masker=make()).batches(), 8)
    size = BATCH_SIZE // num_slices
    slices = [
        taken(
            reader(paths, masker=make()).batches(start_batch, first_row=first, num_rows=size),
            8 - start_batch,
        )
        for first in range(0, BATCH_SIZE, size)
    ]
    for batch, *parts in zip(whole[start_batch:], *slices, strict=True):
        assert_equal(joined(parts, 0), batch)


@pytest.mark.parametrize(
    ("num_workers", "num_replicas", "start_batch", "make"),
    [
        *((*case, lambda: None) for case in [(1, 1, 3), (2, 1, 0), (1, 3, 3), (3, 2, 4)]),
        (2, 3, 4, lambda: masker("word")),
    ],
)
def test_micro_batches_are_alike_for_every_worker(
    paths, num_workers, num_replicas, start_batch, make
):
    """By micro-batch, the rows of all replicas are the sorted batch of one replica."""
    arguments = {"num_micro_batches": 2, "length_buckets": (7, 9)}
    whole = taken(reader(paths, masker=make()).micro_batches(**arguments), 7)[start_batch:]
    size = BATCH_SIZE // num_workers
    shares = []
    for first in range(0, BATCH_SIZE, size):
        found = taken(
            reader(paths, masker=make()).micro_batches(
                start_batch, first_row=first, num_rows=size, num_replicas=num_replicas, **arguments
            ),
            (7 - start_batch) * num_replicas,
        )
        shares += [found[replica::num_replicas] for replica in range(num_replicas)]
    for batch, *parts in zip(whole, *shares, strict=True):
        for part in parts:
            np.testing.assert_array_equal(part.pop("length_bucket"), batch["length_bucket"])
        batch.pop("length_bucket")
        assert_equal(joined(parts, 1), batch)


def test_micro_batches_are_sorted_and_as_long_as_their_longest_row_needs(paths):
    buckets = (6, 8, 11)
    in_order = taken(reader(paths).batches(), 9)
    for num_micro_batches in (1, 3, 4):
        found = taken(
            reader(paths).micro_batches(
                num_micro_batches=num_micro_batches, length_buckets=buckets[:2]
            ),
            9,
        )
        for batch, cut in zip(in_order, found, strict=True):
            order = np.argsort(batch["input_mask"].sum(axis=1), kind="stable")
            flat = np.reshape(numbers([cut])[0], -1)
            assert flat.tolist() == np.array(numbers([batch])[0])[order].tolist()
            longest = cut["input_mask"].sum(axis=2).max(axis=1)
            expected = [min(bucket for bucket in buckets if bucket >= size) for size in longest]
            assert [buckets[index] for index in cut["length_bucket"]] == expected


def test_with_one_length_a_batch_stays_as_it_comes(paths):
    in_order = taken(reader(paths).batches(), 5)
    found = taken(reader(paths).micro_batches(num_micro_batches=3), 5)
    assert [np.reshape(each, -1).tolist() for each in numbers(found)] == numbers(in_order)
    assert all(batch["length_bucket"].tolist() == [0, 0, 0] for batch in found)


@pytest.mark.parametrize(
    ("make", "sizes"), [(lambda: None, None), (masker, SIZES), (lambda: masker("word"), None)]
)
def test_shapes_are_static(tmp_path, make, sizes):
    found = reader(write(tmp_path, sizes), masker=make()).micro_batches(
        num_micro_batches=2, length_buckets=(7,), first_row=4, num_rows=8
    )
    static = {
        name: (spec.dtype.name, spec.shape.as_list()) for name, spec in found.element_spec.items()
    }
    assert static == {
        "input_word_ids": ("int32", [2, 4, 11]),
        "input_mask": ("int32", [2, 4, 11]),
        "input_type_ids": ("int32", [2, 4, 11]),
        "masked_lm_positions": ("int32", [2, 4, 3]),
        "masked_lm_ids": ("int32", [2, 4, 3]),
        "masked_lm_weights": ("float32", [2, 4, 3]),
        "next_sentence_labels": ("int32", [2, 4]),
        "row_numbers": ("int32", [2, 4]),
        "length_bucket": ("int32", [2]),
    }


def test_replicas_get_their_shares_from_a_distributed_dataset(paths):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

    def make(context):
        assert context.num_input_pipelines == 1
        return reader(paths).micro_batches(num_micro_batches=2, length_buckets=(7,), num_replicas=2)

    iterator = iter(strategy.distribute_datasets_from_function(make))
    shares = [strategy.experimental_local_results(next(iterator)) for _ in range(3)]
    whole = taken(reader(paths).micro_batches(num_micro_batches=2, length_buckets=(7,)), 3)
    for batch, replicas in zip(whole, shares, strict=True):
        for replica, share in enumerate(replicas):
            rows = slice(3 * replica, 3 * replica + 3)
            got = share["input_word_ids"].numpy()
            np.testing.assert_array_equal(got, batch["input_word_ids"][:, rows])


@pytest.mark.parametrize("sizes", [SIZES, None])
@pytest.mark.parametrize("arguments", [{}, {"has_pair": False}, {"is_packed": True}], ids=str)
def test_records_of_every_kind(tmp_path, sizes, arguments):
    """Padded or not, without a label, with several texts in a row."""
    found = reader(write(tmp_path, sizes, **arguments)).batches()
    names = {feature.name for feature in features.PRETRAINING}
    if not arguments.get("has_pair", True):
        names.remove("next_sentence_labels")
    if arguments.get("is_packed"):
        names.add("sequence_ids")
    assert found.element_spec.keys() == names
    for batch in taken(found, 4):
        for row, number in enumerate(numbers([batch])[0]):
            for feature, expected in values(number, SIZES, **arguments).items():
                got = np.reshape(batch[feature.name][row], -1).tolist()
                assert got == expected, (number, feature.name)


@pytest.mark.parametrize(
    ("sizes", "is_masked", "granularity"),
    [(SIZES, True, "token"), (None, True, "word"), (SIZES, False, "word"), (None, False, "token")],
)
def test_masks_are_drawn_again(tmp_path, sizes, is_masked, granularity):
    """From masked records and from others; every epoch other ones; P need not be theirs."""
    made = reader(write(tmp_path, sizes, is_masked=is_masked), masker=masker(granularity, limit=5))
    drawn = {number: set() for number in range(NUM_RECORDS)}
    for batch in taken(made.batches(), 30):
        assert batch["masked_lm_ids"].shape == (BATCH_SIZE, 5)
        for row, number in enumerate(numbers([batch])[0]):
            word_ids = batch["input_word_ids"][row].copy()
            positions, labels, weights = (batch[name][row] for name in MASKED_LM)
            expected = text(number)
            num_text = len(expected) - 3
            least = int(0.3 * num_text)
            assert weights.sum() in (max(1, least), least + 1)
            positions, labels = positions[weights > 0], labels[weights > 0]
            drawn[number].add(tuple(positions))
            word_ids[positions] = labels
            assert word_ids.tolist() == expected + [0] * (11 - len(expected))
            assert batch["next_sentence_labels"][row] == number % 2
    assert all(len(found) > 1 for found in drawn.values())


def test_masked_and_unmasked_records_get_the_same_masks(tmp_path):
    (tmp_path / "masked").mkdir()
    (tmp_path / "unmasked").mkdir()
    masked = reader(write(tmp_path / "masked"), masker=masker()).batches()
    unmasked = reader(write(tmp_path / "unmasked", is_masked=False), masker=masker()).batches()
    for one, other in zip(taken(masked, 4), taken(unmasked, 4), strict=True):
        assert_equal(one, other)


def test_once_gives_every_record_in_order_with_the_same_masks(paths):
    found = [list(reader(paths, masker=masker()).once().as_numpy_iterator()) for _ in range(2)]
    assert numbers(found[0]) == [list(range(12)), list(range(12, 23))]
    for one, other in zip(*found, strict=True):
        assert_equal(one, other)


@pytest.mark.parametrize("records_to_shuffle", [6, 1000])
def test_sources_names_file_and_record(paths, records_to_shuffle):
    made = reader(paths, records_to_shuffle=records_to_shuffle)
    first = dict(zip(paths, np.cumsum([0, *FILE_SIZES[:-1]]).tolist(), strict=True))
    rows = numbers(taken(made.batches(), 5))
    for batch in (0, 1, 4):  # the second one straddles two epochs
        assert [first[path] + number for path, number in made.sources(batch)] == rows[batch]


def test_unmasked_records_need_a_masker(tmp_path):
    paths = write(tmp_path, is_masked=False)
    assert features.MASKED_LM_IDS not in reader(paths).features
    with pytest.raises(InputError, match="--dynamic_masking"):
        global_batches.Reader(paths, features.PRETRAINING, SIZES, batch_size=2, seed=3)


def test_features_with_a_masker(paths):
    made = reader(paths, masker=masker())
    assert {feature.name for feature in made.features} == made.batches().element_spec.keys()
    assert made.num_records == NUM_RECORDS


def test_rows_outside_of_a_batch(paths):
    with pytest.raises(ValueError, match="not in a batch"):
        reader(paths).batches(first_row=8, num_rows=5)
