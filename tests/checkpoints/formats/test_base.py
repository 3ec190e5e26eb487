import dataclasses

import numpy as np
import pytest

from bert_tf.checkpoints.formats import base
from bert_tf.checkpoints.formats.hugging_face import HuggingFace
from bert_tf.checkpoints.formats.tf_hub import TensorFlowHub
from bert_tf.errors import InputError
from tests.checkpoints import samples


def opened(arrays):
    shapes = {name: array.shape for name, array in arrays.items()}
    return base.Checkpoint(path="there", format=HuggingFace(), shapes=shapes, read_array=arrays.get)


def test_names_are_sorted_and_a_missing_one_is_an_error():
    checkpoint = opened({"b": np.zeros(3), "a": np.zeros(2)})
    assert checkpoint.names == ("a", "b")
    with pytest.raises(InputError, match="there holds no 'c'"):
        checkpoint.read("c")


@pytest.mark.parametrize(
    ("dtype", "read"), [(np.float64, np.float32), (np.float16, np.float32), (np.int64, np.int64)]
)
def test_floats_are_read_as_float32(dtype, read):
    assert opened({"a": np.zeros(2, dtype)}).read("a").dtype == read


def test_what_a_conversion_says_of_itself_is_read_back(tmp_path):
    assert base.read_conversion(str(tmp_path)) == {}
    base.write_conversion(str(tmp_path), samples.state_dict("tag", tmp_path / "given"))
    assert base.read_conversion(str(tmp_path)) == {
        "kind": "tag",
        "labels": samples.LABELS,
        "do_lower_case": True,
        "num_texts": 1,
    }


def test_no_path_of_the_machine_is_written(tmp_path):
    given = samples.state_dict("encoder", tmp_path / "given")
    base.write_conversion(str(tmp_path), given)
    assert str(tmp_path) not in (tmp_path / base.CONVERSION_FILE).read_text()


def test_what_a_directory_holds(tmp_path):
    assert base.describe_directory(str(tmp_path)).endswith("holds: nothing.")
    for index in range(15):
        (tmp_path / f"{index:02}").touch()
    assert base.describe_directory(str(tmp_path)).endswith("10, 11 and 3 more.")
    assert "There is no directory" in base.describe_directory(str(tmp_path / "none"))


def test_the_first_file_that_is_there(tmp_path):
    (tmp_path / "b").touch()
    assert base.first_file([str(tmp_path)], ("a", "b")) == str(tmp_path / "b")
    assert base.first_file([str(tmp_path / "none"), str(tmp_path)], ("a",)) is None


def test_every_array_must_have_a_name(tmp_path):
    given = samples.state_dict("encoder", tmp_path)
    odd = dataclasses.replace(given, arrays=given.arrays | {"another/kernel": np.ones(3)})
    with pytest.raises(InputError, match=r"(?s)no place for.*\(1\):\s+another/kernel.*--skip"):
        HuggingFace().arrays(odd)


def test_a_format_that_is_only_read(tmp_path):
    with pytest.raises(NotImplementedError, match="TensorFlow Hub encoder is only read"):
        TensorFlowHub().write(samples.state_dict("encoder", tmp_path / "given"), str(tmp_path))


def test_a_long_list_is_cut():
    lines = base.listing("too many", [str(i) for i in range(23)])
    assert lines[0] == "too many (23):" and lines[-1] == "  and 3 more" and len(lines) == 22
    assert base.listing("none", []) == []
