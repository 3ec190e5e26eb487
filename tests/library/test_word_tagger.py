"""Taggers on strings: those of a training, and exported ones."""

import numpy as np
import pytest

from bert_tf import features
from bert_tf.examples import iob
from bert_tf.examples.labelled import TokenExample
from bert_tf.library.loading import load
from bert_tf.library.word_tagger import TaggedText, WordTagger
from bert_tf.tasks import registry
from bert_tf.text import words
from bert_tf.text.wordpiece import WordPieceTokenizer

LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
TEXTS = ["How's Paris (France)?", "", "rain sits on the cat. " * 11, b"a \xffcat", " "]


@pytest.fixture(scope="module")
def directory(trained):
    import keras

    keras.utils.set_random_seed(29)
    return trained("tag", task="conll-2003", labels=LABELS)


@pytest.fixture(scope="module")
def tagger(directory):
    return load(directory.path)


def test_words_have_the_tags_that_a_prediction_gives_them(directory, tagger):
    assert type(tagger) is WordTagger and tagger.labels == LABELS
    task = registry.of_model(directory.metadata)
    tokenizer = WordPieceTokenizer(directory.vocabulary, do_lower_case=True)
    model = directory.build_model()
    answers = tagger(TEXTS, batch_size=2)
    for text, answer in zip(TEXTS, answers, strict=True):
        source = text.decode("utf-8", "ignore") if isinstance(text, bytes) else text
        rows = task.encode([TokenExample("", tuple(words.of(source)))], tokenizer, 31)
        labels = rows.labels[features.TOKEN_LABEL_IDS.name]
        logits = [
            np.asarray(model(rows.batch(np.array([row])), training=False)["logits"])[0]
            for row in range(len(rows))
        ]
        of_words = np.concatenate([x[ids >= 0] for x, ids in zip(logits, labels, strict=True)])
        tags = [LABELS[index] for index in of_words.argmax(axis=1)]
        assert [word.text for word in answer.words] == words.of(source)
        assert [word.tag for word in answer.words] == tags
        assert [(word.start, word.end) for word in answer.words] == words.split(source)
        shares = np.exp(of_words) / np.exp(of_words).sum(axis=1, keepdims=True)
        chances = [word.probability for word in answer.words]
        np.testing.assert_allclose(chances, shares.max(axis=1, initial=0), atol=1e-5)
        wanted = iob.entities(tags)
        assert [entity.type for entity in answer.entities] == [each.type for each in wanted]
        for entity, each in zip(answer.entities, wanted, strict=True):
            span = (answer.words[each.first].start, answer.words[each.end - 1].end)
            assert (entity.start, entity.end) == span
            assert entity.text == source[slice(*span)]
            mean = np.mean(chances[each.first : each.end])
            assert entity.probability == pytest.approx(mean, abs=1e-6)
    assert any(answer.entities for answer in answers)


def test_one_text_has_one_answer(tagger):
    assert tagger(TEXTS[0]) == tagger(TEXTS[:1])[0]
    assert tagger("") == TaggedText((), ())
    with pytest.raises(ValueError, match="takes single texts"):
        tagger(("a", "b"))


def test_an_export_answers_as_the_model_does(directory, tagger, export_of):
    exported = load(export_of(directory, "tags"))
    assert (exported.labels, exported.num_texts) == (LABELS, 1)
    for got, want in zip(exported(TEXTS), tagger(TEXTS), strict=True):
        for ours, theirs in ((got.words, want.words), (got.entities, want.entities)):
            for entry, wanted in zip(ours, theirs, strict=True):
                assert entry.probability == pytest.approx(wanted.probability, abs=1e-5)
                assert entry._replace(probability=0) == wanted._replace(probability=0)
    assert exported(TEXTS[0]).words[0].text == "How"


def test_tags_of_other_things_mark_no_entities(trained):
    tagger = load(trained("tag", task="pos", labels=("NOUN", "VERB")).path)
    answer = tagger("a cat sits")
    assert {word.tag for word in answer.words} <= {"NOUN", "VERB"}
    assert answer.entities == ()
