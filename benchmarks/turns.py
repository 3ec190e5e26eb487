"""Programs measured in turns: each a process of its own that waits for its turn between steps.

The child makes a `Turns` and calls `advance` after each step; the parent talks to a `Child`. What
a turn costs is the CPU time of the child's process. Standard library only, as the children run
in environments of their own.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).parents[1]
_MARK = "TURN "  # before the lines that are for the parent
_GEMM_SIZE = 2048
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_QUIET = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONUNBUFFERED": "1"}


class Turns:
    """In the child: steps are counted, and when those of a turn are done the parent is told.

    The first turn is one step; made when everything but that step is ready.

    Args:
      gemm: callable that multiplies two float32 matrices [2048 2048].
    """

    def __init__(self, gemm):
        self._gemm = gemm
        self._begin(1)

    def _begin(self, num_steps):
        self._left, self._tokens, self._positions = num_steps, 0, 0
        self._start = time.process_time()

    def advance(self, num_steps, num_tokens=0, num_positions=0):
        """Counts steps, real tokens and computed positions; waits where the turn is over."""
        self._left -= num_steps
        self._tokens += num_tokens
        self._positions += num_positions
        if self._left > 0:
            return
        _say(
            cpu_seconds=time.process_time() - self._start,
            tokens=self._tokens,
            positions=self._positions,
            peak_mb=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        )
        for line in sys.stdin:
            if line.strip() == "gemm":
                _say(gemm=self._gemm_rate())
            else:
                self._begin(int(line))
                return
        os._exit(0)  # nothing is kept

    def _gemm_rate(self):
        """FLOPs per second of CPU."""
        self._gemm()
        seconds = []
        for _ in range(5):
            start = time.process_time()
            self._gemm()
            seconds.append(time.process_time() - start)
        return 2.0 * _GEMM_SIZE**3 / statistics.median(seconds)


def _say(**values):
    print("\n" + _MARK + json.dumps(values), flush=True)


class Child:
    """In the parent: a program and its figures.

    Args:
      python: str, interpreter.
      arguments: list of str, of the interpreter.
    """

    def __init__(self, python, arguments):
        self._errors = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [python, *arguments],
            cwd=ROOT,
            env=os.environ | _ONE_THREAD | _QUIET | {"PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.first = self._answer()

    def run(self, num_steps):
        """Makes so many steps; returns the dict of `Turns.advance`."""
        return self._ask(num_steps)

    def gemm_rate(self):
        """FLOPs per CPU second of a matrix product of 2048 rows and columns."""
        return self._ask("gemm")["gemm"]

    def end(self):
        """Ends the process."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _ask(self, what):
        print(what, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self):
        for line in self._process.stdout:
            if line.startswith(_MARK):
                return json.loads(line[len(_MARK) :])
        self._process.wait()
        self._errors.seek(0)
        raise SystemExit(self._errors.read()[-3000:])
