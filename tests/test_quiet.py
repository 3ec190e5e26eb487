"""TensorFlow's log lines stay away unless asked for; everything else arrives, also of a crash."""

import io
import os
import pathlib
import subprocess
import sys

import pytest

from bert_tf import quiet

ROOT = pathlib.Path(quiet.__file__).parents[1]
# As TensorFlow 2.21 and earlier versions print them.
HEADER = "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR\n"
INFO = "I0000 00:00:1795326118.591207    4249 port.cc:153] oneDNN custom operations are on.\n"
WARNING = "W0000 00:00:1795326118.60000       1 gpu_device.cc:2341] Cannot dlopen some libraries.\n"
ERROR = "E0000 00:00:1795326237.39  4888 cuda_platform.cc:52] failed call to cuInit: INTERNAL\n"
OLD = "2025-09-17 14:44:05.157831: I external/local_xla/cudart_stub.cc:32] Could not find cuda.\n"
FATAL = "F0000 00:00:1795326237.39  4888 cpu_feature_guard.cc:60] This binary needs AVX.\n"
OTHERS = ("Traceback (most recent call last):\n", "\n", "I am a line\n", "E0000 no log line\n")


@pytest.mark.parametrize(
    ("level", "hidden"),
    [
        (1, (HEADER, INFO, OLD)),
        (2, (HEADER, INFO, OLD, WARNING)),
        (3, (HEADER, INFO, OLD, WARNING, ERROR)),
    ],
)
def test_only_log_lines_below_the_level_are_dropped(level, hidden):
    lines = [HEADER, INFO, WARNING, ERROR, OLD, FATAL, *OTHERS]
    sink = io.BytesIO()
    quiet.copy_shown(io.BytesIO("".join(lines).encode()), sink, level)
    assert sink.getvalue().decode() == "".join(line for line in lines if line not in hidden)


def test_a_last_line_without_an_end_and_other_bytes_arrive():
    sink = io.BytesIO()
    quiet.copy_shown(io.BytesIO(b"\xff\xfe\0\nno end"), sink, 3)
    assert sink.getvalue() == b"\xff\xfe\0\nno end"


@pytest.fixture
def run(tmp_path):
    """Runs Python with a package `tensorflow` of these lines; returns the process's end."""

    def run_with(tensorflow, program="import bert_tf, tensorflow", level=None):
        (tmp_path / "tensorflow").mkdir()
        (tmp_path / "tensorflow" / "__init__.py").write_text(tensorflow)
        environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
        environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
        if level is not None:
            environment["TF_CPP_MIN_LOG_LEVEL"] = level
        return subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True
        )

    return run_with


LOUD = f"import os\nos.write(2, {(HEADER + INFO + 'a real message' + chr(10)).encode()!r})\n"


def test_the_first_import_is_quiet_and_the_rest_of_the_process_is_left_alone(run):
    program = """
import sys, os, bert_tf
assert "TF_CPP_MIN_LOG_LEVEL" not in os.environ  # nothing changes before
import tensorflow
assert os.environ["TF_CPP_MIN_LOG_LEVEL"] == "3"
assert tensorflow.__spec__.loader.exec_module.__self__ is tensorflow.__spec__.loader
os.write(2, b"I0000 00:00:1.5 1 port.cc:1] printed later\\n")
print("after", file=sys.stderr)
"""
    done = run(LOUD, program)
    assert done.stderr == ("a real message\nI0000 00:00:1.5 1 port.cc:1] printed later\nafter\n")
    assert done.returncode == 0


@pytest.mark.parametrize("level", ["0", "", "loud"])
def test_whoever_sets_the_variable_is_shown_everything(run, level):
    assert run(LOUD, level=level).stderr == HEADER + INFO + "a real message\n"


def test_an_error_while_loading_arrives_with_its_traceback(run):
    done = run(LOUD + "raise ImportError('libfoo.so is missing')\n")
    assert done.returncode == 1
    assert done.stderr.startswith("a real message\nTraceback")
    assert done.stderr.endswith("ImportError: libfoo.so is missing\n")


def test_the_message_of_a_crash_arrives(run):
    crash = f"os.write(2, {FATAL.encode()!r} + b'no line end')\nos.abort()\n"
    done = run(LOUD + crash)
    assert done.returncode < 0
    assert done.stderr == "a real message\n" + FATAL + "no line end"


def test_a_command_shows_that_it_loads(run):
    program = """
import contextlib, bert_tf
from bert_tf import progress, quiet
shown = []
@contextlib.contextmanager
def status(text):
    shown.append(text)
    yield
progress.status = status
quiet.show_loading()
import tensorflow, tensorflow
assert shown == ["Loading TensorFlow"], shown
"""
    assert run("", program).returncode == 0


def test_tensorflow_itself_prints_nothing():
    environment = {n: v for n, v in os.environ.items() if n != "TF_CPP_MIN_LOG_LEVEL"}
    program = """
import bert_tf, tensorflow as tf
tf.config.list_physical_devices()  # looks for GPUs
tf.function(lambda x: x + 1)(tf.constant(1))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, cwd=ROOT
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
