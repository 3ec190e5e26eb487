"""The encoder as a layer of Keras models, and such models in files."""

import json
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.library.encoder import Encoder
from bert_tf.library.tokenizer import Tokenizer

ROOT = pathlib.Path(__file__).parents[2]
TEXTS = ["a cat sits on the mat", "rain", "how are you?"]

# The library's own way, and then Keras'.
PROGRAM = """
import sys
import bert_tf
import numpy as np
import tensorflow as tf
model = bert_tf.load(sys.argv[1])
texts = tf.constant(sys.argv[3:])
outputs = [model.predict(texts, verbose=0)]
import keras
outputs += [keras.saving.load_model(sys.argv[1]).predict(texts, verbose=0)]
np.save(sys.argv[2], outputs)
"""


@pytest.fixture(scope="module")
def model(bert):
    """Strings to one number, trained a little."""
    keras.utils.set_random_seed(3)
    texts = keras.Input(shape=(), dtype="string")
    ids = Tokenizer.from_preset(bert, max_seq_length=13)(texts)
    encoded = Encoder.from_preset(bert, name="text_encoder")(ids)
    model = keras.Model(texts, keras.layers.Dense(1)(encoded["pooled_output"]))
    model.compile(keras.optimizers.SGD(0.01), "mse")
    model.fit(tf.constant(TEXTS), tf.constant([1.0, 2.0, 3.0]), verbose=0)
    return model


def test_a_renamed_encoder_has_the_weights_of_the_preset(bert):
    batch = Tokenizer.from_preset(bert)(TEXTS)
    named, plain = Encoder.from_preset(bert, name="other"), Encoder.from_preset(bert)
    assert named.variables[0].path.startswith("other/")
    for name in ("sequence_output", "pooled_output"):
        np.testing.assert_array_equal(named(batch)[name], plain(batch)[name])


def test_training_changes_the_encoder_and_trainable_is_heeded(model, bert):
    encoder = model.get_layer("text_encoder")
    released = Encoder.from_preset(bert)
    pairs = zip(encoder.variables, released.variables, strict=True)
    assert any(np.any(ours.numpy() != theirs.numpy()) for ours, theirs in pairs)
    encoder.trainable = False
    assert len(model.trainable_variables) == 2
    encoder.trainable = True


def test_a_fresh_process_gives_the_same_outputs_bit_for_bit(model, tmp_path):
    model.save(tmp_path / "model.keras")
    command = [sys.executable, "-c", PROGRAM, "model.keras", "outputs.npy", *TEXTS]
    environment = {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": "-1"}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    wanted = model.predict(tf.constant(TEXTS), verbose=0)
    for outputs in np.load(tmp_path / "outputs.npy"):
        np.testing.assert_array_equal(outputs, wanted)


def test_without_a_pooler_the_encoder_warns(trained, tmp_path):
    from safetensors.numpy import save_file

    from bert_tf.checkpoints import open_checkpoint, read
    from bert_tf.checkpoints.formats.hugging_face import HuggingFace

    directory = trained("encoder")
    state_dict, _ = read(open_checkpoint(directory.path), skip=["encoder/pooler/.*"])
    arrays = HuggingFace().arrays(state_dict)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(directory.config.to_hugging_face()))
    with pytest.warns(UserWarning, match="has no pooler: `pooled_output` starts from random"):
        Encoder.from_preset(tmp_path)
