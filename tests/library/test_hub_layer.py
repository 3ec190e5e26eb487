"""SavedModels of TensorFlow Hub as Keras layers: ours, and one with the names of published ones."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import bert_tf
from bert_tf.errors import InputError
from export import hub
from export.options import HubExport

INPUTS = ("input_word_ids", "input_mask", "input_type_ids")
TEXTS = ["how are you?", "rain is expected.", "a cat sits on the mat"]


@pytest.fixture(scope="module")
def bert(released):
    """The directory of a pre-trained model without dropout, so that trainings can be compared."""
    return released(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)


@pytest.fixture(scope="module")
def encoder_path(bert, tmp_path_factory):
    """Base path of an encoder with its masked LM."""
    folder = str(tmp_path_factory.mktemp("hub") / "encoder")
    hub.run(HubExport(model_dir=str(bert), export_dir=folder, export_type="model_with_mlm"))
    return folder


@pytest.fixture(scope="module")
def preprocessor_path(bert, tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("hub") / "text")
    options = {"export_type": "preprocessing", "default_seq_length": 13}
    hub.run(HubExport(model_dir=str(bert), export_dir=folder, **options))
    return folder


@pytest.fixture(scope="module")
def encoder(bert):
    """Our own layer with the same weights."""
    return bert_tf.Encoder.from_preset(bert)


@pytest.fixture
def batch(bert):
    return bert_tf.Tokenizer.from_preset(bert)(TEXTS)


def test_its_outputs_are_those_of_the_encoder(encoder_path, encoder, batch):
    got, want = bert_tf.HubLayer(encoder_path)(batch), encoder(batch)
    assert sorted(got) == ["default", "encoder_outputs", "pooled_output", "sequence_output"]
    np.testing.assert_allclose(got["pooled_output"], want["pooled_output"], atol=2e-6)
    np.testing.assert_allclose(got["sequence_output"], want["sequence_output"], atol=2e-6)


def test_integers_of_any_width(encoder_path, encoder, batch):
    wide = {name: column.astype(np.int64) for name, column in batch.items()}
    got = bert_tf.HubLayer(encoder_path)(wide)["pooled_output"]
    np.testing.assert_allclose(got, encoder(batch)["pooled_output"], atol=2e-6)


def test_its_weights_are_those_of_keras(encoder_path, encoder):
    layer = bert_tf.HubLayer(encoder_path, trainable=True)
    assert len(layer.trainable_weights) == len(encoder.variables) - 1  # its seeds of dropout
    assert [tuple(each.shape) for each in layer.trainable_weights] == [
        tuple(each.shape) for each in encoder.trainable_weights
    ]
    layer.trainable = False
    assert layer.trainable_weights == [] and len(layer.weights) == len(encoder.trainable_weights)
    assert bert_tf.HubLayer(encoder_path).trainable_weights == []


def classifier(layer, **arguments):
    """A functional model on a dict of inputs."""
    inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in INPUTS}
    logits = keras.layers.Dense(2, name="head")(layer(inputs)["pooled_output"])
    model = keras.Model(inputs, logits)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.5), loss, **arguments)
    return model


def test_fit_trains_its_weights_as_those_of_the_encoder(encoder_path, bert, batch):
    """Two updates of both change the weights alike."""
    labels = np.array([0, 1, 1])
    layers = (
        bert_tf.HubLayer(encoder_path, trainable=True),
        bert_tf.Encoder.from_preset(bert),
    )
    models = [classifier(layer) for layer in layers]
    models[1].get_layer("head").set_weights(models[0].get_layer("head").get_weights())
    before = [each.numpy() for each in layers[0].trainable_weights]
    for _ in range(2):
        losses = [model.train_on_batch(batch, labels) for model in models]
    np.testing.assert_allclose(*losses, rtol=1e-4)
    ours, theirs = ([x.numpy() for x in layer.trainable_weights] for layer in layers)
    changed = [np.abs(new - old).max() for new, old in zip(ours, before, strict=True)]
    assert min(changed) > 0
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


def test_weights_and_models_are_saved_and_loaded(encoder_path, batch, tmp_path):
    model = classifier(bert_tf.HubLayer(encoder_path, trainable=True))
    model.train_on_batch(batch, np.array([0, 1, 1]))
    want = model.predict(batch, verbose=0)
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(batch, verbose=0), want, atol=1e-6)
    fresh = classifier(bert_tf.HubLayer(encoder_path, trainable=True))
    assert np.abs(fresh.predict(batch, verbose=0) - want).max() > 1e-3
    fresh.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_allclose(fresh.predict(batch, verbose=0), want, atol=1e-6)


def test_texts_to_vectors_in_a_functional_model(preprocessor_path, encoder_path, encoder, bert):
    texts = keras.Input((), dtype="string")
    rows = bert_tf.HubLayer(preprocessor_path)(texts)
    model = keras.Model(texts, bert_tf.HubLayer(encoder_path)(rows)["pooled_output"])
    tokenizer = bert_tf.Tokenizer.from_preset(bert, max_seq_length=13, padding="max_length")
    want = encoder(tokenizer(TEXTS))["pooled_output"]
    np.testing.assert_allclose(model(tf.constant(TEXTS)), want, atol=2e-6)


def test_its_methods_and_their_arguments(preprocessor_path, encoder_path, batch):
    tokenize = bert_tf.HubLayer(preprocessor_path, method="tokenize")
    pack = bert_tf.HubLayer(
        preprocessor_path, method="bert_pack_inputs", arguments={"seq_length": 7}
    )
    rows = pack([tokenize(tf.constant(TEXTS))])
    np.testing.assert_array_equal(
        rows["input_word_ids"][1], np.append(batch["input_word_ids"][1], 0)[:7]
    )
    mlm = bert_tf.HubLayer(encoder_path, trainable=True, method="mlm")
    assert len(mlm.trainable_weights) == 5 + len(
        bert_tf.HubLayer(encoder_path, trainable=True).trainable_weights
    )
    logits = mlm({**batch, "masked_lm_positions": np.array([[1]] * 3)})["mlm_logits"]
    assert logits.shape[:2] == (3, 1)


class Published(tf.Module):
    """What a SavedModel of TensorFlow Hub has, as others write it: Keras 2 or plain TensorFlow."""

    def __init__(self):
        super().__init__()
        self.table = tf.Variable(tf.random.stateless_normal([11, 3], [1, 2]), name="table")
        self.statistics = tf.Variable(tf.ones([3]), trainable=False, name="statistics")
        self.__call__ = tf.function(self._call, autograph=False)
        inputs = {name: tf.TensorSpec([None, None], tf.int32, name=name) for name in INPUTS}
        for training in (False, True):
            self.__call__.get_concrete_function(inputs, training=training, mask=None)
        self.regularization_losses = [
            tf.function(lambda: 0.25 * tf.reduce_sum(self.table**2), input_signature=[])
        ]
        self.every = [self.table, self.statistics]

    def _call(self, inputs, training=None, mask=None):
        rows = tf.gather(self.table, inputs["input_word_ids"])
        return {"pooled_output": tf.reduce_sum(rows, 1) * (2.0 if training else 1.0)}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    root = tf.train.Checkpoint()
    module = Published()
    root.__call__, root.regularization_losses = module.__call__, module.regularization_losses
    root.variables, root.trainable_variables = module.every, [module.table]
    folder = str(tmp_path_factory.mktemp("published"))
    tf.saved_model.save(root, folder)
    return folder, module


def test_training_and_losses_of_another_model(published, batch):
    folder, module = published
    small = {name: np.minimum(column, 10) for name, column in batch.items()}
    want = module._call(small)["pooled_output"].numpy()
    layer = bert_tf.HubLayer(folder, trainable=True)
    np.testing.assert_allclose(layer(small)["pooled_output"], want)
    assert layer.losses == []
    np.testing.assert_allclose(layer(small, training=True)["pooled_output"], 2 * want)
    (loss,) = layer.losses
    np.testing.assert_allclose(loss, 0.25 * np.sum(module.table.numpy() ** 2), rtol=1e-6)
    assert len(layer.trainable_weights) == len(layer.non_trainable_weights) == 1
    frozen = bert_tf.HubLayer(folder)
    np.testing.assert_allclose(frozen(small, training=True)["pooled_output"], want)


def test_what_cannot_be_called(published, tmp_path):
    with pytest.raises(InputError, match="no callable 'mlm'"):
        bert_tf.HubLayer(published[0], method="mlm")
    root = tf.train.Checkpoint()
    root.encode = tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.int32)])
    tf.saved_model.save(root, str(tmp_path))
    with pytest.raises(InputError, match="no call of its own; what can be called: encode"):
        bert_tf.HubLayer(tmp_path)
    with pytest.raises(InputError, match="no SavedModel"):
        bert_tf.HubLayer(tmp_path / "nowhere")
