"""Damaged states are found, named and passed over; those of the first layout are still read."""

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
    assert f"Going on from {tmp_path}/step-3" in message
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
    assert "it has format 2, and this version reads 1" in capsys.readouterr().err


# States of the first layout: those of tf.train.CheckpointManager.

OLD_FILES = ("index", "data-00000-of-00001")


def save_old(directory, *steps):
    run = Run(directory)
    checkpoint = tf.train.Checkpoint(weights=run.weights, optimizer=run.moments, step=run.step)
    manager = tf.train.CheckpointManager(checkpoint, str(directory), max_to_keep=2)
    for step in steps:
        run.at(step)
        manager.save(checkpoint_number=step)
    (directory / "identity.json").write_text("{}\n")


def test_a_state_of_the_first_layout_comes_back_and_is_followed_by_new_ones(tmp_path, capsys):
    save_old(tmp_path, 2, 3, 5)
    run = Run(tmp_path)
    assert run.state.last_good() == str(tmp_path / "ckpt-5")
    assert run.state.restore() == 5
    run.assert_at(5)
    run.save(7)
    assert names(tmp_path) == [
        *(f"ckpt-5.{n}" for n in sorted(OLD_FILES)),
        "identity.json",
        "step-7",
    ]
    assert_restores(tmp_path, 7)
    run.save(11)
    assert names(tmp_path) == ["identity.json", "step-11", "step-7"]
    assert_restores(tmp_path, 11)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", OLD_FILES)
@pytest.mark.parametrize("damage", [name for name in DAMAGES if name != "longer"])
def test_a_damaged_state_of_the_first_layout_gives_way(tmp_path, capsys, name, damage):
    save_old(tmp_path, 3, 5)
    DAMAGES[damage](tmp_path / f"ckpt-5.{name}")
    run = Run(tmp_path)
    assert run.state.restore() == 3
    run.assert_at(3)
    assert f"{tmp_path}/ckpt-5 cannot be restored (" in capsys.readouterr().err
    run.save(5)
    assert_restores(tmp_path, 5)


@pytest.mark.parametrize("damage", ["missing", "empty", "other"])
def test_the_list_of_the_first_layout_is_not_needed(tmp_path, damage):
    save_old(tmp_path, 3, 5)
    DAMAGES[damage](tmp_path / "checkpoint")
    assert_restores(tmp_path, 5)


def test_states_of_the_first_layout_that_are_all_gone_are_an_error(tmp_path):
    save_old(tmp_path, 3, 5)
    for path in tmp_path.glob("ckpt-*"):
        path.unlink()
    with pytest.raises(InputError, match=r"ckpt-5: .*\n.*ckpt-3: "):
        Run(tmp_path).state.restore()


def test_what_a_killed_save_of_the_first_layout_left_is_removed(tmp_path):
    save_old(tmp_path, 3)
    (tmp_path / "ckpt-5_temp").mkdir()
    (tmp_path / "ckpt-5_temp" / "part-00000-of-00001.data").write_bytes(b"half")
    assert_restores(tmp_path, 3)
    assert "ckpt-5_temp" not in names(tmp_path)
