"""Damaged states are detected, named and passed over."""

import json
import os
import shutil

import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.training.resume import state_files
from tests.reference.state_run import DATA, FILES, INDEX, MANIFEST, Run, assert_restores, names


def flip(path, bit):
    data = bytearray(path.read_bytes())
    data[bit // 8 % len(data)] ^= 1 << bit % 8
    path.write_bytes(data)


DAMAGES = {
    "missing": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"}"),
    "first bit": lambda path: flip(path, 0),
    "bit in the middle": lambda path: flip(path, 4 * path.stat().st_size + 5),
    "other": lambda path: path.write_bytes(os.urandom(path.stat().st_size)),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_newest_state_gives_way_to_the_one_before(tmp_path, capsys, name, damage):
    Run(tmp_path).save(3, 5)
    DAMAGES[damage](tmp_path / "step-5" / name)
    run = Run(tmp_path)
    assert run.state.restore() == 3
    run.assert_at(3)
    message = capsys.readouterr().err
    assert f"{tmp_path}/step-5 cannot be restored ({name} " in message
    assert f"Resuming from {tmp_path}/step-3" in message
    assert f"now {tmp_path}/damaged-step-5." in message
    run.save(5, 7)
    assert names(tmp_path) == ["damaged-step-5", "step-5", "step-7"]
    assert_restores(tmp_path, 7)


@pytest.mark.parametrize("name", FILES)
def test_no_flipped_bit_passes(tmp_path, name):
    Run(tmp_path).save(3)
    (saved,) = state_files.listed(str(tmp_path))
    whole, written = saved.verify(), (tmp_path / "step-3" / name).read_bytes()
    for bit in range(0, 8 * len(written), 29):  # all of them would take minutes
        flip(tmp_path / "step-3" / name, bit)
        with pytest.raises(state_files.DamagedError):
            assert saved.verify() != whole, f"bit {bit} passed"
            raise AssertionError(f"bit {bit} changed what was read")
        (tmp_path / "step-3" / name).write_bytes(written)


def test_an_empty_directory_of_a_state_gives_way(tmp_path):
    Run(tmp_path).save(3)
    (tmp_path / "step-5").mkdir()
    assert_restores(tmp_path, 3)


def test_damaged_states_do_not_fill_the_disk(tmp_path):
    for step in (5, 7, 11):
        run = Run(tmp_path)
        run.state.restore()
        run.save(step - 1, step)
        (tmp_path / f"step-{step}" / DATA).unlink()
    assert_restores(tmp_path, 10)
    assert names(tmp_path) == ["damaged-step-11", "step-10"]


@pytest.mark.parametrize("name", FILES)
def test_only_damaged_states_are_an_error_and_never_a_start_from_zero(tmp_path, name):
    Run(tmp_path).save(3, 5)
    (tmp_path / "step-3" / name).write_bytes(b"")
    (tmp_path / "step-5" / INDEX).unlink()
    with pytest.raises(InputError) as caught:
        Run(tmp_path).state.restore()
    message = str(caught.value)
    assert f"{tmp_path}/step-5: {INDEX} is missing" in message
    assert f"{tmp_path}/step-3: {name} " in message
    assert "Put one back from a copy" in message
    assert f"to start again from step 0, remove {tmp_path}." in message
    assert names(tmp_path) == ["step-3", "step-5"]


class Wider(Run):
    shapes = {"encoder/kernel": (5, 13), "encoder/bias": (3,)}


class Deeper(Run):
    shapes = Run.shapes | {"encoder/second": (7,)}


@pytest.mark.parametrize("other", [Wider, Deeper])
def test_a_state_of_another_model_gives_way(tmp_path, capsys, other):
    other(tmp_path / "other").save(5)
    Run(tmp_path).save(3)
    shutil.copytree(tmp_path / "other" / "step-5", tmp_path / "step-5")
    shutil.rmtree(tmp_path / "other")
    assert_restores(tmp_path, 3)
    assert "step-5 cannot be restored (it cannot be read into this model" in capsys.readouterr().err


def test_states_of_another_model_alone_are_an_error(tmp_path):
    Wider(tmp_path).save(3, 5)
    with pytest.raises(InputError, match=r"step-5: it cannot be read.*\n.*step-3: it cannot be"):
        Run(tmp_path).state.restore()


def test_a_state_that_was_renamed_is_damaged(tmp_path):
    Run(tmp_path).save(3, 5)
    (tmp_path / "step-5").rename(tmp_path / "step-7")
    assert_restores(tmp_path, 3)


def test_a_state_of_a_later_format_gives_way(tmp_path, capsys):
    Run(tmp_path).save(3, 5)
    path = tmp_path / "step-5" / MANIFEST
    manifest = json.loads(path.read_text()) | {"format": 2}
    manifest.pop("sha256")
    manifest["sha256"] = state_files._digest(manifest)
    path.write_text(json.dumps(manifest))
    assert_restores(tmp_path, 3)
    assert "it has format 2; this version reads 1" in capsys.readouterr().err


def test_a_state_holds_what_states_of_version_0_1_0_hold(tmp_path):
    """With one key more or fewer, neither version could restore the other one's states."""
    Run(tmp_path).save(3)
    keys = tf.train.load_checkpoint(str(tmp_path / "step-3" / "state")).get_variable_to_dtype_map()
    weights = ["weights/encoder.Skernel", "weights/encoder.Sbias"]
    names = [*weights, "optimizer/first/0", "optimizer/first/1", "save_counter", "step"]
    values = {f"{name}/.ATTRIBUTES/VARIABLE_VALUE" for name in names}
    assert set(keys) == values | {"_CHECKPOINTABLE_OBJECT_GRAPH"}
    manifest = json.loads((tmp_path / "step-3" / MANIFEST).read_text())
    assert set(manifest) == {"format", "step", "is_good", "files", "notes", "sha256"}
    assert manifest["format"] == 1
