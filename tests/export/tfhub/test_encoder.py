"""The encoder SavedModel against the model that it was made from."""

import pathlib

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import open_checkpoint, reading, variables
from bert_tf.modeling.models import PretrainingModel
from export.images import operations, saved_model
from export.tfhub.encoder import HubEncoder
from tests.checkpoints import samples
from tests.modeling import harness

# Training switches dropout on, with a rate of 0, so that its gradients can be compared.
CONFIG = harness.config(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
INPUTS = ("input_word_ids", "input_mask", "input_type_ids")


@pytest.fixture(scope="module")
def model():
    return harness.randomize(PretrainingModel(CONFIG, has_next_sentence=False))


def save(model, folder, do_lower_case):
    """Path of the SavedModel of a model."""
    config_file = folder / "bert_config.json"
    config_file.write_text(model.config.to_json())
    module = HubEncoder(model, samples.vocab_file(folder), str(config_file), do_lower_case)
    tf.saved_model.save(module, str(folder / "saved"), signatures=module.signatures())
    return str(folder / "saved")


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    return save(model, tmp_path_factory.mktemp("encoder"), do_lower_case=True)


@pytest.fixture(scope="module")
def loaded(path):
    return tf.saved_model.load(path)


@pytest.fixture(scope="module")
def batch():
    """The encoder's inputs and positions to predict."""
    every = harness.batch()
    return {name: tf.constant(every[name]) for name in (*INPUTS, "masked_lm_positions")}


@pytest.fixture(scope="module")
def inputs(batch):
    return {name: batch[name] for name in INPUTS}


def assert_close(got, want):
    assert got.dtype == tf.float32 and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=5e-6)


@pytest.mark.parametrize("arguments", [{}, {"training": False}, {"training": True}])
def test_the_outputs_are_those_of_the_model(loaded, model, inputs, arguments):
    got, want = loaded(inputs, **arguments), model.encoder(inputs)
    assert sorted(got) == ["default", "encoder_outputs", "pooled_output", "sequence_output"]
    assert_close(got["pooled_output"], want["pooled_output"])
    assert_close(got["default"], want["pooled_output"])
    assert_close(got["sequence_output"], want["sequence_output"])
    assert len(got["encoder_outputs"]) == harness.L
    for one, other in zip(got["encoder_outputs"], want["encoder_outputs"], strict=True):
        assert_close(one, other)
    assert_close(got["encoder_outputs"][-1], want["sequence_output"])


def test_the_masked_lm_is_that_of_the_model(loaded, model, batch, inputs):
    got = loaded.mlm(batch)
    assert_close(got["mlm_logits"], model(batch)["masked_lm_logits"])
    assert_close(got["sequence_output"], model.encoder(inputs)["sequence_output"])


def test_the_signature_for_servers(loaded, model, inputs):
    got = loaded.signatures["serving_default"](**inputs)
    assert sorted(got) == ["default", "pooled_output", "sequence_output"]
    assert_close(got["pooled_output"], model.encoder(inputs)["pooled_output"])


def gradients(outputs, weights):
    """Of a sum of all outputs with weights that differ; dense."""
    with tf.GradientTape() as tape:
        parts = [tf.reshape(x, [-1]) for x in outputs()]
        factors = [np.sin(np.arange(len(x), dtype=np.float32)) for x in parts]
        loss = tf.add_n([tf.tensordot(*pair, 1) for pair in zip(parts, factors, strict=True)])
    return [tf.convert_to_tensor(x).numpy() for x in tape.gradient(loss, weights)]


def assert_same_gradients(got, want):
    assert len(got) == len(want) > 5
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-5 * np.abs(want[0]).max())


@pytest.mark.parametrize("training", [False, True])
def test_gradients_reach_every_weight(loaded, model, inputs, training):
    """Those that are written out (`modeling.fused`) survive in the SavedModel."""

    def outputs_of(encoder):
        outputs = encoder(inputs, training=training)
        return [outputs["pooled_output"], *outputs["encoder_outputs"]]

    got = gradients(lambda: outputs_of(loaded), list(loaded.trainable_variables))
    weights = [each.value for each in model.encoder.variables]
    assert_same_gradients(got, gradients(lambda: outputs_of(model.encoder), weights))


def test_gradients_of_the_masked_lm_reach_its_head(loaded, model, batch):
    got = gradients(
        lambda: [loaded.mlm(batch, training=True)["mlm_logits"]],
        [each for each in loaded.mlm.trainable_variables if "pooler" not in each.name],
    )
    want = gradients(
        lambda: [model(batch, training=True)["masked_lm_logits"]],
        [each.value for each in model.variables if "pooler" not in each.path],
    )
    assert_same_gradients(got, want)


def test_training_drops_other_values_in_each_call(tmp_path):
    model = harness.randomize(PretrainingModel(harness.config(), has_next_sentence=False))
    loaded = tf.saved_model.load(save(model.encoder, tmp_path, do_lower_case=False))
    inputs = {name: tf.constant(x) for name, x in harness.batch().items() if name in INPUTS}
    one, other, kept = (
        loaded(inputs, training=training)["sequence_output"].numpy()
        for training in (True, True, False)
    )
    assert np.abs(one - other).max() > 0.1 and np.abs(one - kept).max() > 0.1
    assert not hasattr(loaded, "mlm") and loaded.do_lower_case.numpy() == np.False_


def test_its_variables(loaded, model):
    names = [each.name for each in loaded.trainable_variables]
    assert names == [f"{each.path}:0" for each in model.encoder.variables]
    assert [each.name for each in loaded.variables] == names
    heads = {each.name for each in loaded.mlm.trainable_variables} - set(names)
    assert heads == {f"{path}:0" for path in variables.shapes(CONFIG) if "masked_lm" in path}
    assert list(loaded.regularization_losses) == list(loaded.mlm.regularization_losses) == []
    assert loaded.do_lower_case.numpy() and not loaded.do_lower_case.trainable


def test_its_vocabulary_is_an_asset(path, loaded):
    (vocab_file,) = pathlib.Path(path).glob("assets/vocab.txt")
    assert loaded.vocab_file.asset_path.numpy().decode() == str(vocab_file)
    assert vocab_file.read_text().startswith("[PAD]\n")


def test_it_is_a_checkpoint_that_can_be_read(path, model):
    checkpoint = open_checkpoint(path)
    assert checkpoint.config == CONFIG and checkpoint.do_lower_case is True
    state_dict, report = reading.read(checkpoint)
    want = {each.path: each.numpy() for each in model.variables}
    samples.assert_equal_arrays(state_dict.arrays, want)
    assert state_dict.kind == "pretrain" and report.not_weights == ("do_lower_case",)


def test_it_needs_tensorflow_alone(path):
    assert operations.check(saved_model.read(path)).text_operations == ()
