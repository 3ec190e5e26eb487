import numpy as np
import pytest

from bert_tf.checkpoints.formats import checkpoint as lib
from bert_tf.errors import InputError
from tests.checkpoints import samples


def opened(arrays):
    shapes = {name: array.shape for name, array in arrays.items()}
    return lib.Checkpoint("there", "tf1", None, None, shapes, arrays.get)


def test_names_are_sorted_and_a_missing_one_is_an_error():
    found = opened({"b": np.zeros(3), "a": np.zeros(2)})
    assert found.names == ("a", "b")
    with pytest.raises(InputError, match="there holds no 'c'"):
        found.read("c")


@pytest.mark.parametrize(
    ("dtype", "read"), [(np.float64, np.float32), (np.float16, np.float32), (np.int64, np.int64)]
)
def test_floats_are_read_as_float32(dtype, read):
    assert opened({"a": np.zeros(2, dtype)}).read("a").dtype == read


def test_what_a_conversion_says_of_itself_is_read_back(tmp_path):
    assert lib.described(str(tmp_path)) == {}
    lib.describe(str(tmp_path), samples.contents("tag", tmp_path / "given"))
    assert lib.described(str(tmp_path)) == {
        "kind": "tag",
        "labels": samples.LABELS,
        "do_lower_case": True,
        "num_texts": 1,
    }


def test_no_path_of_the_machine_is_written(tmp_path):
    given = samples.contents("encoder", tmp_path / "given")
    lib.describe(str(tmp_path), given)
    assert str(tmp_path) not in (tmp_path / lib.CONVERSION_FILE).read_text()


def test_what_a_directory_holds(tmp_path):
    assert lib.held(str(tmp_path)).endswith("holds: nothing.")
    for index in range(15):
        (tmp_path / f"{index:02}").touch()
    assert lib.held(str(tmp_path)).endswith("10, 11 and 3 more.")
    assert "There is no directory" in lib.held(str(tmp_path / "none"))


def test_the_first_file_that_is_there(tmp_path):
    (tmp_path / "b").touch()
    assert lib.first_file([str(tmp_path)], ("a", "b")) == str(tmp_path / "b")
    assert lib.first_file([str(tmp_path / "none"), str(tmp_path)], ("a",)) is None
