import re

import numpy as np
import pytest

from bert_tf.checkpoints import coverage
from bert_tf.checkpoints.formats import rows
from bert_tf.checkpoints.formats.checkpoint import Checkpoint


def names(arrays, skip=()):
    """`FileNames` of arrays under Hugging Face's names."""
    shapes = {name: array.shape for name, array in arrays.items()}
    checkpoint = Checkpoint("x", "huggingface", None, None, shapes, arrays.get)
    return coverage.FileNames(checkpoint, [WORDS, QKV], skip)


WORDS = rows.same("bert.embeddings.word_embeddings.weight", "encoder/embeddings/word")
QKV = rows.side_by_side(["q", "k", "v"], "encoder/layer_0/attention/qkv/bias")
ARRAYS = {
    "embeddings.word_embeddings.weight": np.zeros((7, 3), np.float32),
    "q": np.zeros(3, np.float32),
    "k": np.zeros(3, np.float32),
    "v": np.zeros(3, np.float32),
    "embeddings.position_ids": np.arange(5),
}


def test_every_name_is_something():
    found = names(ARRAYS)
    assert found.holds(WORDS) and found.holds(QKV)
    assert found.not_weights == ("embeddings.position_ids",)
    assert found.unused([WORDS, QKV]) == [] and found.skipped == ()
    assert found.unused([WORDS]) == ["k", "q", "v"]
    assert found.num_values(WORDS) == 21


def test_a_skipped_path_skips_all_its_names():
    found = names(ARRAYS, skip=("encoder/layer_0/.*",))
    assert found.skipped == ("k", "q", "v")
    assert not found.holds_some(QKV)


def test_a_part_is_seen():
    found = names({name: array for name, array in ARRAYS.items() if name != "k"})
    assert found.holds_some(QKV) and not found.holds(QKV)


@pytest.mark.parametrize(
    ("row", "shape", "message"),
    [
        (WORDS, (11, 3), r"is \[7, 3\] in the file .*, \[11, 3\] in the model: vocab_size differs"),
        (QKV, (15,), r"is \[9\] in the file \(q, k, v\), \[15\] in the model: hidden_size differs"),
    ],
)
def test_shapes(row, shape, message):
    (text,) = names(ARRAYS).shape_problems(row, shape)
    assert re.search(message, text)
    sound = {WORDS: (7, 3), QKV: (9,)}[row]
    assert names(ARRAYS).shape_problems(row, sound) == []


def test_parts_of_unequal_shape_are_no_whole():
    """Together they would have the right number of values."""
    odd = ARRAYS | {"q": np.zeros(2, np.float32), "k": np.zeros(4, np.float32)}
    (text,) = names(odd).shape_problems(QKV, (9,))
    assert "(q, k, v)" in text


def test_join_reads_nothing_if_a_shape_differs():
    checkpoint = Checkpoint("x", "huggingface", None, None, {"a": (3,)}, None)
    row = rows.same("a", "span/bias")
    found = coverage.FileNames(checkpoint, [row], ())
    arrays, problems = coverage.join([row], found, {"span/bias": (2,)})
    assert arrays == {} and len(problems) == 1


def test_a_long_list_is_cut():
    lines = coverage.listing("too many", [str(i) for i in range(23)])
    assert lines[0] == "too many (23):" and lines[-1] == "  and 3 more" and len(lines) == 22
    assert coverage.listing("none", []) == []


def test_a_pattern_that_leaves_nothing_out():
    found = names(ARRAYS, skip=("q", "encoder/layer_1/.*", "embeddings.position_ids"))
    assert found.skipped == ("q",)
    assert found.unmatched == ("encoder/layer_1/.*", "embeddings.position_ids")
