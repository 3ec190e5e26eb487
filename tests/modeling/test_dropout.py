import bisect
import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling import dropout

RATE = 0.1


def mask(seed, salt=0, shape=(101, 103), rate=RATE, dtype="float32"):
    """Bool of `shape`, True where the element was kept."""
    layer = dropout.Dropout(rate, salt, dtype=dtype)
    with dropout.step_seed(seed):
        return np.asarray(layer(keras.ops.ones(shape, dtype), training=True) != 0)


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 0.9])
def test_rate_and_scale(rate):
    layer = dropout.Dropout(rate, salt=3)
    with dropout.step_seed([5, 7]):
        outputs = np.array(layer(np.ones((307, 311), np.float32), training=True))
    kept, size = (outputs != 0).sum(), outputs.size
    standard_deviation = np.sqrt(size * rate * (1 - rate))
    assert abs(kept - size * (1 - rate)) < 5 * standard_deviation
    np.testing.assert_allclose(outputs[outputs != 0], 1 / (1 - rate), rtol=1e-6)


def test_without_training_or_rate_nothing_changes():
    inputs = np.ones((3, 5), np.float32)
    with dropout.step_seed([1, 2]):
        np.testing.assert_array_equal(dropout.Dropout(RATE, 0)(inputs), inputs)
        np.testing.assert_array_equal(dropout.Dropout(0.0, 0)(inputs, training=True), inputs)


def test_the_same_seed_gives_the_same_mask():
    np.testing.assert_array_equal(mask([3, 5]), mask([3, 5]))


@pytest.mark.parametrize(
    "other",
    [
        {"seed": [3, 6]},
        {"seed": [4, 5]},
        {"seed": [5, 3]},
        {"seed": [3, 5], "salt": 1},
        {"seed": [3, 5], "salt": 37},
    ],
)
def test_other_seeds_and_layers_have_independent_masks(other):
    one, two = mask([3, 5]), mask(**other)
    agreement = (one == two).mean()
    expected = RATE**2 + (1 - RATE) ** 2
    assert abs(agreement - expected) < 5 * np.sqrt(expected * (1 - expected) / one.size)


def test_seeds_and_salts_do_not_make_up_for_each_other():
    """Seed and layer are not simply added: no two of the nearest pairs share a mask."""
    masks = set()
    for run, step in itertools.product(range(5), range(7)):
        with dropout.step_seed([run, step]):
            made = [dropout.Dropout(RATE, salt).mask((211,), "float32") for salt in range(11)]
        masks |= {np.asarray(each).tobytes() for each in made}
    assert len(masks) == 5 * 7 * 11


