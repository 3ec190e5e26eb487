import json
import pathlib
import pickle
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import safetensors.numpy

from bert_tf.checkpoints.formats import safetensors_files
from bert_tf.errors import InputError

ARRAYS = {
    "a": np.arange(7, dtype=np.float32),
    "b": np.arange(15, dtype=np.float32).reshape(3, 5),
    "c": np.array([0.5], np.float32),
}


def raw(path, header, data=bytes(12)):
    """Writes a safetensors file with any header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return str(path)


def test_one_file(tmp_path):
    safetensors_files.write(ARRAYS, str(tmp_path), max_shard_bytes=10**6)
    assert [path.name for path in tmp_path.iterdir()] == [safetensors_files.SINGLE]
    shapes, read = safetensors_files.open_file(str(tmp_path / safetensors_files.SINGLE))
    assert shapes == {"a": (7,), "b": (3, 5), "c": (1,)}
    np.testing.assert_array_equal(read("b"), ARRAYS["b"])


def test_shards(tmp_path):
    safetensors_files.write(ARRAYS, str(tmp_path), max_shard_bytes=64)
    index = json.loads((tmp_path / safetensors_files.INDEX).read_text())
    assert index["metadata"] == {"total_size": 4 * (7 + 15 + 1)}
    first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
    assert index["weight_map"] == {"a": first, "b": second, "c": second}
    shapes, read = safetensors_files.open_index(str(tmp_path / safetensors_files.INDEX))
    assert shapes == {"a": (7,), "b": (3, 5), "c": (1,)}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(read(name), array)


@pytest.fixture
def shards(tmp_path):
    """Folder of two shards; a function that changes the weight map."""
    safetensors_files.write(ARRAYS, str(tmp_path), max_shard_bytes=64)

    def change(**weight_map):
        values = json.loads((tmp_path / safetensors_files.INDEX).read_text())
        values["weight_map"] |= weight_map
        (tmp_path / safetensors_files.INDEX).write_text(json.dumps(values))
        return str(tmp_path / safetensors_files.INDEX)

    return change


@pytest.mark.parametrize("file", ["../a.safetensors", "sub/a.safetensors", "..", "", "x\\y"])
def test_an_index_that_leaves_its_directory(shards, file):
    with pytest.raises(InputError, match="not next to it; only plain file names"):
        safetensors_files.open_index(shards(a=file))


def test_a_missing_shard(shards, tmp_path):
    (tmp_path / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(InputError, match="names the shard model-00002-of-.*, which is missing"):
        safetensors_files.open_index(shards())


@pytest.mark.parametrize("name", ["d", "b"])
def test_an_index_that_lists_other_names_than_the_shards_hold(shards, name):
    with pytest.raises(InputError, match=rf"1 are in only one of the two, e.g. {name}\."):
        safetensors_files.open_index(shards(**{name: "model-00001-of-00002.safetensors"}))


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"weight_map": {}}', '{"weight_map": 3}'])
def test_a_damaged_index(tmp_path, text):
    (tmp_path / safetensors_files.INDEX).write_text(text)
    with pytest.raises(InputError, match=safetensors_files.INDEX):
        safetensors_files.open_index(str(tmp_path / safetensors_files.INDEX))


@pytest.mark.parametrize(
    "header",
    [
        {"a": {"dtype": "F32", "shape": [3], "data_offsets": [0, 8]}},
        {"a": {"dtype": "F32", "shape": [300], "data_offsets": [0, 1200]}},
        {"a": {"dtype": "F32", "shape": [3], "data_offsets": [4, 16]}},
        {"a": {"dtype": "F32", "shape": [2**62, 4], "data_offsets": [0, 12]}},
        {"a": {"dtype": "F99", "shape": [3], "data_offsets": [0, 12]}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}},
        b"not JSON",
    ],
    ids=["too few bytes", "too many", "a gap", "overflow", "dtype", "bytes left over", "no JSON"],
)
def test_a_header_that_lies(tmp_path, header):
    with pytest.raises(InputError, match="cannot be read as safetensors: .*fetch it again"):
        safetensors_files.open_file(raw(tmp_path / "x.safetensors", header))


@pytest.mark.parametrize("kept", [0, 4, 8, 60, -1])
def test_a_file_cut_short(tmp_path, kept):
    path = tmp_path / "x.safetensors"
    safetensors.numpy.save_file(ARRAYS, path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError, match="cannot be read as safetensors"):
        safetensors_files.open_file(str(path))


class _Bomb:
    """What would happen if anybody unpickled it."""

    def __reduce__(self):
        return exec, ("raise SystemExit('unpickled')",)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5, "zip"])
def test_a_pickle_is_never_opened(tmp_path, protocol):
    path = tmp_path / "model.safetensors"
    if protocol == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("archive/data.pkl", pickle.dumps(_Bomb()))
    else:
        path.write_bytes(pickle.dumps(_Bomb(), protocol))
    with pytest.raises(InputError, match="not a safetensors file but a pickle.*not opened"):
        safetensors_files.open_file(str(path))


def test_a_type_that_numpy_has_not(tmp_path):
    header = {"a": {"dtype": "F8_E4M3", "shape": [12], "data_offsets": [0, 12]}}
    shapes, read = safetensors_files.open_file(raw(tmp_path / "x.safetensors", header))
    assert shapes == {"a": (12,)}
    with pytest.raises(InputError, match="of a type that NumPy does not have"):
        read("a")


_READS_BFLOAT16 = """
import sys
from bert_tf.checkpoints.formats import safetensors_files
_, read = safetensors_files.open_file(sys.argv[1])
print(read("a").astype("float32").tolist(), "tensorflow" in sys.modules)
"""


def test_bfloat16_needs_no_other_library_to_have_been_imported(tmp_path):
    header = {"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}
    path = raw(tmp_path / "x.safetensors", header, b"\xc0\x3f\x00\xc0")  # 1.5, -2
    root = pathlib.Path(__file__).parents[3]
    command = [sys.executable, "-c", _READS_BFLOAT16, path]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[1.5, -2.0] False\n"
