import dataclasses

import numpy as np
import pytest

from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.formats.base import Checkpoint
from bert_tf.checkpoints.formats.hugging_face import HuggingFace
from bert_tf.checkpoints.kinds import KINDS, heads_of
from bert_tf.checkpoints.opening import format_named
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness

TRIO = ("bert_tf", "huggingface", "tf1")


def written(given, name, folder):
    """The checkpoint that a `StateDict` becomes in a format."""
    folder.mkdir()
    format_named(name).write(given, str(folder))
    return open_checkpoint(folder)


def in_memory(arrays, kind=None, config=None, **changes):
    """A checkpoint of Hugging Face's names."""
    return Checkpoint(
        path="memory",
        format=HuggingFace(),
        shapes={name: array.shape for name, array in arrays.items()},
        read_array=arrays.get,
        config=config or harness.config(),
        kind=kind,
        **changes,
    )


def hugging_face(kind, tmp_path, **kwargs):
    return HuggingFace().arrays(samples.state_dict(kind, tmp_path, **kwargs))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TRIO)
def test_every_kind_comes_back_from_every_format_of_ours(kind, name, tmp_path):
    given = samples.state_dict(kind, tmp_path / "given")
    checkpoint = written(given, name, tmp_path / "out")
    assert checkpoint.format.name == name
    stated = None if name != "tf1" else kind  # its files do not say
    read_back, report = reading.read(checkpoint, kind=stated)
    samples.assert_equal_arrays(read_back.arrays, given.arrays)
    assert (read_back.kind, read_back.config) == (kind, given.config)
    if name != "tf1":
        assert (read_back.labels, read_back.do_lower_case) == (given.labels, True)
    assert set(report.loaded) == set(given.arrays)
    assert not report.skipped and not report.not_weights


@pytest.mark.parametrize("first", TRIO)
@pytest.mark.parametrize("second", TRIO)
def test_two_hops_give_every_bit_back(first, second, tmp_path):
    given = samples.state_dict("span", tmp_path / "given")
    once, _ = reading.read(written(given, first, tmp_path / "one"))
    twice, _ = reading.read(written(once, second, tmp_path / "two"))
    samples.assert_equal_arrays(twice.arrays, given.arrays)


def test_a_name_in_no_row_is_an_error(tmp_path):
    arrays = hugging_face("encoder", tmp_path) | {"adapter.weight": np.ones(3, np.float32)}
    with pytest.raises(InputError, match=r"in no row of the name table \(1\):\s+adapter.weight"):
        reading.read(in_memory(arrays))
    state_dict, report = reading.read(in_memory(arrays), skip=("adapter.*",))
    assert report.skipped == ("adapter.weight",) and state_dict.kind == "encoder"


@pytest.mark.parametrize(
    ("missing", "line"),
    [
        ("bert.embeddings.LayerNorm.bias", "encoder/embeddings/layer_norm/beta"),
        ("bert.encoder.layer.1.attention.self.key.bias", "encoder/layer_1/attention/qkv/bias"),
        ("cls.predictions.transform.dense.bias", "masked_lm/transform/bias"),
    ],
)
def test_a_part_that_is_missing_is_an_error(tmp_path, missing, line):
    arrays = hugging_face("pretrain", tmp_path)
    del arrays[missing]
    with pytest.raises(InputError, match=rf"not in the file \(1\):\s+{line} \(from .*{missing}"):
        reading.read(in_memory(arrays))


@pytest.mark.parametrize("skip", ["next_sentence/.*", r"cls\.seq_relationship\..*"])
def test_skip_matches_our_paths_and_their_names(tmp_path, skip):
    state_dict, report = reading.read(in_memory(hugging_face("pretrain", tmp_path)), skip=(skip,))
    assert report.skipped == ("cls.seq_relationship.bias", "cls.seq_relationship.weight")
    assert heads_of(state_dict.arrays) == ["masked_lm"]


