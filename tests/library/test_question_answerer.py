"""Answers of a model whose logits are known: places in the context, windows, no answer."""

import keras
import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.library.question_answerer import Answer, QuestionAnswerer

CONTEXT = "A cat sits on the mat. " * 9 + "Rain is  expected in Paris. " + "How are you? " * 9


@pytest.fixture(scope="module")
def answerer(trained):
    return QuestionAnswerer.from_preset(trained("span", 2, task="squad-1.1").path)


def pointing_at(model, first, last, null=-9.0):
    """Makes the logits of the model those of a reader who knows the answer's tokens."""
    ids = model.tokenizer.vocabulary.ids

    def logits(batch):
        words = np.asarray(batch["input_word_ids"])
        real = np.asarray(batch["input_mask"]) > 0
        scores = [np.where(words == ids[token], 5.0, -5.0) for token in (first, last)]
        for each in scores:
            each[:, 0] = null
        names = ("start_logits", "end_logits")
        return {n: np.where(real, s, -1e9) for n, s in zip(names, scores, strict=True)}

    return logits


def test_an_answer_behind_many_windows_is_found_in_its_place(answerer, monkeypatch):
    monkeypatch.setattr(answerer, "predict_on_batch", pointing_at(answerer, "rain", "paris"))
    answer = answerer("What is expected?", CONTEXT)
    start = CONTEXT.index("Rain")
    assert answer == Answer("Rain is  expected in Paris", answer.probability, start, start + 26)
    assert CONTEXT[answer.start : answer.end] == answer.text and answer.probability > 0.9
    assert answerer(["What?", "Where?"], CONTEXT) == [
        answerer("What?", CONTEXT),
        answerer.ask("Where?", CONTEXT),
    ]


def test_where_the_text_occurs_before_the_answer(answerer, monkeypatch):
    """The place comes from the tokens that were chosen, not from a search for the text."""
    monkeypatch.setattr(answerer, "predict_on_batch", pointing_at(answerer, "mat", "mat"))
    answer = answerer("What?", "The format of a mat.")
    assert (answer.text, answer.start, answer.end) == ("mat", 16, 19)


def test_no_answer_of_squad_2(trained, monkeypatch):
    model = QuestionAnswerer.from_preset(trained("span", 2, task="squad-2.0").path)
    assert model.may_be_unanswerable
    monkeypatch.setattr(model, "predict_on_batch", pointing_at(model, "rain", "rain", null=9.0))
    answer = model("What is expected?", "Rain is expected.")
    assert (answer.text, answer.start, answer.end) == ("", None, None) and answer.probability > 0.9


def test_it_computes_what_the_trained_model_computes(trained):
    directory = trained("span", 2, task="squad-1.1")
    model = QuestionAnswerer.from_preset(directory.path)
    batch = model.tokenizer(["What is expected?"], ["Rain."])
    wanted = np.asarray(directory.build_model()(batch)["logits"])
    found = model(batch)
    np.testing.assert_allclose(found["start_logits"], wanted[:, 0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(found["end_logits"], wanted[:, 1], rtol=0, atol=1e-6)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(model))
    assert again.get_config() == model.get_config()


def test_wrong_input(answerer, bert):
    with pytest.raises(TypeError, match="A question needs a context"):
        answerer("What is expected?")
    with pytest.raises(ValueError, match="a list of 2 as first and a list of 1 as second"):
        answerer(["What?", "Who?"], ["Rain."])
    with pytest.raises(InputError, match="has no head for question answering"):
        QuestionAnswerer.from_preset(bert)
