"""The scratch directory: parts come back as they were, and a stranger's work is refused."""

import json
import multiprocessing
import os

import numpy as np
import pytest

from bert_tf.errors import InputError
from bert_tf.records.build import scratch

IDENTITY = {"random_seed": 3, "inputs": ["a", "b"]}


def test_arrays_come_back(tmp_path):
    path = str(tmp_path / "part")
    arrays = [np.arange(7, dtype="<u2"), np.array([True, False]), np.empty(0, np.int64)]
    scratch.write_arrays(path, {"num": 5}, *arrays)
    assert scratch.header(path) == {"num": 5}
    with open(path, "rb") as file:
        for array in arrays:
            found = np.load(file)
            assert found.dtype == array.dtype
            assert found.tolist() == array.tolist()


def test_a_part_without_its_header_is_not_there(tmp_path):
    path = str(tmp_path / "part")
    scratch.write_arrays(path, {}, np.arange(3))
    os.remove(f"{path}.json")
    assert scratch.header(path) is None


def test_rows_come_back_bucket_by_bucket(tmp_path):
    """Those of two units: in each bucket the rows of the first one, then those of the second."""
    dtype = np.dtype([("ids", "<u2", (3,)), ("size", "i1")])
    rows = np.zeros(11, dtype)
    rows["size"] = range(11)
    path = str(tmp_path / "rows")
    units = [(rows[:7], np.array([2, 2, 5, 7])), (rows[7:], np.array([1, 1, 1, 4]))]
    scratch.write_rows(path, {"num": 11}, units)
    found = []
    for bucket in range(4):
        read = np.zeros(13, dtype)
        found.append(read["size"][: scratch.read_rows(path, read, bucket, 4)].tolist())
    assert found == [[0, 1, 7], [], [2, 3, 4], [5, 6, 8, 9, 10]]
    assert scratch.read_rows(path, np.zeros(2, dtype), 2, 4) == 2
    assert scratch.header(path) == {"num": 11}


def test_it_is_deleted_if_all_ends_well(tmp_path):
    path = str(tmp_path / "scratch")
    with scratch.opened(path, IDENTITY) as parts:
        scratch.write_arrays(parts.tokens((0, 1)), {}, np.arange(3))
    assert os.listdir(tmp_path) == []


def test_what_is_done_stays_if_the_build_fails(tmp_path):
    path = str(tmp_path / "scratch")
    with pytest.raises(RuntimeError), scratch.opened(path, IDENTITY) as parts:
        scratch.write_arrays(parts.tokens((0, 1)), {"num": 3}, np.arange(3))
        raise RuntimeError
    with scratch.opened(path, IDENTITY) as parts:
        assert scratch.header(parts.tokens((0, 1))) == {"num": 3}
        assert scratch.header(parts.rows((0, 1))) is None


def test_another_build_is_refused_and_told_apart(tmp_path):
    path = str(tmp_path / "scratch")
    with pytest.raises(RuntimeError), scratch.opened(path, IDENTITY):
        raise RuntimeError
    other = IDENTITY | {"random_seed": 5}
    with pytest.raises(InputError, match="random_seed is 3 there and 5 here.*delete"):
        with scratch.opened(path, other):
            pass


def test_a_build_of_version_0_1_0_goes_on(tmp_path):
    path = str(tmp_path / "scratch")
    old = IDENTITY | {"objective": "nsp", "masking": "piece"}
    new = IDENTITY | {"example_type": "nsp", "mask_granularity": "token"}
    with pytest.raises(RuntimeError), scratch.opened(path, IDENTITY):
        raise RuntimeError
    (tmp_path / "scratch" / "identity.json").write_text(json.dumps(old))
    for _ in range(2):
        with pytest.raises(RuntimeError), scratch.opened(path, new):
            raise RuntimeError
    with pytest.raises(InputError, match="mask_granularity is 'token' there and 'word' here"):
        with scratch.opened(path, new | {"mask_granularity": "word"}):
            pass


def _hold(path, ready, done):
    with scratch.opened(path, IDENTITY):
        ready.set()
        done.wait(30)


def test_two_builds_at_once_are_refused(tmp_path):
    context = multiprocessing.get_context("spawn")
    ready, done = context.Event(), context.Event()
    path = str(tmp_path / "scratch")
    process = context.Process(target=_hold, args=(path, ready, done))
    process.start()
    try:
        assert ready.wait(30)
        with pytest.raises(InputError, match="locked"), scratch.opened(path, IDENTITY):
            pass
    finally:
        done.set()
        process.join()
    assert process.exitcode == 0
