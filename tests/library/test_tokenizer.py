"""The ids are those of the tokenizer and the packing of the scripts, in Python and in graphs."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.library.tokenizer import Tokenizer

FIRST = ["How are you?", "", "a cat sits on the mat in paris, so fine"]
SECOND = ["Fine.", "the mat", "rain is expected on the mat, how bad is it really"]
NAMES = ["input_word_ids", "input_mask", "input_type_ids"]


@pytest.fixture(scope="module")
def tokenizer(bert):
    return Tokenizer.from_preset(bert, max_seq_length=17)


def by_hand(tokenizer, first, second=None):
    """[CLS] a [SEP] b [SEP], the longer text cut first, from the wordpieces."""
    ids = tokenizer.vocabulary.ids
    rows = []
    for number, text in enumerate(first):
        a = tokenizer.wordpieces(text)
        b = tokenizer.wordpieces(second[number]) if second else []
        while len(a) + len(b) > 17 - (3 if second else 2):
            (a if len(a) > len(b) else b).pop()
        tokens = ["[CLS]", *a, "[SEP]"] + ([*b, "[SEP]"] if second else [])
        rows.append(([ids[token] for token in tokens], [0] * (len(a) + 2) + [1] * (len(b) + 1)))
    length = max(len(word_ids) for word_ids, _ in rows)
    arrays = np.zeros((3, len(rows), length), np.int32)
    for row, (word_ids, type_ids) in enumerate(rows):
        arrays[0, row, : len(word_ids)] = word_ids
        arrays[1, row, : len(word_ids)] = 1
        arrays[2, row, : len(word_ids)] = type_ids[: len(word_ids)]
    return dict(zip(NAMES, arrays, strict=True))


def assert_equal(got, wanted):
    assert sorted(got) == sorted(wanted)
    for name in wanted:
        array = np.asarray(got[name])
        assert array.dtype == np.int32
        np.testing.assert_array_equal(array, wanted[name], name)


@pytest.mark.parametrize("second", [None, SECOND])
def test_lists_and_tensors_give_the_ids_of_the_packing(tokenizer, second):
    wanted = by_hand(tokenizer, FIRST, second)
    got = tokenizer(FIRST, second)
    assert all(type(array) is np.ndarray for array in got.values())
    assert_equal(got, wanted)
    columns = [tf.constant(column) for column in (FIRST, second) if column]
    assert_equal(tokenizer(*columns), wanted)
    in_rows = [tf.constant(column)[:, None] for column in (FIRST, second) if column]
    assert_equal(tokenizer(*in_rows), wanted)


def test_one_text_gives_one_row(tokenizer):
    wanted = {name: ids[0] for name, ids in by_hand(tokenizer, FIRST[:1]).items()}
    assert_equal(tokenizer(FIRST[0]), wanted)
    assert_equal(tokenizer(tf.constant(FIRST[0])), wanted)
    pair = {name: ids[0] for name, ids in by_hand(tokenizer, FIRST[:1], SECOND[:1]).items()}
    assert_equal(tokenizer((FIRST[0], SECOND[0])), pair)


def test_it_maps_a_data_set_and_is_a_layer_of_a_model(tokenizer):
    data_set = tf.data.Dataset.from_tensor_slices((FIRST, SECOND)).batch(3).map(tokenizer)
    wanted = by_hand(tokenizer, FIRST, SECOND)
    assert_equal(next(iter(data_set)), wanted)
    inputs = [keras.Input((), dtype="string"), keras.Input((1,), dtype="string")]
    outputs = tokenizer(*inputs)
    assert [(x.shape, x.dtype) for x in outputs.values()] == [((None, None), "int32")] * 3
    model = keras.Model(inputs, outputs)
    assert_equal(model([tf.constant(FIRST), tf.constant(SECOND)[:, None]]), wanted)


def test_padding_to_the_maximum_gives_static_shapes(bert):
    tokenizer = Tokenizer.from_preset(bert, max_seq_length=17, padding="max_length")
    got = tokenizer(FIRST[:1])
    assert got["input_word_ids"].shape == (1, 17) and got["input_mask"].sum() == 6
    assert_equal(tokenizer(tf.constant(FIRST[:1])), got)
    data_set = tf.data.Dataset.from_tensor_slices(FIRST).map(tokenizer)
    assert {spec.shape for spec in data_set.element_spec.values()} == {tf.TensorShape([17])}
    assert tokenizer(keras.Input((), dtype="string"))["input_mask"].shape == (None, 17)


def test_its_configuration_makes_the_same_tokenizer(tokenizer):
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(tokenizer))
    assert isinstance(again, Tokenizer) and again is not tokenizer
    assert again.get_config() == tokenizer.get_config()
    assert_equal(again(FIRST, SECOND), tokenizer(FIRST, SECOND))


def test_presets_decide_length_and_casing(bert, topics, tmp_path):
    assert Tokenizer.from_preset(bert).max_seq_length == 61  # positions of the model
    assert Tokenizer.from_preset(topics.path).max_seq_length == 31  # of its training
    from_file = Tokenizer.from_preset(bert / "vocab.txt")
    assert from_file.max_seq_length == 512 and from_file.do_lower_case
    cased = tmp_path / "vocab.txt"
    cased.write_text((bert / "vocab.txt").read_text() + "Paris\n")
    assert not Tokenizer.from_preset(cased).do_lower_case


def test_wrong_arguments(bert, tokenizer):
    with pytest.raises(InputError, match="padding='longer'; wanted one of: longest, max_length"):
        Tokenizer.from_preset(bert, padding="longer")
    with pytest.raises(InputError, match="max_seq_length=4 must be at least 5"):
        Tokenizer.from_preset(bert, max_seq_length=4)
    with pytest.raises(InputError, match="is uncased"):
        Tokenizer(tokenizer.vocabulary.tokens, do_lower_case=False)
    with pytest.raises(TypeError, match="got int32; strings were wanted.*text, label"):
        tokenizer.call((tf.constant("a"), tf.constant(1)))
    with pytest.raises(ValueError, match="wanted .B. or .B 1."):
        tokenizer.call(tf.constant([["a", "b"]]))
