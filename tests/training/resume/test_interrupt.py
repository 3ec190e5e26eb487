"""A first signal is noted and answered with status 75; a later one ends the process at once."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from bert_tf.training.resume.interrupt import Interrupt, Interrupted

REPOSITORY = pathlib.Path(__file__).parents[3]

# Prints a line once it listens; ends by itself, with status 0, if nobody interrupts it.
WAITS = """
import dataclasses, hashlib, time
from bert_tf import flagging
from bert_tf.training.resume.interrupt import Interrupt

@dataclasses.dataclass(frozen=True)
class Options:
    path: str = flagging.option("", "path of the state that is said to be saved")

def main(options):
    with Interrupt(bool) as interrupt:
        print("listening", flush=True)
        for step in range(2000):
            WORK
            if interrupt.asked():
                interrupt.stop(step + 3, options.path or None)

flagging.run(main, Options)
"""
UPDATES = "time.sleep(0.01)"
ONE_LONG_CALL = "hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"  # outside of the interpreter


@pytest.fixture
def start():
    """Starts the program around some work; returns the process once it listens."""
    processes = []

    def start(work, *arguments, command=()):
        process = subprocess.Popen(
            [*command, sys.executable, "-c", WAITS.replace("WORK", work), *arguments],
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=bool(command),  # `timeout` leads a group; it must not be the tests'
        )
        processes.append(process)
        assert process.stdout.readline() == "listening\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_run_after_its_state_is_saved_with_status_75(start, number):
    process = start(UPDATES, "--path=out/training/step-3")
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 75
    assert f"{number.name}: saving after the current update" in errors
    assert f"{number.name} ended the run after step" in errors
    assert "saved in out/training/step-3. The same command resumes" in errors
    assert "Traceback" not in errors


def test_a_state_that_could_not_be_saved_is_not_called_saved(start):
    process = start(UPDATES)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 75
    assert "the state could not be saved" in errors


def test_a_later_signal_ends_at_once_even_within_a_call_that_does_not_return(start):
    process = start(ONE_LONG_CALL)
    process.send_signal(signal.SIGTERM)
    first, second = process.stderr.readline(), process.stderr.readline()
    assert "2 or more seconds from now, ends the run at once" in first + second
    process.send_signal(signal.SIGTERM)  # within these seconds it is the same request
    time.sleep(2.1)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM
    assert "ending at once, without saving" in errors


def test_the_two_signals_of_gnu_timeout_are_one(start):
    """It signals its child, then the process group, which the child is in."""
    process = start(UPDATES, "--path=out/training/step-3", command=("timeout", "1"))
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 124  # of `timeout`, for a command that it ended
    assert errors.count("SIGTERM: saving after the current update") == 1
    assert "saved in out/training/step-3. The same command resumes" in errors
    assert "at once, without saving" not in errors


def test_without_a_signal_nothing_is_asked_and_the_handlers_of_before_come_back():
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    for _ in range(2):
        with Interrupt(bool) as interrupt:
            assert not interrupt.asked()
            assert signal.getsignal(signal.SIGTERM) not in before
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert signal.set_wakeup_fd(-1) == -1


def test_other_signals_are_left_alone():
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        with Interrupt(bool) as interrupt:
            os.kill(os.getpid(), signal.SIGUSR1)
            end = time.monotonic() + 10
            while not seen and time.monotonic() < end:
                time.sleep(0.001)
            assert seen == [signal.SIGUSR1]
            assert not interrupt.asked()
    finally:
        signal.signal(signal.SIGUSR1, before)


class OtherWorker:
    """Workers of which another one has received a signal."""

    def any(self, flag):
        return True


def test_a_signal_to_another_worker_stops_this_one_too(capsys):
    with Interrupt(OtherWorker().any) as interrupt:
        assert interrupt.asked()
        with pytest.raises(Interrupted) as caught:
            interrupt.stop(7, "training/step-7")
    assert caught.value.code == 75
    assert "Another worker ended the run after step 7" in capsys.readouterr().err
