"""Classifiers and regressors from lists: trained, asked, saved; and what they refuse."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.library import text_classifier
from bert_tf.library.text_classifier import Classification, TextClassifier, TextRegressor
from bert_tf.modeling import dropout
from bert_tf.training.devices import strategies

TEXTS = ["good rain", "bad rain", "how good", "so bad", "good mat", "bad mat", "good", "bad"]
LABELS = ["good" if "good" in text else "bad" for text in TEXTS]


@pytest.fixture(scope="module")
def fitted(bert):
    """A classifier of a word that the texts have or have not, and its history."""
    keras.utils.set_random_seed(11)
    classifier = TextClassifier.from_preset(bert, labels=["bad", "good"], max_seq_length=11)
    classifier.compile(learning_rate=0.01)
    history = classifier.fit(
        TEXTS, LABELS, epochs=12, batch_size=3, validation_data=(TEXTS[:3], LABELS[:3]), verbose=0
    )
    return classifier, history.history


def test_it_learns_from_lists(fitted):
    classifier, history = fitted
    assert history["accuracy"][-1] == history["val_accuracy"][-1] == 1.0
    assert history["loss"][-1] < history["loss"][0] / 2
    scores = classifier.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)
    assert scores["accuracy"] == 1.0
    assert classifier.evaluate(np.array(TEXTS), [1, 0] * 4, verbose=0)[1] == 1.0


def test_it_answers_strings_with_labels(fitted):
    classifier, _ = fitted
    answers = classifier(TEXTS)
    assert [answer.label for answer in answers] == LABELS
    one = classifier(TEXTS[1])
    assert isinstance(one, Classification) and one.label == "bad"
    assert one.probability == one.probabilities["bad"] > one.probabilities["good"]
    assert list(one.probabilities) == ["bad", "good"]


def test_predict_gives_the_softmax_of_the_logits_in_the_order_of_the_texts(fitted):
    classifier, _ = fitted
    logits = np.asarray(classifier(tf.constant(TEXTS)), np.float64)
    wanted = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    for x in (TEXTS, classifier.tokenizer(TEXTS)):
        got = classifier.predict(x, batch_size=3, verbose=0)
        np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-6)


def test_a_file_keeps_weights_labels_vocabulary_and_optimizer(fitted, tmp_path):
    classifier, _ = fitted
    classifier.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.get_config() == classifier.get_config()
    np.testing.assert_array_equal(
        again.predict(TEXTS, verbose=0), classifier.predict(TEXTS, verbose=0)
    )
    pairs = zip(again.optimizer.variables, classifier.optimizer.variables, strict=True)
    assert all(np.array_equal(ours, theirs) for ours, theirs in pairs)
    assert int(again.optimizer.iterations) == 36
    assert again.get_compile_config() == classifier.get_compile_config()


def test_a_trained_classifier_keeps_its_head_and_labels(topics):
    classifier = TextClassifier.from_preset(topics.path)
    assert classifier.labels == topics.metadata.labels
    batch = classifier.tokenizer(TEXTS)
    wanted = topics.build_model()(batch)["logits"]
    np.testing.assert_allclose(classifier(batch), wanted, rtol=0, atol=1e-6)
    new = TextClassifier.from_preset(topics.path, labels=["x", "y"])
    assert new(batch).shape == (8, 2)


def test_validation_split_takes_the_last_rows(fitted, monkeypatch):
    classifier, _ = fitted
    seen = {}

    def fit(self, data_set, validation_data, **kwargs):
        for name, batches in (("train", data_set), ("validation", validation_data)):
            seen[name] = [label for _, labels, _ in batches for label in labels.numpy()]

    monkeypatch.setattr(keras.Model, "fit", fit)
    labels = ["bad", "bad", "good", "bad", "good", "good", "good", "good"]
    weights = np.arange(8.0)
    classifier.fit(TEXTS, labels, validation_split=0.25, sample_weight=weights, shuffle=False)
    assert seen == {"train": [0, 0, 1, 0, 1, 1], "validation": [1, 1]}
    with pytest.raises(ValueError, match="validation_split=0.95 of 8 texts leaves"):
        classifier.fit(TEXTS, labels, validation_split=0.95)


def test_rows_are_shuffled_in_every_epoch_and_padded_to_their_batch(fitted, monkeypatch):
    classifier, _ = fitted
    data_sets = []
    monkeypatch.setattr(
        keras.Model, "fit", lambda self, data_set, **kwargs: data_sets.append(data_set)
    )
    texts = ["a" + " mat" * count for count in range(7)]
    classifier.fit(texts, ["bad"] * 7, batch_size=1)
    (data_set,) = data_sets
    assert data_set.cardinality() == 7
    epochs = [[inputs["input_mask"].shape[1] for inputs, _ in data_set] for _ in range(2)]
    assert epochs[0] != epochs[1]
    assert sorted(epochs[0]) == sorted(epochs[1]) == [3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("labels", "y", "positions"),
    [
        (("no", "yes"), ["yes", "no"], [1, 0]),
        (("no", "yes"), [1, 0], [1, 0]),
        (("no", "yes"), np.array(["no"]), [0]),
        ((1, 3, 5), np.array([5, 1, 3]), [2, 0, 1]),
        ((0, 1), [True, False], [1, 0]),
    ],
)
def test_labels_become_positions(labels, y, positions):
    assert text_classifier._positions(np.asarray(y).tolist(), labels) == positions


@pytest.mark.parametrize(
    ("labels", "y"), [(("no", "yes"), ["no", "maybe"]), ((1, 3), [1, 2]), (("no", "yes"), [0, 2])]
)
def test_an_unknown_label_is_named(labels, y):
    with pytest.raises(ValueError, match=rf"y\[1\] is {y[1]!r}, which is not among the labels: "):
        text_classifier._positions(y, labels)


def test_two_replicas_train_with_dropout_masks_of_their_own(bert, monkeypatch):
    seeds = []
    step_seed = dropout.step_seed
    monkeypatch.setattr(dropout, "step_seed", lambda seed: seeds.append(seed) or step_seed(seed))
    strategy = strategies.mirrored(["CPU:0", "CPU:1"])
    with strategy.scope():
        classifier = TextClassifier.from_preset(bert, labels=["bad", "good"], max_seq_length=11)
        classifier.compile(optimizer=keras.optimizers.SGD(0.1))

    @tf.function
    def drawn():
        seeds.clear()
        batch = classifier.tokenizer.call(tf.constant(TEXTS))
        strategy.run(lambda: classifier(batch, training=True))
        return tf.stack(seeds)

    per_call = [drawn().numpy().tolist() for _ in range(2)]
    assert len({tuple(seed) for found in per_call for seed in found}) == 8  # encoder and head
    history = classifier.fit(TEXTS[:5], LABELS[:5], batch_size=2, verbose=0).history
    assert np.isfinite(history["loss"][0])


def test_regression_of_pairs(bert, tmp_path):
    regressor = TextRegressor.from_preset(bert, max_seq_length=11)
    pairs = (TEXTS[:3], TEXTS[3:6])
    scores = regressor(pairs)
    assert scores.shape == (3,) and scores.dtype == np.float32
    np.testing.assert_allclose(scores[1], regressor((pairs[0][1], pairs[1][1])), atol=1e-6)
    regressor.compile()
    wanted = [1.0, 2.0, 4.0]
    result = regressor.evaluate(pairs, wanted, verbose=0, return_dict=True)
    np.testing.assert_allclose(result["loss"], np.mean((scores - wanted) ** 2), rtol=1e-5)
    np.testing.assert_allclose(result["mae"], np.mean(np.abs(scores - wanted)), rtol=1e-5)
    with pytest.raises(ValueError, match="Numbers were wanted as targets, not 'good'"):
        regressor.fit(pairs, ["good"] * 3)


def test_wrong_arguments(bert, fitted):
    with pytest.raises(InputError, match="is not a trained classifier: it has no labels"):
        TextClassifier.from_preset(bert)
    with pytest.raises(TypeError, match="labels='ab' is one string"):
        TextClassifier.from_preset(bert, labels="ab")
    with pytest.raises(InputError, match="at least two labels were wanted"):
        TextClassifier.from_preset(bert, labels=["a", "a"])
    with pytest.raises(TypeError, match="must be all strings or all integers"):
        TextClassifier.from_preset(bert, labels=["a", 1])
    classifier, _ = fitted
    with pytest.raises(ValueError, match="There are 2 texts and 1 labels"):
        classifier.fit(["a", "b"], ["good"])
    with pytest.raises(ValueError, match="There are texts and no labels"):
        classifier.fit(["a", "b"])
