"""Whatever happens to a state on disk, the run goes on from a good one, or says that it cannot."""

import errno
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.training import state_files
from bert_tf.training import strategy as strategy_lib
from bert_tf.training.guards import DivergedError
from bert_tf.training.state import State

INDEX, DATA, MANIFEST = "state.index", "state.data-00000-of-00001", "state.json"
FILES = (INDEX, DATA, MANIFEST)
OLD_FILES = ("index", "data-00000-of-00001")


class Moments(tf.Module):
    """An optimizer's state."""

    def __init__(self, shapes):
        super().__init__()
        self.first = [tf.Variable(tf.zeros(shape), trainable=False) for shape in shapes]


class Run:
    """A run whose variables are a function of the step, so that a mixture of two shows."""

    shapes = {"encoder/kernel": (5, 11), "encoder/bias": (3,)}

    def __init__(self, directory, strategy=None, **arguments):
        strategy = strategy or tf.distribute.OneDeviceStrategy("/cpu:0")
        self.directory = pathlib.Path(directory)
        with strategy.scope():
            self.weights = {name: tf.Variable(tf.zeros(s)) for name, s in self.shapes.items()}
            self.moments = Moments(self.shapes.values())
            self.step = tf.Variable(0, dtype=tf.int64, trainable=False)
        parts = {"weights": self.weights, "optimizer": self.moments}
        self.state = State(str(directory), parts, self.step, strategy, **arguments)

    def variables(self):
        return [*self.weights.values(), *self.moments.first]

    def at(self, step):
        """Sets the variables to those of a step."""
        self.step.assign(step)
        for index, variable in enumerate(self.variables()):
            variable.assign(tf.fill(variable.shape, step + index / 8))
        return self

    def save(self, *steps, **arguments):
        return [self.at(step).state.save(**arguments) for step in steps][-1]

    def assert_at(self, step):
        assert int(self.step) == step
        for index, variable in enumerate(self.variables()):
            np.testing.assert_array_equal(variable, np.full(variable.shape, step + index / 8))


def assert_restores(directory, step):
    run = Run(directory)
    assert run.state.restore() == step
    run.assert_at(step)


def names(directory):
    return sorted(os.listdir(directory))


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


# What is saved comes back.


def test_without_a_state_a_run_starts_at_0(tmp_path, capsys):
    run = Run(tmp_path / "training")
    assert (run.state.restore(), run.state.notes, run.state.last_good()) == (0, {}, None)
    assert capsys.readouterr().err == ""


def test_the_newest_state_comes_back_with_its_notes(tmp_path, capsys):
    Run(tmp_path).save(3, 11)
    path = Run(tmp_path).save(13, notes={"guard": {"losses": [0.1, 2.5e-7], "best": None}, 5: 7})
    run = Run(tmp_path)
    assert run.state.restore() == 13
    run.assert_at(13)
    assert run.state.notes == {"guard": {"losses": [0.1, 2.5e-7], "best": None}, "5": 7}
    assert path == run.state.last_good() == str(tmp_path / "step-13")
    assert names(path) == sorted(FILES)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("replicas", [(1, 2), (2, 1), (2, 4)])
def test_a_state_comes_back_on_another_number_of_replicas(tmp_path, replicas):
    before, after = (strategy_lib.mirrored([f"/cpu:{i}" for i in range(n)]) for n in replicas)
    Run(tmp_path, before).save(7)
    run = Run(tmp_path, after)
    assert run.state.restore() == 7
    for index, variable in enumerate(run.variables()):
        for copy in after.experimental_local_results(variable):
            np.testing.assert_array_equal(copy, np.full(copy.shape, 7 + index / 8))


def test_two_states_are_kept_and_the_last_good_one(tmp_path):
    run = Run(tmp_path)
    for step, is_good, kept in [
        (2, True, ["step-2"]),
        (3, True, ["step-2", "step-3"]),
        (5, True, ["step-3", "step-5"]),
        (7, False, ["step-5", "step-7"]),
        (11, False, ["step-11", "step-5", "step-7"]),
        (13, False, ["step-11", "step-13", "step-5"]),
        (17, True, ["step-13", "step-17"]),
    ]:
        run.save(step, is_good=is_good)
        assert names(tmp_path) == kept
        assert Run(tmp_path).state.restore() == step  # good or not: a restart changes nothing
        assert run.state.last_good().endswith("step-17" if step == 17 else f"step-{min(step, 5)}")


def test_a_step_that_is_saved_again_takes_the_place_of_the_first(tmp_path):
    run = Run(tmp_path)
    run.save(3, 5)
    assert run.save(5, notes={"phase": 2}) == str(tmp_path / "step-5.1")
    assert names(tmp_path) == ["step-3", "step-5.1"]
    again = Run(tmp_path)
    assert (again.state.restore(), again.state.notes) == (5, {"phase": 2})
    assert run.save(5) == str(tmp_path / "step-5.2")
    run.save(7)
    assert names(tmp_path) == ["step-5.2", "step-7"]