def test_skipping_the_masked_lm_head_skips_its_second_copies(tmp_path):
    arrays = hugging_face("pretrain", tmp_path)
    arrays["cls.predictions.decoder.weight"] = np.zeros((harness.V, harness.H), np.float32)
    arrays["cls.predictions.decoder.bias"] = np.zeros(harness.V, np.float32)
    with pytest.raises(InputError, match="differ; this model has one matrix for both"):
        reading.read(in_memory(arrays))
    state_dict, _ = reading.read(in_memory(arrays), skip=("masked_lm/.*",))
    assert heads_of(state_dict.arrays) == ["next_sentence"]


def test_two_spellings_of_one_name(tmp_path):
    arrays = hugging_face("encoder", tmp_path)
    arrays["pooler.dense.bias"] = arrays["bert.pooler.dense.bias"]
    with pytest.raises(
        InputError, match=r"in no row of the name table \(1\):\s+bert.pooler.dense.bias"
    ):
        reading.read(in_memory(arrays))


def test_a_shape_that_the_config_contradicts_is_found_before_anything_is_read(tmp_path):
    arrays = hugging_face("encoder", tmp_path)
    checkpoint = in_memory(arrays, config=harness.config(vocab_size=97))
    checkpoint = dataclasses.replace(checkpoint, read_array=None)
    with pytest.raises(InputError, match=r"\[101, 21\] in the file .*vocab_size.*--vocab_subset"):
        reading.read(checkpoint)


def test_a_position_table_of_another_length_names_the_flag(tmp_path):
    arrays = hugging_face("encoder", tmp_path)
    checkpoint = in_memory(arrays, config=harness.config(max_position_embeddings=19))
    with pytest.raises(InputError, match=r"\[17, 21\] in the file.*--extend_positions=N"):
        reading.read(checkpoint)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.bool_])
def test_weights_are_floats(tmp_path, dtype):
    arrays = hugging_face("encoder", tmp_path)
    name = "bert.encoder.layer.0.output.dense.weight"
    arrays[name] = arrays[name].astype(dtype)
    with pytest.raises(InputError, match=rf"{name}\) is {np.dtype(dtype).name}, not a float"):
        reading.read(in_memory(arrays))


def test_without_a_config(tmp_path):
    checkpoint = dataclasses.replace(in_memory(hugging_face("encoder", tmp_path)), config=None)
    with pytest.raises(InputError, match="no config next to memory. Give --bert_config_file"):
        reading.read(checkpoint)
    assert reading.read(checkpoint, config=harness.config())[0].config == harness.config()


def test_a_kind_of_answer_that_we_have_not_is_refused_until_somebody_says_what_it_is(tmp_path):
    checkpoint = in_memory(hugging_face("classify", tmp_path), "ranking")
    with pytest.raises(
        InputError, match="not a model of kind 'ranking'. Its kind can be: .*classify"
    ):
        reading.read(checkpoint)
    assert reading.read(checkpoint, kind="classify")[0].kind == "classify"


def test_a_head_that_was_left_out_says_nothing_more(tmp_path):
    checkpoint = in_memory(hugging_face("tag", tmp_path), "tag", labels=samples.LABELS)
    state_dict, _ = reading.read(checkpoint, skip=("classifier/.*",))
    assert (state_dict.kind, state_dict.labels) == ("encoder", ())


def test_a_head_that_is_stated_and_not_there(tmp_path):
    checkpoint = in_memory(hugging_face("encoder", tmp_path), "tag")
    with pytest.raises(
        InputError, match="holds no head, so .* kind 'tag'. Its kind can be: encoder"
    ):
        reading.read(checkpoint)
    assert reading.read(checkpoint, kind="encoder")[0].kind == "encoder"


def test_a_classifier_of_texts_without_its_pooler(tmp_path):
    arrays = hugging_face("classify", tmp_path, without=("encoder/pooler",))
    with pytest.raises(InputError, match="holds no pooler. .* --kind=tag"):
        reading.read(in_memory(arrays))
    state_dict, _ = reading.read(in_memory(arrays), kind="tag")
    assert state_dict.kind == "tag"
