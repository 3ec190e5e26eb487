import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling import dropout, heads
from tests.modeling import harness
from tests.reference import numpy_bert

B, T, H, V, C = harness.B, harness.T, harness.H, harness.V, harness.C


@pytest.fixture
def sequence_output():
    return harness.hidden().reshape(B, T, H)


@pytest.fixture
def pooled_output():
    return np.tanh(harness.hidden()[:B])


def test_masked_lm_ties_its_weights(sequence_output):
    head = harness.randomize(heads.MaskedLmHead(harness.config()))
    table = np.random.default_rng(3).normal(size=(V, H)).astype(np.float32)
    values = {v.path: np.asarray(v.value) for v in head.variables}
    x = sequence_output @ values["masked_lm/transform/kernel"] + values["masked_lm/transform/bias"]
    x = numpy_bert.gelu_tanh(x)
    x = (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)
    x = x * values["masked_lm/layer_norm/gamma"] + values["masked_lm/layer_norm/beta"]
    expected = x @ table.T + values["masked_lm/output_bias"]
    found = head(sequence_output, table)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5)


@pytest.mark.parametrize("num_classes", [1, 2, C])
def test_classification(pooled_output, num_classes):
    head = harness.randomize(heads.ClassificationHead(harness.config(), num_classes, 0.1))
    kernel, bias = (np.asarray(v.value) for v in head.variables)
    assert kernel.shape == (H, num_classes)
    found = head(pooled_output)
    np.testing.assert_allclose(found, pooled_output @ kernel + bias, rtol=0, atol=1e-5)


def test_classification_drops_only_in_training(pooled_output):
    head = harness.randomize(heads.ClassificationHead(harness.config(), C, 0.5))
    with dropout.step_seed([1, 2]):
        assert np.abs(head(pooled_output, training=True) - head(pooled_output)).max() > 0.01


def test_the_dropout_of_the_head_has_a_salt_of_its_own():
    """The encoder's are 0 for the embeddings and three for each layer, from 1 on."""
    config = harness.config()
    salt = heads.ClassificationHead(config, C, 0.1).dropout.salt
    assert salt == 3 * config.num_hidden_layers + 1


def test_span(sequence_output):
    head = harness.randomize(heads.SpanHead(harness.config()))
    kernel, bias = (np.asarray(v.value) for v in head.variables)
    expected = sequence_output @ kernel + bias
    mask = harness.mask()
    real = mask.astype(bool)
    for index, logits in enumerate(head(sequence_output, mask)):
        logits = np.asarray(logits)
        np.testing.assert_allclose(logits[real], expected[..., index][real], rtol=0, atol=1e-5)
        assert (np.exp(logits[~real]) == 0).all()


@pytest.mark.parametrize("policy", harness.POLICIES)
def test_logits_are_float32(policy, sequence_output, pooled_output):
    config = harness.config()
    table = np.zeros((V, H), np.float32)
    found = [
        heads.MaskedLmHead(config, dtype=policy)(sequence_output, table),
        heads.ClassificationHead(config, C, 0.1, dtype=policy)(pooled_output),
        *heads.SpanHead(config, dtype=policy)(sequence_output, harness.mask()),
    ]
    assert {logits.dtype.name for logits in found} == {"float32"}


def test_serialization():
    head = heads.ClassificationHead(harness.config(), C, 0.3, name="next_sentence")
    copy = heads.ClassificationHead.from_config(head.get_config())
    assert (copy.num_classes, copy.dropout_rate, copy.name) == (C, 0.3, "next_sentence")
    assert [v.path for v in copy.variables] == ["next_sentence/kernel", "next_sentence/bias"]


def test_wrong_hidden_size_is_an_error(pooled_output):
    head = heads.ClassificationHead(harness.config(), C, 0.1)
    with pytest.raises(ValueError, match="axis H .* must be 21, got 20"):
        head(pooled_output[:, :-1])


def test_masked_lm_gradients_are_those_of_its_logits(sequence_output):
    """A loss of them all, against the change of the loss along the gradient."""
    head = harness.randomize(heads.MaskedLmHead(harness.config()))
    rng = np.random.default_rng(3)
    inputs = [tf.constant(sequence_output), tf.constant(rng.normal(size=(V, H)), tf.float32)]
    weights = rng.normal(size=(B, T, V)).astype(np.float32)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        loss = tf.reduce_sum(head(*inputs) * weights)
    for index, gradient in enumerate(tape.gradient(loss, inputs)):
        changed = list(inputs)
        size = 1e-2 / tf.norm(gradient)
        changes = []
        for sign in (1.0, -1.0):
            changed[index] = inputs[index] + sign * size * gradient
            changes.append(tf.reduce_sum(head(*changed) * weights))
        found = (changes[0] - changes[1]) / (2.0 * size)
        np.testing.assert_allclose(found, tf.reduce_sum(gradient**2), rtol=1e-2)