def test_a_state_with_values_that_are_not_finite_is_not_kept(tmp_path):
    run = Run(tmp_path)
    run.save(3)
    run.at(5)
    run.moments.first[1].assign([1.0, np.nan, np.inf])
    with pytest.raises(DivergedError, match=r"Step 5: values .* in 1 .* optimizer/first/1\..*step-3\."):
        run.state.save()
    assert names(tmp_path) == ["step-3"]


# Damage.


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


# Kills.


def test_a_kill_between_any_two_operations_leaves_a_state(tmp_path, monkeypatch):
    """The directory is copied at every operation on it: what a kill there would leave."""
    directory, copies = tmp_path / "training", []
    run = Run(directory)
    run.save(2, 3)

    def watched(function):
        def call(*args, **kwargs):
            copies.append(shutil.copytree(directory, tmp_path / f"copy-{len(copies)}"))
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(run.state._checkpoint, "write", watched(run.state._checkpoint.write))
    for name in ("rename", "fsync"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    for name in ("_describe", "_digest"):
        monkeypatch.setattr(state_files, name, watched(getattr(state_files, name)))
    monkeypatch.setattr(shutil, "rmtree", watched(shutil.rmtree))
    run.save(5)
    monkeypatch.undo()

    found = []
    for copy in copies:
        again = Run(copy)
        found.append(again.state.restore())
        again.assert_at(found[-1])
        again.save(7)  # and the run goes on from there
        assert_restores(copy, 7)
        assert len(names(copy)) == 2
    assert found == sorted(found) and set(found) == {3, 5}
    assert len(found) > 10


def kill_while_saving(directory, moment):
    """In a process of its own: dies in the save of step 5; ends with status 0 if it does not."""
    run = Run(directory).at(5)
    operations = 0

    def die(event, arguments):
        nonlocal operations
        if arguments and str(arguments[0]).startswith(directory):
            operations += 1
            if operations == moment:
                os._exit(9)

    sys.addaudithook(die)
    run.state.save()
    os._exit(0)


def kill_at_moments(before, directory):
    """Forks a process for every third moment: TensorFlow is imported once."""
    status, moment = 9, -2
    while status == 9:
        moment += 3
        copy = shutil.copytree(before, os.path.join(directory, str(moment)))
        child = os.fork()
        if not child:
            kill_while_saving(copy, moment)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 0


def test_a_process_that_dies_while_saving_leaves_a_state(tmp_path):
    Run(tmp_path / "before").save(2, 3)
    (tmp_path / "killed").mkdir()
    program = "import runpy, sys; runpy.run_path(sys.argv[1])['kill_at_moments'](*sys.argv[2:])"
    command = [sys.executable, "-c", program, __file__, tmp_path / "before", tmp_path / "killed"]
    subprocess.run(command, check=True)
    moments = sorted((tmp_path / "killed").iterdir(), key=lambda path: int(path.name))
    assert len(moments) > 5
    found = []
    for moment in moments:
        run = Run(moment)
        found.append(run.state.restore())
        run.assert_at(found[-1])
        assert not [name for name in names(moment) if name.startswith(".")]
    assert found == sorted(found)
    assert set(found) == {3, 5}


# A full disk.


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        tf.errors.ResourceExhaustedError(None, None, "x.data; No space left on device"),
    ],
)
@pytest.mark.parametrize("place", ["write", "seal"])
def test_a_full_disk_costs_a_warning(tmp_path, capsys, monkeypatch, error, place):
    run = Run(tmp_path)
    run.save(3)

    def fail(path, *arguments):
        pathlib.Path(path).parent.joinpath("half").write_bytes(b"half")
        raise error

    if place == "write":
        monkeypatch.setattr(run.state._checkpoint, "write", fail)
    else:
        monkeypatch.setattr(state_files, "seal", fail)
    assert run.save(5) is None
    message = capsys.readouterr().err
    assert message.startswith("WARNING: the state of step 5 could not be saved (")
    assert "No space left" in message or "quota" in message
    assert "It takes 464 bytes" in message  # twice 5 x 11 + 3 floats
    assert f"{tmp_path} has " in message and " free" in message
    assert f"The last good state is {tmp_path}/step-3." in message
    assert names(tmp_path)[-1] == "step-3" and not names(tmp_path)[0].startswith(".")

    monkeypatch.undo()
    run.save(7)
    assert_restores(tmp_path, 7)


def test_the_systems_refusal_of_more_bytes_costs_a_warning(tmp_path, capsys):
    """TensorFlow's own writer fails, in the middle of a file."""
    run = Run(tmp_path)
    run.save(3)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, before[1]))
    try:
        assert run.save(5) is None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "step 5 could not be saved" in capsys.readouterr().err
    assert names(tmp_path) == ["step-3"]
    run.save(7)
    assert_restores(tmp_path, 7)


def test_a_directory_that_is_gone_costs_a_warning(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert Run(tmp_path / "file" / "training").save(3) is None
    assert "cannot be reached" in capsys.readouterr().err


# States of the first layout: those of tf.train.CheckpointManager.


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
