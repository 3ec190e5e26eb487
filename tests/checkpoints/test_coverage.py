import re

import numpy as np
import pytest

from bert_tf.checkpoints import coverage
from bert_tf.checkpoints.formats.base import Checkpoint
from bert_tf.checkpoints.formats.hugging_face import HuggingFace
from bert_tf.checkpoints.formats.rows import Row


def opened(shapes, read):
    return Checkpoint(path="x", format=HuggingFace(), shapes=shapes, read_array=read)


def names(arrays, skip=()):
    """`FileNames` of arrays under Hugging Face's names."""
    shapes = {name: array.shape for name, array in arrays.items()}
    checkpoint = opened(shapes, arrays.get)
    return coverage.FileNames(checkpoint, [WORDS, QKV], skip)


WORDS = Row(("bert.embeddings.word_embeddings.weight",), "encoder/embeddings/word")
QKV = Row(("q", "k", "v"), "encoder/layer_0/attention/qkv/bias")
ARRAYS = {
    "embeddings.word_embeddings.weight": np.zeros((7, 3), np.float32),
    "q": np.zeros(3, np.float32),
    "k": np.zeros(3, np.float32),
    "v": np.zeros(3, np.float32),
    "embeddings.position_ids": np.arange(5),
}


def test_every_name_is_something():
    in_file = names(ARRAYS)
    assert in_file.holds(WORDS) and in_file.holds(QKV)
    assert in_file.not_weights == ("embeddings.position_ids",)
    assert in_file.unused([WORDS, QKV]) == [] and in_file.skipped == ()
    assert in_file.unused([WORDS]) == ["k", "q", "v"]
    assert in_file.num_values(WORDS) == 21


def test_a_skipped_path_skips_all_its_names():
    in_file = names(ARRAYS, skip=("encoder/layer_0/.*",))
    assert in_file.skipped == ("k", "q", "v")
    assert not in_file.holds_some(QKV)


def test_a_part_is_seen():
    in_file = names({name: array for name, array in ARRAYS.items() if name != "k"})
    assert in_file.holds_some(QKV) and not in_file.holds(QKV)


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
    row = Row(("a",), "span/bias")
    in_file = coverage.FileNames(opened({"a": (3,)}, None), [row], ())
    arrays, problems = coverage.join([row], in_file, {"span/bias": (2,)})
    assert arrays == {} and len(problems) == 1


def test_a_pattern_that_leaves_nothing_out():
    in_file = names(ARRAYS, skip=("q", "encoder/layer_1/.*", "embeddings.position_ids"))
    assert in_file.skipped == ("q",)
    assert in_file.unmatched == ("encoder/layer_1/.*", "embeddings.position_ids")
