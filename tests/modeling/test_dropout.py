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
    masks = {
        mask([run, step], salt, shape=(211,)).tobytes()
        for run in range(5)
        for step in range(7)
        for salt in range(11)
    }
    assert len(masks) == 5 * 7 * 11


@pytest.mark.parametrize("shift", [(0, 1), (1, 0), (1, 1), (0, 2), (2, 0), (0, 64), (7, 13)])
def test_neighbours_are_independent(shift):
    dropped = ~mask([1, 1], shape=(512, 512), rate=0.5)
    agreement = (dropped == np.roll(dropped, shift, (0, 1))).mean()
    assert abs(agreement - 0.5) < 5 * 0.5 / 512


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
        tf.function(call),
        tf.function(call, input_signature=open_shapes),
        tf.function(call, jit_compile=True),
    ):
        np.testing.assert_array_equal(compiled(inputs, seed), expected)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_drops_the_same_elements(dtype):
    np.testing.assert_array_equal(mask([3, 5], dtype=dtype), mask([3, 5]))


def test_gradient_passes_where_elements_were_kept():
    layer = dropout.Dropout(RATE, salt=0)
    inputs = tf.random.stateless_normal((31, 37), [1, 2])
    with tf.GradientTape() as tape, dropout.step_seed([1, 2]):
        tape.watch(inputs)
        outputs = layer(inputs, training=True)
    gradient = tape.gradient(outputs, inputs)
    np.testing.assert_allclose(gradient * inputs, outputs, rtol=1e-6)


def test_without_a_step_seed_every_call_draws_anew():
    layer = dropout.Dropout(0.5, salt=0)
    keras.utils.set_random_seed(1)
    one, two = (np.array(layer(np.ones((31, 37)), training=True)) for _ in range(2))
    assert (one != two).any()


def test_the_seed_is_gone_after_the_block():
    with pytest.raises(RuntimeError), dropout.step_seed([1, 2]):
        raise RuntimeError
    test_without_a_step_seed_every_call_draws_anew()


def test_each_replica_has_its_own_seed():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    layer = dropout.Dropout(RATE, salt=0)

    @tf.function
    def masks(step):
        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            with dropout.step_seed(tf.stack([step, number])):
                return layer(tf.ones((31, 37)), training=True)

        return strategy.run(replica)

    for number, outputs in enumerate(masks(tf.constant(17)).values):
        np.testing.assert_array_equal(outputs != 0, mask([17, number], shape=(31, 37)))


def test_serialization():
    layer = dropout.Dropout(0.3, salt=5)
    copy = dropout.Dropout.from_config(layer.get_config())
    assert (copy.rate, copy.salt) == (0.3, 5)
    assert not layer.variables
