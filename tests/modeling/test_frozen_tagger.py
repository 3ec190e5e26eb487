"""The BiLSTM on frozen layers against a BERT and an LSTM written independently in NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import saving
from bert_tf.frozen_layers import FROZEN_LAYERS
from bert_tf.modeling import dropout, frozen_tagger
from tests.modeling import harness
from tests.reference import numpy_bert, numpy_lstm

B, T, C, H, U, L = harness.B, harness.T, harness.C, harness.H, 5, 4
NAMES = ("input_word_ids", "input_mask", "input_type_ids")
CONFIG = harness.config(num_hidden_layers=L)


@pytest.fixture(scope="module", params=FROZEN_LAYERS)
def choice(request):
    return request.param


@pytest.fixture(scope="module")
def model(choice):
    return harness.randomize(frozen_tagger.FrozenTaggerModel(CONFIG, C, choice, U))


@pytest.fixture(scope="module")
def batch():
    return {name: value for name, value in harness.batch().items() if name in NAMES}


def layers_of(model, batch, row):
    """The embeddings and the layers of a row without its padding, each [T H]."""
    weights = {name: x for name, x in saving.to_arrays(model).items() if "tagger" not in name}
    length = harness.LENGTHS[row]
    inputs = (batch[name][row, :length] for name in NAMES)
    return numpy_bert.encode(weights, L, harness.A, numpy_bert.gelu_tanh, *inputs)[0]


def tags(model, choice, layers):
    """Logits [T C] of a row, from its layers."""
    weights = {v.path: np.asarray(v, np.float64) for v in model.variables}
    chosen = {
        "embeddings": [layers[0]],
        "second_to_last": [layers[L - 1]],
        "last": [layers[L]],
        "weighted_all": layers[1:],
    }.get(choice, layers[L - 3 :])
    if choice.startswith("weighted"):
        mix = np.exp(weights["tagger/layer_mix/mix"])
        hidden = sum(share * x for share, x in zip(mix / mix.sum(), chosen, strict=True))
        hidden = hidden * weights["tagger/layer_mix/scale"]
    else:
        hidden = np.hstack(chosen)
    for index in (0, 1):
        cells = [
            {
                part: weights[f"tagger/lstm_{index}/{way}_lstm/lstm_cell/{part}"]
                for part in ("kernel", "recurrent_kernel", "bias")
            }
            for way in ("forward", "backward")
        ]
        hidden = numpy_lstm.bidirectional(*cells, hidden)
    return hidden @ weights["tagger/output/kernel"] + weights["tagger/output/bias"]


def test_logits_of_every_combination(choice, model, batch):
    logits = np.asarray(model(batch)["logits"])
    assert logits.shape == (B, T, C) and logits.dtype == np.float32
    for row, length in enumerate(harness.LENGTHS):
        wanted = tags(model, choice, layers_of(model, batch, row))
        np.testing.assert_allclose(logits[row, :length], wanted, rtol=0, atol=1e-4)


def test_vectors_in_the_batch_replace_the_encoder(choice, model, batch):
    wanted = np.asarray(model(batch)["logits"])
    depths = FROZEN_LAYERS[choice].depths(L)
    vectors = np.zeros((B, T, len(depths), H), np.float32)
    for row, length in enumerate(harness.LENGTHS):
        layers = layers_of(model, batch, row)
        vectors[row, :length] = np.stack([layers[depth] for depth in depths], axis=1)
    found = np.asarray(model(batch | {"layer_vectors": vectors})["logits"])
    real = harness.mask().astype(bool)
    np.testing.assert_allclose(found[real], wanted[real], rtol=0, atol=1e-4)


def test_only_the_tagger_is_trained(choice, model):
    names = [variable.path for variable in model.trainable_variables]
    assert {name.split("/")[0] for name in names} == {"tagger"}
    assert len(names) == (16 if choice.startswith("weighted") else 14)


def test_training_in_a_graph_of_open_shapes(batch):
    config = harness.config(num_hidden_layers=2)
    model = harness.randomize(frozen_tagger.FrozenTaggerModel(config, C, "weighted_all", U))
    names = [variable.path for variable in model.trainable_variables]
    specs = {name: tf.TensorSpec([None, None], tf.int32) for name in NAMES}

    @tf.function(input_signature=[specs, tf.TensorSpec([2], tf.int32)], autograph=False)
    def step(batch, seed):
        with tf.GradientTape() as tape, dropout.step_seed(seed):
            logits = model(batch, training=True)["logits"]
            total = tf.reduce_sum(tf.nn.log_softmax(logits)[..., 0])
        return logits, tape.gradient(total, [v.value for v in model.trainable_variables])

    inputs = {name: tf.constant(x) for name, x in batch.items()}
    logits, gradients = step(inputs, tf.constant([1, 2]))
    assert not np.allclose(logits, model(batch)["logits"], atol=1e-3)  # dropout is on
    for name, gradient in zip(names, gradients, strict=True):
        assert np.abs(gradient).max() > 0, name


def test_its_configuration_makes_the_same_model(batch):
    config = harness.config(num_hidden_layers=1)
    model = harness.randomize(frozen_tagger.FrozenTaggerModel(config, C, "last", U))
    copy = frozen_tagger.FrozenTaggerModel.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    assert [v.path for v in copy.variables] == [v.path for v in model.variables]
    assert not any("seed" in variable.path for variable in model.variables)
    np.testing.assert_array_equal(copy(batch)["logits"], model(batch)["logits"])


def test_equal_weights_at_first():
    mix = frozen_tagger.LayerMix()
    vectors = np.random.default_rng(0).normal(size=(2, 3, 4, 5)).astype(np.float32)
    np.testing.assert_allclose(mix(vectors), vectors.mean(axis=2), rtol=0, atol=1e-6)


def test_half_precision_is_close_to_float32(batch):
    policy = "mixed_bfloat16"
    exact, half = (
        frozen_tagger.FrozenTaggerModel(CONFIG, C, "weighted_all", U, dtype=dtype)
        for dtype in ("float32", policy)
    )
    half.set_weights(exact.get_weights())
    assert half.tagger.lstm_0.compute_dtype == keras.DTypePolicy(policy).compute_dtype
    found = half(batch)["logits"]
    assert found.dtype == "float32"
    np.testing.assert_allclose(found, exact(batch)["logits"], rtol=0, atol=0.03)
