"""An exported tagger: the tags and entities of the Python path, whatever it is asked."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.model_directory import new_model
from bert_tf.examples import iob
from bert_tf.examples.labelled import TokenExample
from bert_tf.examples.rows import encoder_inputs
from bert_tf.tasks import registry
from bert_tf.text import words
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.kinds import checks, table
from export.kinds.module import Served
from export.version import report, verify
from serving.models import servable, warmup
from serving.rest_api import json_reading, json_writing

LABELS = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC")
FOX = "The quick brown fox jumps over a lazy dog. "
TEXTS = [
    FOX,
    "",
    "The fox's (quick) dog didn't jump, U.S.-born!",
    " \t\n\u200b",
    "👍🏽 fox e\u0301 \u0301x \ufeffdog\u200b 東京 a-z \uffff",
    b"caf\xc3\xa9 \xff\xfe dog, the \xe2\x82fox",
    "dog",
    FOX * 60,  # 600 words
    "a" * 300 + " fox",
    *["a fox " * n + "over dog" * (n % 3) for n in range(5)],
]
OF_WORDS = {
    "words": tf.string,
    "starts": tf.int32,
    "ends": tf.int32,
    "tags": tf.string,
    "scores": tf.float32,
}
OF_ENTITIES = {
    "entities": tf.string,
    "entity_types": tf.string,
    "entity_starts": tf.int32,
    "entity_ends": tf.int32,
    "entity_scores": tf.float32,
}


@pytest.fixture(scope="module")
def case(model_directory, export_case, tmp_path_factory):
    import keras

    keras.utils.set_random_seed(23)
    directory = model_directory("tag", 1, task="conll-2003", labels=LABELS)
    return export_case(directory, tmp_path_factory.mktemp("models") / "tags")


@pytest.fixture(scope="module")
def loaded(case, loaded_version):
    return loaded_version(case)


def text_of(text):
    return text.decode("utf-8", "ignore") if isinstance(text, bytes) else text


def offline(case, sentences, max_seq_length=31):
    """Probabilities [N C] of the words of each sentence, its rows computed one by one."""
    task = registry.of_model(case.directory.metadata)
    tokenizer = WordPieceTokenizer(case.directory.vocabulary, do_lower_case=True)
    found = []
    for sentence in sentences:
        rows = task.encode([TokenExample("", tuple(sentence))], tokenizer, max_seq_length)
        labels = rows.labels[features.TOKEN_LABEL_IDS.name]
        probabilities = [
            tf.nn.softmax(
                case.model(encoder_inputs([ids], [[0] * len(ids)]), training=False)["logits"]
            )[0].numpy()[of_row >= 0]
            for ids, of_row in zip(rows.word_ids, labels, strict=True)
        ]
        found.append(np.concatenate(probabilities))
    return found


def answers_of(loaded, texts):
    return {name: tensor.numpy() for name, tensor in loaded.__call__(tf.constant(texts)).items()}


@pytest.fixture(scope="module")
def together(loaded):
    return answers_of(loaded, TEXTS)


def assert_tags_are(answers, probabilities):
    """The tags and scores of all texts, and nothing behind them."""
    for number, want in enumerate(probabilities):
        size = len(want)
        tags = [LABELS[index] for index in want.argmax(axis=1)]
        assert [tag.decode() for tag in answers["tags"][number, :size]] == tags
        np.testing.assert_allclose(
            answers["scores"][number, :size], want.max(axis=1, initial=0), atol=1e-5
        )
        assert not answers["tags"][number, size:].any()
        assert not answers["scores"][number, size:].any()


def test_words_and_their_tags_are_those_of_the_python_path(case, together):
    spans = [words.split(text_of(text)) for text in TEXTS]
    for number, (text, want) in enumerate(zip(TEXTS, spans, strict=True)):
        size = len(want)
        positions = zip(
            *(together[name][number, :size] for name in ("starts", "ends")), strict=True
        )
        assert list(positions) == want
        found = [word.decode() for word in together["words"][number]]
        assert found[:size] == words.of(text_of(text))
        assert not any(found[size:])
        assert (together["starts"][number, size:] == -1).all()
        assert (together["ends"][number, size:] == -1).all()
    probabilities = offline(case, [words.of(text_of(text)) for text in TEXTS])
    assert len({label for want in probabilities for label in want.argmax(axis=1)}) > 3
    assert_tags_are(together, probabilities)


def test_entities_are_those_that_the_tags_mark(together):
    counts = []
    for number, text in enumerate(TEXTS):
        spans = words.split(text_of(text))
        tags = [tag.decode() for tag in together["tags"][number, : len(spans)]]
        found = iob.entities(tags)
        counts.append(len(found))
        row = {name: together[name][number] for name in OF_ENTITIES}
        for index, entity in enumerate(found):
            start, end = spans[entity.first][0], spans[entity.end - 1][1]
            assert (row["entity_starts"][index], row["entity_ends"][index]) == (start, end)
            assert row["entities"][index].decode() == text_of(text)[start:end]
            assert row["entity_types"][index].decode() == entity.type
            scores = together["scores"][number, entity.first : entity.end]
            np.testing.assert_allclose(row["entity_scores"][index], scores.mean(), atol=1e-6)
        assert (row["entity_starts"][len(found) :] == -1).all()
        assert (row["entity_ends"][len(found) :] == -1).all()
        assert not any(row[name][len(found) :].any() for name in ("entities", "entity_scores"))
    assert max(counts) > 100
    assert together["entities"].shape[1] == max(counts)


def test_an_answer_does_not_depend_on_its_neighbours(loaded, together):
    for number, text in enumerate(TEXTS):
        alone = answers_of(loaded, [text])
        for name, column in together.items():
            size = alone[name].shape[1]
            if column.dtype == np.float32:
                np.testing.assert_allclose(alone[name][0], column[number, :size], atol=1e-5)
            else:
                np.testing.assert_array_equal(alone[name][0], column[number, :size])


def test_outputs_have_a_batch_dimension_and_no_text_is_answered(loaded):
    signature = loaded.signatures["serving_default"]
    for texts in ([], ["", " "]):
        answer = signature(text=tf.constant(texts, tf.string))
        assert {name: (x.dtype, tuple(x.shape)) for name, x in answer.items()} == {
            name: (dtype, (len(texts), 0)) for name, dtype in (OF_WORDS | OF_ENTITIES).items()
        }
    of_words = OF_ENTITIES | {"tags": tf.string, "scores": tf.float32}
    for shape in ((0, 0), (0, 5), (3, 0), (2, 1)):
        answer = loaded.signatures["words"](words=tf.fill(shape, ""))
        assert {name: (x.dtype, tuple(x.shape)) for name, x in answer.items()} == {
            name: (dtype, (shape[0], 0) if name in OF_ENTITIES else shape)
            for name, dtype in of_words.items()
        }
    for shape in ((0, 0), (0, 5), (3, 5)):
        names = ("input_word_ids", "input_mask", "input_type_ids")
        answer = loaded.signatures["ids"](**{name: tf.zeros(shape, tf.int32) for name in names})
        assert {name: tuple(x.shape) for name, x in answer.items()} == {
            "logits": (*shape, 7),
            "probabilities": (*shape, 7),
            "tags": shape,
            "labels": (shape[0], 7),
        }


def test_one_text_is_answered_without_a_batch_dimension(loaded, together):
    answer = loaded(FOX)
    assert [word.decode() for word in answer["words"].numpy()] == words.of(FOX)
    np.testing.assert_array_equal(answer["tags"], together["tags"][0, :10])
    assert [label.decode() for label in loaded.labels.numpy()] == list(LABELS)


def test_words_that_are_split_already(case, loaded):
    sentences = [
        ["the", "quick", "", "U.S.-born fox", "", "dog"],
        [],
        ["\u200b", "a" * 300, *["over"] * 31],
        ["dog"],
    ]
    most = max(map(len, sentences))
    given = [[*sentence, *[""] * (most - len(sentence))] for sentence in sentences]
    answer = loaded.signatures["words"](words=tf.constant(given))
    answer = {name: tensor.numpy() for name, tensor in answer.items()}
    places = [[i for i, word in enumerate(sentence) if word] for sentence in sentences]
    sentences = [[word for word in sentence if word] for sentence in sentences]
    in_order = {
        name: np.array(
            [[*row[at], *np.delete(row, at)] for row, at in zip(answer[name], places, strict=True)]
        )
        for name in ("tags", "scores")
    }
    assert_tags_are(in_order, offline(case, sentences))
    for number, (sentence, at) in enumerate(zip(sentences, places, strict=True)):
        tags = [tag.decode() for tag in in_order["tags"][number, : len(sentence)]]
        wanted = [
            (" ".join(sentence[e.first : e.end]), e.type, at[e.first], at[e.end - 1] + 1)
            for e in iob.entities(tags)
        ]
        names = ("entities", "entity_types", "entity_starts", "entity_ends")
        columns = [answer[name][number, : len(wanted)].tolist() for name in names]
        found = list(zip(*columns, strict=True))
        assert [(a.decode(), b.decode(), c, d) for a, b, c, d in found] == wanted
        assert not answer["entities"][number, len(wanted) :].any()


def test_logits_of_ids(case, loaded):
    rows = [[3, 58, 61, 4], [3, 4], [3, *[59] * 29, 4]]
    batch = encoder_inputs(rows, [[0] * len(row) for row in rows], length=37)
    answer = loaded.signatures["ids"](**{name: tf.constant(x) for name, x in batch.items()})
    for number, row in enumerate(rows):
        alone = encoder_inputs([row], [[0] * len(row)])
        want = case.model(alone, training=False)["logits"][0].numpy()
        np.testing.assert_allclose(answer["logits"][number, : len(row)], want, atol=1e-5)
        tags = [tag.decode() for tag in answer["tags"][number].numpy()]
        assert tags == [LABELS[i] for i in want.argmax(axis=1)] + [""] * (37 - len(row))
        total = answer["probabilities"][number].numpy().sum(axis=1)
        np.testing.assert_allclose(total, [1] * len(row) + [0] * (37 - len(row)), atol=1e-6)
        assert not answer["logits"][number, len(row) :].numpy().any()
    assert [label.decode() for label in answer["labels"][0].numpy()] == list(LABELS)


def make(directory, max_seq_length=31):
    """A module that is not exported, as a case."""
    model = new_model(directory.config, directory.metadata)
    served = Served(model=model, directory=directory, max_seq_length=max_seq_length, chunk_rows=5)
    return dataclasses.make_dataclass("Case", ["directory", "model", "module"])(
        directory, model, table.make(served)
    )


def test_rows_of_a_long_text_are_filled_up_with_its_words(model_directory):
    settings = {"document_context": True}
    case = make(model_directory("tag", 1, task="conll-2003", labels=LABELS, settings=settings))
    texts = [FOX * 7, FOX]
    answers = answers_of(case.module, texts)
    assert_tags_are(answers, offline(case, map(words.of, texts)))
    case.module.text_difference(answers, [(text,) for text in texts])


def test_tags_of_other_things_than_entities_on_a_frozen_encoder(model_directory):
    labels = ("NOUN", "VERB", "DET")
    frozen = {"feature_based": "embeddings", "lstm_units": 7}
    case = make(model_directory("tag", 1, task="pos", labels=labels, **frozen))
    answers = answers_of(case.module, TEXTS[:4])
    assert answers.keys() == OF_WORDS.keys()
    rows = [(text,) for text in TEXTS[:4]]
    assert case.module.text_difference(answers, rows) < 1e-5


def test_another_models_graph_is_a_mismatch(case, other_weights):
    exported = case.exported
    assert exported.difference < 1e-5
    of_words = {"words": exported.signatures["words"]}
    message = "Signature words .* the Python path"
    with other_weights(case.model), pytest.raises(checks.Mismatch, match=message):
        verify.largest_difference(exported.path, exported.module, of_words)


def test_the_server_answers_rows_and_runs_the_warm_up_requests(case, together):
    loaded = servable.Servable("tags", 1, case.exported.path)
    assert warmup.run(loaded) == 6
    signature = loaded.signature("")
    inputs = {name: spec.dtype for name, spec in signature.inputs.items()}
    form, feeds = json_reading.read({"instances": [FOX, "dog"]}, inputs, 2**20)
    answer = loaded.run("", feeds)
    body = b"".join(json_writing.prediction(form, answer, signature.outputs))
    rows = json.loads(body)["predictions"]
    assert rows[0]["words"] == words.of(FOX)
    assert rows[0]["tags"] == [tag.decode() for tag in together["tags"][0, :10]]
    assert rows[1]["starts"] == [0] + [-1] * 9


def test_the_report_says_what_positions_count(case, capsys):
    report.print_report(case.exported, case.directory.metadata, 3.21)
    printed = capsys.readouterr().out
    assert "  starts, ends: Unicode code points of the text; -1 behind the last word\n" in printed
    assert "logits float32 [B T 7], probabilities float32 [B T 7], tags string [B T]" in printed
    assert '--model_name=tags "a text"\n' in printed