@pytest.mark.parametrize(
    "shift", [(0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (0, 64), (0, 128), (0, 256), (7, 13)]
)
def test_neighbours_are_independent(shift):
    dropped = ~mask([1, 1], shape=(512, 512), rate=0.5)
    agreement = (dropped == np.roll(dropped, shift, (0, 1))).mean()
    assert abs(agreement - 0.5) < 5 * 0.5 / 512


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_all_combinations_of_what_one_hash_decides_are_as_likely_as_they_should_be(rate):
    """Four elements, a quarter of the last axis apart: 16 patterns of dropped and kept."""
    dropped = ~mask([5, 2], shape=(512, 1024), rate=rate)
    numbers = np.stack(np.split(dropped, 4, axis=1), axis=-1) @ [1, 2, 4, 8]
    counts = np.bincount(numbers.reshape(-1), minlength=16)
    for pattern, count in enumerate(counts):
        num_dropped = pattern.bit_count()
        expected = numbers.size * rate**num_dropped * (1 - rate) ** (4 - num_dropped)
        assert abs(count - expected) < 5 * np.sqrt(expected), pattern


def test_every_column_and_row_has_its_share():
    dropped = ~mask([1, 2], shape=(1024, 768))
    for axis, count in ((0, 1024), (1, 768)):
        shares = dropped.mean(axis=axis)
        deviation = np.sqrt(RATE * (1 - RATE) / count)
        assert abs(shares - RATE).max() < 5.5 * deviation
        assert 0.85 < shares.std() / deviation < 1.15


def test_eager_graph_and_compiled_masks_are_the_same():
    layer = dropout.Dropout(RATE, salt=2)
    inputs = tf.ones((31, 37))

    def call(inputs, seed):
        with dropout.step_seed(seed):
            return layer(inputs, training=True)

    seed = tf.constant([11, 13])
    open_shapes = [tf.TensorSpec([None, None]), tf.TensorSpec([2], tf.int32)]
    expected = call(inputs, seed)
    for compiled in (
        tf.function(call, autograph=False),
        tf.function(call, input_signature=open_shapes, autograph=False),
        tf.function(call, jit_compile=True, autograph=False),
    ):
        np.testing.assert_array_equal(compiled(inputs, seed), expected)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("rate", [0.01, 0.1, 0.3, 0.5, 0.9])
def test_the_mean_stays_in_every_precision(dtype, rate, monkeypatch):
    """The mean over all 2**32 values of a hash: its size times how many of them keep."""
    layer = dropout.Dropout(rate, salt=0)
    monkeypatch.setattr(dropout, "_LAST_MULTIPLIERS", (1,))
    monkeypatch.setattr(dropout, "_PER_HASH", 1)

    def multiplier(value):
        monkeypatch.setattr(layer, "_mixed", lambda *_: tf.constant([value], tf.uint32))
        return float(layer.mask((1,), dtype)[0])

    first_kept = bisect.bisect_left(range(2**32), 1.0, key=multiplier)
    mean = multiplier(first_kept) * (2**32 - first_kept) / 2**32
    assert abs(mean - 1.0) < 1e-6
    tolerance = {"float32": 1e-9, "bfloat16": 3e-3, "float16": 4e-4}[dtype]
    assert abs(first_kept / 2**32 - rate) < tolerance


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_the_mean_of_ten_million_elements_stays_in_half_precision(dtype):
    with dropout.step_seed([3, 5]):
        values = np.asarray(dropout.Dropout(RATE, salt=1).mask((10_000, 1000), dtype))
    deviation = np.sqrt(RATE / (1 - RATE) / values.size)
    assert deviation < 1.1e-4
    assert abs(values.astype(np.float64).mean() - 1.0) < 4 * deviation  # bfloat16's was 1.6e-3 off


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_drops_the_same_elements_but_for_the_difference_of_the_rates(dtype):
    one, other = mask([3, 5], dtype=dtype, shape=(512, 512)), mask([3, 5], shape=(512, 512))
    multiplier = float(tf.cast(1 / (1 - RATE), dtype))  # TensorFlow's own rounding
    difference = RATE - (1 - 1 / multiplier)
    assert not (one & ~other if difference < 0 else other & ~one).any()
    assert abs((one != other).mean() - abs(difference)) < 5 * np.sqrt(abs(difference) / one.size)


def test_gradient_passes_where_elements_were_kept():
    layer = dropout.Dropout(RATE, salt=0)
    inputs = tf.random.stateless_normal((31, 37), [1, 2])
    with tf.GradientTape() as tape, dropout.step_seed([1, 2]):
        tape.watch(inputs)
        outputs = layer(inputs, training=True)
    gradient = tape.gradient(outputs, inputs)
    np.testing.assert_allclose(gradient * inputs, outputs, rtol=1e-6)


def test_without_a_step_seed_every_call_draws_another_mask():
    layer = dropout.Dropout(0.5, salt=0)
    keras.utils.set_random_seed(1)
    one, two = (np.array(layer(np.ones((31, 37)), training=True)) for _ in range(2))
    assert (one != two).any()


def test_the_seed_is_gone_after_the_block():
    with pytest.raises(RuntimeError), dropout.step_seed([1, 2]):
        raise RuntimeError
    test_without_a_step_seed_every_call_draws_another_mask()


def test_each_replica_has_its_own_seed():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    layer = dropout.Dropout(RATE, salt=0)

    @tf.function(autograph=False)
    def masks(step):
        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            with dropout.step_seed(tf.stack([step, number])):
                return layer(tf.ones((31, 37)), training=True)

        return strategy.run(replica)

    for number, outputs in enumerate(masks(tf.constant(17)).values):
        np.testing.assert_array_equal(outputs != 0, mask([17, number], shape=(31, 37)))


def row_masks(rows, shape, salt=0, rate=RATE, seed=(3, 5)):
    """Bool of `shape`, True where kept, of rows of those numbers."""
    layer = dropout.Dropout(rate, salt)
    with dropout.step_seed(seed, rows=np.array(rows, np.int32)):
        return np.asarray(layer(keras.ops.ones(shape), training=True) != 0)


B, T, H, A = 12, 11, 37, 3


@pytest.mark.parametrize("num_micro_batches", [2, 3, 4, 12])
@pytest.mark.parametrize("shape", [(H,), (T, H), (A, T, T)])
def test_masks_of_rows_do_not_depend_on_the_micro_batches(num_micro_batches, shape):
    whole = row_masks(range(B), (B, *shape))
    size = B // num_micro_batches
    for first in range(0, B, size):
        part = row_masks(range(first, first + size), (size, *shape))
        np.testing.assert_array_equal(part, whole[first : first + size])
    order = [7, 0, 11, 3]
    np.testing.assert_array_equal(row_masks(order, (4, *shape)), whole[order])


def test_masks_of_rows_do_not_depend_on_padding():
    for shape, short in (((T, H), (5, H)), ((A, T, T), (A, 5, 5))):
        whole, part = row_masks(range(B), (B, *shape)), row_masks(range(B), (B, *short))
        kept = (slice(None), *map(slice, short))
        np.testing.assert_array_equal(part, whole[kept])


def test_rows_laid_end_to_end_have_their_masks():
    flat = row_masks(range(B), (B * T, H)).reshape(B, T, H)
    np.testing.assert_array_equal(flat, row_masks(range(B), (B, T, H)))


def test_masks_of_sequences_do_not_depend_on_how_many_a_row_has():
    def masks(rows, num_sequences):
        inputs = keras.ops.ones((len(rows) * num_sequences, 17))
        with dropout.step_seed([3, 5], rows), dropout.rows_of_sequences(num_sequences):
            outputs = dropout.Dropout(0.5, 0)(inputs, training=True)
        return np.asarray(outputs).reshape(len(rows), num_sequences, 17)

    few, many = masks([7, 2], 2), masks([2, 5, 7], 3)
    np.testing.assert_array_equal(few, many[[2, 0], :2])
    assert len(np.unique(many.reshape(-1, 17), axis=0)) == 9
    assert masks([], 2).shape == (0, 2, 17)


def test_a_micro_batch_without_rows():
    for shape in ((0, H), (0, T, H), (0, A, T, T)):
        assert row_masks([], shape).shape == shape


@pytest.mark.parametrize("shape", [(64, 64 * 64), (4, 4, 128, 128)])
def test_masks_of_rows_have_the_rate_and_independent_neighbours(shape):
    rate = 0.5
    one = row_masks(range(shape[0]), shape, rate=rate)
    deviation = 0.5 / np.sqrt(one.size)
    assert abs(one.mean() - 0.5) < 5 * deviation
    for axis in range(len(shape)):
        for shift in (1, 2, 3):
            agreement = (one == np.roll(one, shift, axis)).mean()
            assert abs(agreement - 0.5) < 5 * deviation, (axis, shift)
        shares = one.mean(axis=tuple(i for i in range(len(shape)) if i != axis))
        assert abs(shares - 0.5).max() < 5.5 * deviation * np.sqrt(shape[axis])
    for other in ({"salt": 1}, {"seed": (3, 6)}, {"seed": (4, 5)}):
        agreement = (one == row_masks(range(shape[0]), shape, rate=rate, **other)).mean()
        assert abs(agreement - 0.5) < 5 * deviation


@pytest.mark.parametrize("shape", [(B * T, H), (B, A, T, T)])
def test_eager_graph_and_compiled_masks_of_rows_are_the_same(shape):
    layer = dropout.Dropout(RATE, salt=2)
    inputs = tf.ones(shape)

    def call(inputs, seed, first_row):
        num_rows = tf.shape(inputs)[0] // (T if len(shape) == 2 else 1)
        num_rows = B if inputs.shape[0] else num_rows
        with dropout.step_seed(seed, rows=first_row + tf.range(num_rows)):
            return layer(inputs, training=True)

    args = inputs, tf.constant([11, 13]), tf.constant(29)
    open_shapes = [tf.TensorSpec([None] * len(shape)), tf.TensorSpec([2], tf.int32)]
    expected = call(*args)
    for compiled in (
        tf.function(call, autograph=False),
        tf.function(
            call, input_signature=[*open_shapes, tf.TensorSpec([], tf.int32)], autograph=False
        ),
        tf.function(call, jit_compile=True, autograph=False),
    ):
        np.testing.assert_array_equal(compiled(*args), expected)


@pytest.mark.parametrize("rows", [None, [5, 7, 11]])
def test_what_is_repeatable_draws_its_masks_again_elsewhere(rows):
    layer, inputs = dropout.Dropout(RATE, salt=2), np.ones((3, 211), np.float32)
    with dropout.step_seed([1, 2], rows=rows and np.array(rows)):
        again = dropout.repeatable(lambda x: layer(x, training=True))
        expected = layer(inputs, training=True)
    np.testing.assert_array_equal(again(inputs), expected)
    with dropout.step_seed([3, 4]):
        np.testing.assert_array_equal(again(inputs), expected)


def test_serialization():
    layer = dropout.Dropout(0.3, salt=5)
    copy = dropout.Dropout.from_config(layer.get_config())
    assert (copy.rate, copy.salt) == (0.3, 5)
    assert not layer.variables
