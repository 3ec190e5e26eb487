import pathlib
import shutil

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from bert_tf.checkpoints.opening import FORMATS, accepted, format_named, open_checkpoint
from bert_tf.errors import InputError
from export import options
from tests.checkpoints import samples
from tests.modeling import harness

TINY = pathlib.Path(__file__).parent.parent / "data" / "tiny-tf1"
HF_CONFIG = '{"model_type": "bert", "vocab_size": 101, "hidden_act": "gelu"}'


@pytest.fixture
def tiny(tmp_path):
    """A copy of the tiny checkpoint that a test may damage."""
    return pathlib.Path(shutil.copytree(TINY, tmp_path / "tiny"))


def write_safetensors(folder, arrays, config=HF_CONFIG):
    folder.mkdir(exist_ok=True)
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    (folder / "config.json").write_text(config)
    return folder


@pytest.mark.parametrize(
    "name", ["", "bert_model.ckpt", "bert_model.ckpt.index"], ids=["folder", "prefix", "index"]
)
def test_tf1(name):
    checkpoint = open_checkpoint(TINY / name)
    assert checkpoint.format.name == "tf1"
    assert checkpoint.path == str(TINY / "bert_model.ckpt")
    assert len(checkpoint.names) == 139
    assert (checkpoint.config.vocab_size, checkpoint.config.hidden_act) == (15, "gelu")
    assert checkpoint.vocab_file == str(TINY / "vocab.txt")
    assert checkpoint.shapes["bert/encoder/layer_1/output/dense/kernel"] == (16, 4)
    assert checkpoint.read("bert/pooler/dense/bias").shape == (4,)


def test_a_prefix_without_config_or_vocabulary(tiny):
    (tiny / "bert_config.json").unlink()
    (tiny / "vocab.txt").unlink()
    checkpoint = open_checkpoint(str(tiny / "bert_model.ckpt"))
    assert checkpoint.config is None and checkpoint.vocab_file is None


def test_one_checkpoint_of_another_name(tiny):
    for path in tiny.glob("bert_model.ckpt.*"):
        path.rename(tiny / path.name.replace("bert_model.ckpt", "model.ckpt-1000"))
    assert open_checkpoint(tiny).path == str(tiny / "model.ckpt-1000")


def test_several_checkpoints_must_be_told_apart(tiny):
    shutil.copy(tiny / "bert_model.ckpt.index", tiny / "model.ckpt-7.index")
    with pytest.raises(InputError, match=r"holds 2 checkpoints; give one of: .*model\.ckpt-7"):
        open_checkpoint(tiny)


@pytest.mark.parametrize(("present", "opened"), [(("best", "last"), "best"), (("last",), "last")])
def test_what_a_run_leaves_behind(tmp_path, present, opened):
    for which in present:
        shutil.copytree(TINY, tmp_path / which)
        (tmp_path / which / "bert_config.json").unlink()
        (tmp_path / which / "vocab.txt").unlink()
    shutil.copy(TINY / "bert_config.json", tmp_path)
    shutil.copy(TINY / "vocab.txt", tmp_path)
    for path in (tmp_path, tmp_path / opened):
        checkpoint = open_checkpoint(path)
        assert checkpoint.path == str(tmp_path / opened / "bert_model.ckpt")
        assert checkpoint.config.hidden_size == 4
        assert checkpoint.vocab_file == str(tmp_path / "vocab.txt")


@pytest.mark.parametrize("name", ["", "model.safetensors"], ids=["folder", "file"])
def test_hugging_face(tmp_path, name):
    arrays = {"pooler.dense.bias": np.arange(3, dtype=np.float32)}
    folder = write_safetensors(tmp_path / "hf", arrays)
    checkpoint = open_checkpoint(folder / name)
    assert checkpoint.format.name == "huggingface"
    assert checkpoint.config.hidden_act == "gelu_erf"
    assert checkpoint.names == ("pooler.dense.bias",)
    assert checkpoint.shapes == {"pooler.dense.bias": (3,)}
    np.testing.assert_array_equal(checkpoint.read("pooler.dense.bias"), [0, 1, 2])


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16])
def test_floats_of_any_width_are_read_as_float32(tmp_path, dtype):
    values = np.array([0.5, -2.0], dtype)
    folder = write_safetensors(tmp_path / "hf", {"a": values, "b": np.arange(3)})
    checkpoint = open_checkpoint(folder)
    assert checkpoint.read("a").dtype == np.float32
    np.testing.assert_array_equal(checkpoint.read("a"), [0.5, -2.0])
    assert checkpoint.read("b").dtype == np.int64


