import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.library.encoder import Encoder
from bert_tf.library.text_embedder import TextEmbedder
from bert_tf.library.tokenizer import Tokenizer

TEXTS = ["rain", "a cat sits on the mat in paris", "how are you?"]


def by_hand(bert, pooling):
    """The vectors of `TEXTS`, each computed alone, without padding."""
    encoder, tokenizer = Encoder.from_preset(bert), Tokenizer.from_preset(bert)
    vectors = []
    for text in TEXTS:
        outputs = encoder(tokenizer([text]))
        sequence = np.asarray(outputs["sequence_output"], np.float64)[0]
        vectors.append(
            {"mean": sequence.mean(axis=0), "cls": sequence[0]}.get(
                pooling, np.asarray(outputs["pooled_output"])[0]
            )
        )
    return np.stack(vectors)


@pytest.mark.parametrize("pooling", ["mean", "cls", "pooled"])
def test_pooling(bert, pooling):
    embedder = TextEmbedder.from_preset(bert, pooling=pooling)
    wanted = by_hand(bert, pooling)
    vectors = embedder.predict(TEXTS, batch_size=2, verbose=0)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, wanted, rtol=0, atol=2e-6)
    np.testing.assert_allclose(embedder(tf.constant(TEXTS)), wanted, rtol=0, atol=2e-6)


def test_strings_alone_and_in_lists(bert):
    embedder = TextEmbedder.from_preset(bert, normalize=True)
    vectors = embedder(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=0, atol=1e-6)
    assert embedder(TEXTS[1]).shape == (14,)
    np.testing.assert_allclose(embedder(TEXTS[1]), vectors[1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(embedder((TEXTS, TEXTS))[1], embedder((TEXTS[1],) * 2), atol=1e-6)


def test_its_configuration_makes_the_same_model(bert):
    embedder = TextEmbedder.from_preset(bert, pooling="cls", normalize=True, max_seq_length=7)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(embedder))
    again.set_weights(embedder.get_weights())
    np.testing.assert_array_equal(again(TEXTS), embedder(TEXTS))
    assert again.get_config() == embedder.get_config()


def test_wrong_arguments(bert):
    with pytest.raises(InputError, match="pooling='max'; wanted one of: mean, cls, pooled"):
        TextEmbedder.from_preset(bert, pooling="max")
    with pytest.raises(InputError, match="max_seq_length=62 is beyond the model's 61 positions"):
        TextEmbedder.from_preset(bert, max_seq_length=62)
    with pytest.raises(InputError, match="no model has this name"):
        TextEmbedder.from_preset("no-such-model")
