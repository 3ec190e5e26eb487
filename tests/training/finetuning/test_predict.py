"""Answers come in the order of the rows and do not depend on the batch they were computed in."""

import keras
import numpy as np
import pytest

from bert_tf import features
from bert_tf.config import BertConfig
from bert_tf.examples.rows import Rows
from bert_tf.modeling import models
from bert_tf.training.devices import strategies
from bert_tf.training.finetuning.predict import Predictor

CONFIG = BertConfig(
    vocab_size=31,
    hidden_size=22,
    num_hidden_layers=2,
    num_attention_heads=11,
    intermediate_size=37,
    max_position_embeddings=17,
    initializer_range=0.5,  # so that different rows have clearly different logits
)
NUM_ROWS = 13


def rows():
    rng = np.random.default_rng(5)
    word_ids = [rng.integers(1, 31, rng.integers(2, 17)).tolist() for _ in range(NUM_ROWS)]
    type_ids = [[0, *[1] * (len(row) - 1)] for row in word_ids]
    labels = {features.LABEL_IDS.name: np.zeros(NUM_ROWS, np.int32)}
    return Rows(word_ids, type_ids, labels)


@pytest.fixture(scope="module")
def classifier():
    keras.utils.set_random_seed(3)
    return models.ClassifierModel(CONFIG, num_classes=3)


@pytest.fixture(scope="module")
def alone(classifier):
    """Logits of each row computed on its own, without the code under test."""
    data = rows()
    outputs = [classifier(data.batch([i]))["logits"] for i in range(NUM_ROWS)]
    logits = np.concatenate([np.asarray(output) for output in outputs])
    gaps = np.abs(logits[:, None] - logits[None, :]).max(axis=-1)
    assert gaps[~np.eye(NUM_ROWS, dtype=bool)].min() > 1e-3  # no two rows could be swapped
    return logits


@pytest.mark.parametrize("batch_size", [1, 2, 5, 13, 100])
def test_logits_are_those_of_each_row_alone_in_order(classifier, alone, batch_size):
    found = Predictor(classifier).logits(rows(), batch_size)
    assert {logits.dtype for logits in found} == {np.dtype(np.float32)}
    np.testing.assert_allclose(found, alone, atol=1e-5)


def test_a_model_is_traced_once_whatever_the_sizes_of_the_batches(classifier):
    predictor = Predictor(classifier)
    for batch_size in (1, 5, 100):
        predictor.logits(rows(), batch_size)
    (graph,) = predictor._graphs.values()
    assert graph.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("lengths", [None, [17]])
def test_replicas_share_a_batch_whose_shapes_may_be_static(lengths, alone):
    strategy = strategies.mirrored(["cpu:0", "cpu:1"])
    keras.utils.set_random_seed(3)
    with strategy.scope():
        model = models.ClassifierModel(CONFIG, num_classes=3)
    predictor = Predictor(model, strategy, lengths)
    np.testing.assert_allclose(predictor.logits(rows(), 5), alone, atol=1e-5)
    (graph,) = predictor._graphs.values()
    assert graph.experimental_get_tracing_count() == 1


def test_xla_compiles_static_shapes(classifier, alone):
    compiled = Predictor(classifier, lengths=[17], jit_compile=True)
    np.testing.assert_allclose(compiled.logits(rows(), 5), alone, atol=1e-5)


def test_a_predictor_sees_weights_that_have_changed(classifier, alone):
    predictor = Predictor(classifier)
    predictor.logits(rows(), 5)
    bias = classifier.classifier.bias
    bias.assign(bias + 2.0)
    try:
        np.testing.assert_allclose(predictor.logits(rows(), 5), alone + 2.0, atol=1e-5)
    finally:
        bias.assign(bias - 2.0)


def test_batches_name_their_rows_and_give_every_logit_by_name():
    keras.utils.set_random_seed(3)
    model, data = models.SpanModel(CONFIG), rows()
    seen = []
    for indices, outputs in Predictor(model).batches(data, 5):
        assert outputs.keys() == {"logits"}
        seen += indices.tolist()
        for place, row in enumerate(indices):
            wanted = model(data.batch([row]))
            length = data.lengths[row]
            for name, value in outputs.items():
                np.testing.assert_allclose(value[place, :, :length], wanted[name][0], atol=1e-4)
    assert sorted(seen) == list(range(NUM_ROWS))
    assert data.lengths[seen[0]] == max(data.lengths)
