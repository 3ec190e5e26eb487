"""Long texts in windows, several labels, and the signatures of tf.Example and of vectors."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.examples.labelled import TextExample
from bert_tf.tasks import registry
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.kinds import table

LABELS = ("zero", "one", "two")
WINDOWS = {"long_texts": "windows", "max_windows": 3, "window_stride": 7}
TEXTS = [
    "",
    "the quick fox",
    "lazy dog " * 23,
    "a",
    "jumps over " * 11,
    "fox " * 7 + "lazy jumps over " * 10,
]


def loaded(case):
    return tf.saved_model.load(case.exported.path)


def python_logits(case, columns):
    """The logits of training and evaluation, each text alone."""
    directory = case.directory
    task = registry.of_model(directory.metadata)
    tokenizer = WordPieceTokenizer(directory.vocabulary, do_lower_case=True)
    logits = []
    for row in zip(*columns, strict=True):
        rows = task.encode([TextExample("0", *row)], tokenizer, 31)
        logits.append(np.asarray(case.model(rows.batch(np.array([0])))["logits"])[0])
    return np.stack(logits)


@pytest.mark.parametrize(
    ("kind", "num_texts", "pooling"), [("multi_label", 1, "max"), ("classify", 2, "mean")]
)
def test_all_windows_of_long_texts_are_read(
    model_directory, export_case, tmp_path, kind, num_texts, pooling, capsys
):
    settings = WINDOWS | {"window_pooling": pooling}
    directory = model_directory(kind, num_texts, labels=LABELS, settings=settings)
    case = export_case(directory, tmp_path / "m")
    model = loaded(case)
    columns = [TEXTS, TEXTS[3:] + TEXTS[:3]][:num_texts]
    want = python_logits(case, columns)
    answer = model(*columns)
    np.testing.assert_allclose(answer["logits"], want, atol=1e-5)
    alone = model(*(column[:1] for column in columns))
    np.testing.assert_allclose(alone["logits"], want[:1], atol=1e-5)
    assert model(*(tf.zeros([0], tf.string) for _ in columns))["logits"].shape == (0, 3)
    if kind == "multi_label":
        np.testing.assert_allclose(answer["probabilities"], 1 / (1 + np.exp(-want)), atol=1e-6)
        first = " ".join(TEXTS[5].split()[:29])  # as much as one window holds
        assert np.abs(want[5] - python_logits(case, [[first]])[0]).max() > 0.1


def test_an_example_is_asked_by_the_names_of_the_texts(cases, loaded_version):
    for key in (("classify", 2), ("regress", 2)):
        case = cases[key]
        model = loaded_version(case)
        texts = {"text_a": TEXTS, "text_b": TEXTS[::-1]}
        serialized = [
            tf.train.Example(
                features=tf.train.Features(
                    feature={
                        name: tf.train.Feature(
                            bytes_list=tf.train.BytesList(value=[column[row].encode()])
                        )
                        for name, column in texts.items()
                    }
                )
            ).SerializeToString()
            for row in range(len(TEXTS))
        ]
        want = model(*texts.values())
        signature = model.signatures[key[0]]
        answer = signature(inputs=tf.constant(serialized))
        if key[0] == "classify":
            np.testing.assert_array_equal(answer["classes"], want["labels"])
            np.testing.assert_array_equal(answer["scores"], want["probabilities"])
        else:
            np.testing.assert_array_equal(answer["outputs"], want["score"])
        assert signature(inputs=tf.zeros([0], tf.string)).keys() == answer.keys()


def test_signatures_are_chosen_by_name(cases, tmp_path):
    case = cases["classify", 1]
    module = table.make(case.served)
    assert list(module.signatures()) == ["serving_default", "ids", "classify"]
    chosen = module.signatures(["embed", "classify"])
    assert list(chosen) == ["embed", "classify", "serving_default"]
    assert chosen["serving_default"] is chosen["embed"]
    with pytest.raises(InputError, match="tags is unknown for a model of kind 'classify'; known: "):
        module.signatures(["tags"])


def test_a_classifier_gives_vectors_too(cases):
    case = cases["classify", 1]
    embed = table.make(case.served).signatures(["embed"])["embed"].function
    directory = case.directory
    tokenizer = WordPieceTokenizer(directory.vocabulary, do_lower_case=True)
    given = embed(text=tf.constant(TEXTS))["embedding"].numpy()
    for text, vector in zip(TEXTS, given, strict=True):
        ids = [3, *tokenizer.encode(text)[:29], 4]
        batch = {
            "input_word_ids": np.array([ids]),
            "input_mask": np.ones([1, len(ids)], np.int32),
            "input_type_ids": np.zeros([1, len(ids)], np.int32),
        }
        want = np.asarray(case.model.encoder(batch)["sequence_output"])[0].mean(axis=0)
        np.testing.assert_allclose(vector, want, atol=1e-5)
