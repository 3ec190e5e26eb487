"""Commands in processes of their own, and what each of them costs."""

import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import typing

from bert_tf.errors import InputError

ROOT = pathlib.Path(__file__).parents[1]


class Cost(typing.NamedTuple):
    """Of a process and its children: CPU time of all, peak memory of the largest, in units of
    1024 bytes.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_kib: int


def without_gpu() -> dict[str, str]:
    """The environment of a process on the CPU, where TensorFlow is quiet."""
    return os.environ | {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3"}


def run(command, cwd=ROOT, stdin=b"", max_seconds=None):
    """Runs a command, without a GPU and without showing what it prints.

    Args:
      command: list of str.
      cwd: path.
      stdin: bytes that it is given to read.
      max_seconds: float, after which it is stopped, or None.

    Returns:
      `Cost`, or None if it was stopped.

    Raises:
      InputError: it failed; the message has the end of what it wrote to standard error.
    """
    environment = without_gpu()
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        given.write(stdin)
        given.seek(0)
        start = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=given,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
        is_late = threading.Event()
        timer = threading.Timer(max_seconds or 0, lambda: (is_late.set(), process.kill()))
        if max_seconds:
            timer.start()
        _, status, usage = os.wait4(process.pid, 0)  # the cost of this child and no other
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if is_late.is_set():
            return None
        if process.returncode:
            errors.seek(0)
            end = errors.read()[-3000:].decode(errors="replace")
            raise InputError(f"{' '.join(command)} ended with {process.returncode}:\n{end}")
    return Cost(time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss)


def ask(python, script, task, **environment):
    """Runs a script of `benchmarks` on a task, in another library's interpreter, without a GPU.

    Args:
      python: str, the interpreter.
      script: path; its one argument is the task as JSON, its last line the answer, if it has one.
      task: dict.
      **environment: variables beside those that are set here.

    Returns:
      list of str, the lines that it prints.

    Raises:
      InputError: it failed; the message has the end of what it wrote to standard error.
    """
    command = [python, str(script), json.dumps(task)]
    done = subprocess.run(command, env=without_gpu() | environment, capture_output=True, text=True)
    if done.returncode:
        end = done.stderr[-3000:]
        raise InputError(f"{python} {script} ended with {done.returncode}:\n{end}")
    return done.stdout.splitlines()