def test_another_architecture_is_refused(tmp_path):
    folder = write_safetensors(tmp_path / "hf", {"a": np.ones(1)}, '{"model_type": "roberta"}')
    with pytest.raises(InputError, match="model_type='roberta'"):
        open_checkpoint(folder)


def test_a_name_that_is_not_there():
    with pytest.raises(InputError, match="holds no 'bert/nothing'"):
        open_checkpoint(TINY).read("bert/nothing")


def test_an_unknown_folder_says_what_is_in_it_and_what_is_read(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(b"x")
    with pytest.raises(InputError) as error:
        open_checkpoint(tmp_path)
    for part in ("pytorch_model.bin", "is a pickle", "never read", "bert_model.ckpt.index"):
        assert part in str(error.value)


@pytest.mark.parametrize("name", ["nothing", "no/such/bert_model.ckpt"])
def test_a_path_that_does_not_exist(tmp_path, name):
    with pytest.raises(InputError, match="No checkpoint at .*Accepted: "):
        open_checkpoint(tmp_path / name)


def test_an_index_without_its_values(tiny):
    (tiny / "bert_model.ckpt.data-00000-of-00001").unlink()
    with pytest.raises(InputError, match="Copy the data file next to it"):
        open_checkpoint(tiny)


@pytest.mark.parametrize("content", [b"", b"not an index at all" * 30])
def test_a_damaged_index(tiny, content):
    (tiny / "bert_model.ckpt.index").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        open_checkpoint(tiny)


def test_values_cut_short(tiny):
    path = tiny / "bert_model.ckpt.data-00000-of-00001"
    path.write_bytes(path.read_bytes()[:200])
    checkpoint = open_checkpoint(tiny)
    with pytest.raises(InputError, match="cannot be read from"):
        for name in checkpoint.names:
            checkpoint.read(name)


def test_values_changed(tiny):
    """A checksum protects them."""
    path = tiny / "bert_model.ckpt.data-00000-of-00001"
    content = bytearray(path.read_bytes())
    content[: len(content) // 2] = bytes(len(content) // 2)
    path.write_bytes(content)
    checkpoint = open_checkpoint(tiny)
    with pytest.raises(InputError, match="cannot be read from"):
        for name in checkpoint.names:
            checkpoint.read(name)


@pytest.mark.parametrize("content", [b"", b"not safetensors", b"\x10" + bytes(40)])
def test_damaged_safetensors(tmp_path, content):
    folder = write_safetensors(tmp_path / "hf", {"a": np.ones(3)})
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        open_checkpoint(folder)


def test_object_based_checkpoints_are_refused(tmp_path):
    path = tf.train.Checkpoint(step=tf.Variable(1)).save(str(tmp_path / "ckpt"))
    with pytest.raises(InputError, match="object-based"):
        open_checkpoint(path)


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_names_and_paths_of_a_format_are_unique_and_canonical(one):
    rows = one.rows(harness.config())
    paths = [row.path for row in rows]
    names = [name for row in rows for name in row.names]
    assert len(set(paths)) == len(paths) and len(set(names)) == len(names)
    assert {one.canonical_name(name) for name in names} == set(names)
    assert set(one.tied) & set(names) == set()


def test_names_are_unique_and_every_target_is_written():
    names = [one.name for one in FORMATS]
    assert len(set(names)) == len(names)
    assert set(options.TARGETS) == {one.name for one in FORMATS if one.is_written}
    assert set(names) - set(options.TARGETS) == {"tf_hub", "model_garden_2019"}
    assert [format_named(name) for name in names] == list(FORMATS)


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_nothing_is_found_where_nothing_is(one, tmp_path):
    samples.vocab_file(tmp_path)
    assert one.find(str(tmp_path)) is None
    assert one.find(str(tmp_path / "vocab.txt")) is None
    assert one.find(str(tmp_path / "missing")) is None


def test_a_message_lists_every_format():
    assert all(one.accepted in accepted() for one in FORMATS)
