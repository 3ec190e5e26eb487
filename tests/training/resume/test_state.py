"""Whatever happens during a save, the run resumes from a complete state."""

import errno
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import unittest.mock

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import files
from bert_tf.training.devices import strategies
from bert_tf.training.monitoring.guards import DivergedError
from bert_tf.training.resume import state_files
from tests.reference.state_run import DATA, FILES, Run, assert_restores, names

REPOSITORY = pathlib.Path(__file__).parents[3]


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
    before, after = (strategies.mirrored([f"/cpu:{i}" for i in range(n)]) for n in replicas)
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
    with pytest.raises(
        DivergedError, match=r"Step 5: values .* in 1 .* optimizer/first/1\..*step-3\."
    ):
        run.state.save()
    assert names(tmp_path) == ["step-3"]


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
    subprocess.run(command, check=True, cwd=REPOSITORY)
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
    assert message.startswith("WARNING: the state of step 5 could not be saved (the disk is full)")
    assert "It takes 464 bytes" in message  # twice 5 x 11 + 3 floats
    assert f"{tmp_path} has " in message and " free" in message
    assert f"The last good state is {tmp_path}/step-3." in message
    assert names(tmp_path)[-1] == "step-3" and not names(tmp_path)[0].startswith(".")

    monkeypatch.undo()
    run.save(7)
    assert_restores(tmp_path, 7)


def test_a_full_disk_from_the_start_is_said_so(tmp_path, capsys, monkeypatch):
    run = Run(tmp_path)
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr(run.state._checkpoint, "write", unittest.mock.Mock(side_effect=full))
    assert run.save(3) is None
    assert "No good state was saved. The run continues" in capsys.readouterr().err


def test_room_for_two_states_is_enough(tmp_path, capsys, monkeypatch):
    """The disk holds two; the last good one and the newest one stay until a new one is complete."""
    run = Run(tmp_path)
    write = run.state._checkpoint.write

    def limited(path, options):
        if len(state_files.listed(str(tmp_path))) > 1:
            raise tf.errors.ResourceExhaustedError(None, None, "x; No space left on device")
        return write(path, options)

    monkeypatch.setattr(run.state._checkpoint, "write", limited)
    for step, kept in [
        (2, ["step-2"]),
        (3, ["step-2", "step-3"]),
        (5, ["step-3", "step-5"]),
        (7, ["step-5", "step-7"]),
    ]:
        assert run.save(step) == str(tmp_path / f"step-{step}")
        assert names(tmp_path) == kept
    assert_restores(tmp_path, 7)
    assert capsys.readouterr().err == ""

    # Without an undamaged newer one the older one is not replaced, and stays.
    (tmp_path / "step-7" / DATA).write_bytes(b"damaged")
    assert run.save(11) is None
    assert names(tmp_path) == ["step-5", "step-7"]
    assert (
        "The run continues and tries again at the next save. Make room." in capsys.readouterr().err
    )


def test_room_for_two_states_is_not_made_of_the_last_good_one(tmp_path, capsys, monkeypatch):
    run = Run(tmp_path)
    run.save(2)
    run.save(3, is_good=False)

    def full(path, options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run.state._checkpoint, "write", full)
    assert run.save(5, is_good=False, is_last=True) is None
    assert names(tmp_path) == ["step-2", "step-3"]
    assert "The run continues. Make room." in capsys.readouterr().err


def test_a_start_without_room_for_a_state_says_so_at_once(tmp_path, capsys, monkeypatch):
    """With two states there is room: the older one would go."""
    monkeypatch.setattr(files, "free_bytes", lambda path: 400)
    run = Run(tmp_path)
    run.state.restore()
    assert capsys.readouterr().err == (
        f"WARNING: {tmp_path} has 400 bytes free and a training state takes 464 bytes, so none can "
        "be saved. Make room.\n"
    )
    run.save(3, 5)
    Run(tmp_path).state.restore()
    assert capsys.readouterr().err == ""


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
