"""`load` finds out what is at a path."""

import json
import os
import shutil

import numpy as np
import pytest

import bert_tf
from bert_tf.errors import InputError
from bert_tf.library.loading import load
from bert_tf.library.masked_lm import MaskedLM
from bert_tf.library.question_answerer import QuestionAnswerer
from bert_tf.library.text_classifier import TextClassifier, TextRegressor
from bert_tf.library.text_embedder import TextEmbedder


@pytest.mark.parametrize(
    ("kind", "num_texts", "loaded"),
    [
        ("classify", 1, TextClassifier),
        ("regress", 2, TextRegressor),
        ("span", 2, QuestionAnswerer),
        ("pretrain", 2, MaskedLM),
        ("encoder", 1, TextEmbedder),
    ],
)
def test_the_output_directory_of_every_script(trained, kind, num_texts, loaded):
    directory = trained(kind, num_texts)
    model = load(directory.path)
    assert type(model) is loaded
    assert model.tokenizer.max_seq_length == 31
    ours = {variable.path: variable for variable in model.variables}
    trained_model = directory.build_model()
    for variable in trained_model.variables:
        if not variable.path.startswith("next_sentence"):
            np.testing.assert_array_equal(ours[variable.path], variable)


def test_released_checkpoints(bert, released):
    assert type(load(bert)) is MaskedLM
    assert type(load(released(is_causal=True))) is TextEmbedder  # it sees no right side


def test_an_export_answers_as_the_model_does(exported, topics):
    texts = ["rain in paris", "a cat"]
    wanted = load(topics.path)(texts)
    for path in (exported, exported / "1"):
        model = load(path)
        assert (model.labels, model.num_texts) == (topics.metadata.labels, 1)
        for got, answer in zip(model(texts), wanted, strict=True):
            assert got.label == answer.label
            np.testing.assert_allclose(
                list(got.probabilities.values()), list(answer.probabilities.values()), atol=1e-5
            )
        assert model(texts[0]).label == wanted[0].label
    with pytest.raises(ValueError, match="This model takes single texts"):
        model(("rain", "mat"))


def test_what_cannot_be_loaded(trained, tmp_path):
    with pytest.raises(InputError, match="no model has this name"):
        load("no-such-model")
    os.makedirs(tmp_path / "models" / "3")
    with pytest.raises(InputError, match="is the newest version and has no saved_model.pb"):
        load(tmp_path / "models")
    directory = trained("classify")
    shutil.copytree(directory.path, tmp_path / "tags")
    metadata = json.loads((tmp_path / "tags/model.json").read_text()) | {"kind": "multi_label"}
    (tmp_path / "tags/model.json").write_text(json.dumps(metadata))
    with pytest.raises(InputError, match="kind .multi_label., which has no class in Python"):
        load(tmp_path / "tags")


def test_the_names_of_the_package_are_these_classes():
    assert bert_tf.TextClassifier is TextClassifier and bert_tf.load is load
    assert set(bert_tf.__all__) <= set(dir(bert_tf))
    assert all(getattr(bert_tf, name) for name in bert_tf.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Classifier'"):
        bert_tf.Classifier  # noqa: B018
