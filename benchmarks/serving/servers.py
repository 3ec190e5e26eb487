"""A server in a process of its own, and what it costs."""

import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys

from benchmarks import child_process
from bert_tf.errors import InputError

_TICKS = os.sysconf("SC_CLK_TCK")


class RunningServer:
    """`python -m serving` until `stop`.

    Args:
      flags: list of str, without those of ports.

    Attributes:
      rest_port, grpc_port: int.

    Raises:
      InputError: it ended before it was ready.
    """

    def __init__(self, flags):
        self.rest_port, self.grpc_port = _free_ports(2)
        ports = [f"--rest_api_port={self.rest_port}", f"--port={self.grpc_port}"]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "serving", *ports, *flags],
            cwd=child_process.ROOT,
            env=child_process.without_gpu() | {"PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        lines = []
        for line in self._process.stdout:
            lines.append(line)
            if line.startswith("Ready"):
                return
        raise InputError(f"The server ended with {self._process.wait()}:\n{''.join(lines)}")

    def cpu_seconds(self):
        """Of the process and its children, so far."""
        return sum(_cpu_ticks(pid) for pid in self._pids()) / _TICKS

    def memory_mb(self):
        """Resident memory of the process and its children."""
        return sum(_resident_kib(pid) for pid in self._pids()) / 1024

    def _pids(self):
        found = [self._process.pid]
        for pid in found:
            for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
                with contextlib.suppress(OSError):
                    found += map(int, task.read_text().split())
        return found

    def stop(self):
        """Stops it with SIGTERM; returns its exit status."""
        self._process.send_signal(signal.SIGTERM)
        self._process.communicate()
        return self._process.returncode


def _cpu_ticks(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])  # user and system time


def _resident_kib(pid):
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0)


def _free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
