"""A teacher answers the student's rows once; a restart reads what it has answered."""

import dataclasses
import os
import types

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import checkpoints
from bert_tf.checkpoints import model_directory
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples.labelled import TextExample
from bert_tf.tasks import registry
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.training.distillation import teacher as teachers

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
TASK = dataclasses.replace(registry.own_data("classify"), labels=("x", "y", "z"))
EXAMPLES = [TextExample(str(i), text, None, "y") for i, text in enumerate(("a", "b a b", "a a"))]


def inputs(alpha_cos=0.0, config=CONFIG, max_seq_length=12):
    options = types.SimpleNamespace(distillation_alpha_cos=alpha_cos, max_seq_length=max_seq_length)
    return types.SimpleNamespace(options=options, config=config, vocabulary=Vocabulary(TOKENS))


def rows(tokens=TOKENS):
    """Of the student, whose vocabulary may be another one."""
    tokenizer = WordPieceTokenizer(Vocabulary(tokens), do_lower_case=True)
    return TASK.encode(EXAMPLES, tokenizer, 7)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The path of a model directory with random weights."""
    folder = tmp_path_factory.mktemp("teacher")
    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    metadata = TASK.metadata(do_lower_case=True, max_seq_length=12)
    path = str(folder / "model")
    directory = model_directory.create(path, CONFIG, str(folder / "vocab.txt"), metadata)
    model = model_directory.new_model(directory.config, metadata)
    rng = np.random.default_rng(3)
    for variable in model.variables:
        variable.assign(rng.normal(size=variable.shape))
    checkpoints.save(model, os.path.join(path, "last"))
    return path


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The path of a SavedModel that counts characters."""

    class Counting(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
        def count(self, text):
            return {"logits": tf.cast(tf.strings.length(text), tf.float32)[:, None] * [1.0, 2, 3]}

    path = str(tmp_path_factory.mktemp("export") / "7")
    module = Counting()
    tf.saved_model.save(module, path, signatures={"serving_default": module.count})
    with open(os.path.join(path, "assets", "labels.txt"), "w") as file:
        file.write("x\ny\nz\n")
    return os.path.dirname(path)


def test_answers_are_those_of_the_model_and_are_kept(trained, tmp_path):
    teacher = teachers.open_teacher(trained)
    teacher.check(TASK, inputs())
    student = rows([*TOKENS[:5], "b", "a"])  # another vocabulary: the teacher reads texts
    arguments = (teacher, teacher.digest(), TASK, EXAMPLES, student, str(tmp_path), 2)
    found = teachers.answered(*arguments).labels["teacher_logits"]
    model = teacher.directory.build_model()
    batch = rows().without_labels().batch(np.arange(3))
    np.testing.assert_allclose(found, model(batch)["logits"], rtol=1e-4, atol=1e-5)
    unused = dataclasses.replace(teacher, directory=None)
    again = teachers.answered(unused, *arguments[1:])
    np.testing.assert_array_equal(again.labels["teacher_logits"], found)
    np.testing.assert_array_equal(again.labels["label_ids"], student.labels["label_ids"])
    for digest, of_rows in (("another", student), (arguments[1], rows())):
        with pytest.raises(InputError, match="answers of another teacher, or for other rows"):
            teachers.answered(teacher, digest, TASK, EXAMPLES, of_rows, str(tmp_path), 2)


def test_an_export_is_asked_with_texts(exported, tmp_path):
    teacher = teachers.open_teacher(exported)
    assert teacher.path == os.path.join(exported, "7")
    teacher.check(TASK, inputs())
    arguments = (TASK, EXAMPLES, rows(), str(tmp_path), 2)
    found = teachers.answered(teacher, teacher.digest(), *arguments).labels["teacher_logits"]
    np.testing.assert_array_equal(found, [[1, 2, 3], [5, 10, 15], [3, 6, 9]])


@pytest.mark.parametrize(
    ("task", "given", "wanted"),
    [
        ({"labels": ("x", "y")}, {}, "labels is ('x', 'y', 'z') there and ('x', 'y') here"),
        (
            {},
            {"alpha_cos": 1.0, "config": dataclasses.replace(CONFIG, hidden_size=8)},
            "is 6 there and 8",
        ),
        ({}, {"alpha_cos": 1.0, "max_seq_length": 14}, "it has 13 positions, fewer than"),
    ],
)
def test_a_teacher_of_something_else_is_refused(trained, task, given, wanted):
    with pytest.raises(InputError, match="cannot teach this student") as refused:
        teachers.open_teacher(trained).check(dataclasses.replace(TASK, **task), inputs(**given))
    assert wanted in str(refused.value)


def test_an_export_teaches_no_hidden_states_and_no_other_labels(exported, tmp_path):
    teacher = teachers.open_teacher(exported)
    with pytest.raises(InputError, match="needs hidden states"):
        teacher.check(TASK, inputs(alpha_cos=1.0))
    with pytest.raises(InputError, match="its labels are"):
        teacher.check(dataclasses.replace(TASK, labels=("a", "b")), inputs())
    with pytest.raises(InputError, match="is not a model directory"):
        teachers.open_teacher(str(tmp_path))
