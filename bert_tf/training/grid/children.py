"""Runs of a grid in processes of their own, side by side.

A process gives back all of its memory when it ends, and TensorFlow's number of threads can be set
only when it starts.
"""

import glob
import os
import pathlib
import signal
import site
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bert_tf import flagging
from bert_tf.training.monitoring import history
from bert_tf.training.resume import interrupt

LOG = "log.txt"
_SECONDS_BETWEEN_LOOKS = 0.2
_MAX_ERROR = 600  # characters


class Child:
    """A process that makes a run.

    What it prints goes to `log.txt` of the run's model directory.

    Args:
      command: of `bert_tf.commands`.
      options: of the run.
      environment: variables in addition to those of this process.
    """

    def __init__(self, command: str, options: Any, environment: Mapping[str, str]) -> None:
        self.directory: str = options.output_dir
        os.makedirs(self.directory, exist_ok=True)
        self._log = os.path.join(self.directory, LOG)
        flags = flagging.to_flagfile(options).splitlines()
        with open(self._log, "ab") as log:
            self._printed_before = log.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bert_tf.training.grid", command, *flags],
                stdin=subprocess.PIPE,  # closes when this process ends, see `__main__`
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONPATH": _search_path(), **environment},
                start_new_session=True,  # Ctrl-C is passed on once, by `ask_to_end`
            )

    @property
    def has_ended(self) -> bool:
        """Whether the process is over."""
        return self._process.poll() is not None

    @property
    def share_done(self) -> float:
        """How much of the run is done, 0 to 1, as far as its log says."""
        return share_done(history.read(os.path.join(self.directory, history.NAME)))

    @property
    def error(self) -> str:
        """Why the ended process failed; "" if it did not."""
        status = self._process.returncode
        if status == 0:
            return ""
        with open(self._log, "rb") as log:
            log.seek(self._printed_before)
            return reason(status, log.read().decode(errors="replace"))

    def ask_to_end(self) -> None:
        """Tells the run to save its state and to end."""
        if not self.has_ended:
            self._process.send_signal(signal.SIGTERM)

    def wait(self) -> None:
        """Waits until the run has ended."""
        self._process.wait()


def _search_path() -> str:
    """PYTHONPATH with which a child finds this package where it is not installed."""
    package = str(pathlib.Path(__file__).parents[3])
    is_installed = package in (*site.getsitepackages(), site.getusersitepackages())
    paths = ["" if is_installed else package, os.environ.get("PYTHONPATH", "")]
    return os.pathsep.join(filter(None, paths))


def share_done(log: history.History) -> float:
    """How much of a run is done, 0 to 1; `log` is its metrics.jsonl."""
    totals = [line.get("num_steps") for line in log.events("plan")]
    if not totals or not totals[-1]:
        return 0.0
    # A restart has dropped the lines of updates that it makes again.
    return min(1.0, log.last_step / totals[-1])


def reason(status: int, printed: str) -> str:
    """Why a process failed: its last error message, or else its last line."""
    if status == interrupt.STATUS:
        return "it was told to end, and has saved its state"
    if status < 0:
        return f"it was ended by {signal.Signals(-status).name}"
    lines = [line for line in printed.splitlines() if line.strip()]
    starts = [index for index, line in enumerate(lines) if line.startswith("ERROR: ")]
    text = "\n".join(lines[starts[-1] :] if starts else lines[-1:])
    return text.removeprefix("ERROR: ")[:_MAX_ERROR] or f"it ended with status {status}"


def environments(
    parallel: int, variables: Mapping[str, str], num_cores: int, num_gpus: int
) -> list[dict[str, str]]:
    """What each of the runs side by side gets of the machine, as variables of its environment.

    Args:
      parallel: number of runs side by side; a single one gets the whole machine.
      variables: of this process. A number of threads that is set there stays.
      num_gpus: of the machine; CUDA_VISIBLE_DEVICES tells which of them may be used.
    """
    if parallel == 1:
        return [{}]
    visible = variables.get("CUDA_VISIBLE_DEVICES")
    gpus = [str(i) for i in range(num_gpus)] if visible is None else visible.split(",")
    gpus = [gpu for gpu in gpus if gpu.strip() not in ("", "-1")] if num_gpus else []
    # oneDNN and TensorFlow's operations share the threads "intra op"; "inter op" start operations.
    threads = str(max(1, num_cores // parallel))
    wanted = {"TF_NUM_INTRAOP_THREADS": threads, "TF_NUM_INTEROP_THREADS": threads}
    found = []
    for index in range(parallel):
        variables_of_run = {k: v for k, v in wanted.items() if k not in variables}
        if gpus:
            share = gpus[index::parallel] or [gpus[index % len(gpus)]]
            variables_of_run["CUDA_VISIBLE_DEVICES"] = ",".join(share)
            if len(gpus) < parallel:  # several runs on one
                variables_of_run["TF_FORCE_GPU_ALLOW_GROWTH"] = "true"
        found.append(variables_of_run)
    return found


def of_this_machine(parallel: int) -> list[dict[str, str]]:
    """`environments` on the cores and GPUs that this process may use."""
    num_gpus = len(glob.glob("/dev/nvidia[0-9]*"))
    return environments(parallel, os.environ, len(os.sched_getaffinity(0)), num_gpus)


def run_all(
    todo: Sequence[Callable[[Mapping[str, str]], Child]],
    environment: Sequence[Mapping[str, str]],
    ended: Callable[[int, Child], None],
    look: Callable[[Mapping[int, Child]], bool],
) -> bool:
    """Starts the children in their order, as many at once as there are environments.

    Args:
      todo: starts a child with one of the environments.
      ended: called with the index and the child when one is over.
      look: called several times a second with the children at work by index; False: no more are
        started, and those at work are stopped.

    Returns:
      whether all of them were made.
    """
    free = list(environment)
    at_work: dict[int, tuple[Child, Mapping[str, str]]] = {}
    waiting = list(enumerate(todo))
    try:
        while waiting or at_work:
            while free and waiting:
                index, start = waiting.pop(0)
                share = free.pop(0)
                at_work[index] = start(share), share
            if not look({index: child for index, (child, _) in at_work.items()}):
                return False
            for index in [index for index, (child, _) in at_work.items() if child.has_ended]:
                child, share = at_work.pop(index)
                free.append(share)
                ended(index, child)
            time.sleep(_SECONDS_BETWEEN_LOOKS)
    finally:
        for child, _ in at_work.values():
            child.ask_to_end()
        for child, _ in at_work.values():
            child.wait()
    return True
