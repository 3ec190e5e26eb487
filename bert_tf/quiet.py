"""Keeps TensorFlow's own log lines off the terminal, unless TF_CPP_MIN_LOG_LEVEL asks for them.

TensorFlow heeds that variable only once its libraries are loaded. What they print while they are
being loaded (oneDNN, missing CUDA drivers) comes from C++ and goes straight to file descriptor 2.
So while `tensorflow` is imported, and only then, the descriptor leads through a small process that
drops such lines and passes on everything else. It is a process, not a thread, because it outlives
a crash of this one: no error message is lost.
"""

import contextlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

_VARIABLE = "TF_CPP_MIN_LOG_LEVEL"
_LEVELS = b"IWE"  # info, warning, error; fatal errors are always shown
_DEFAULT_LEVEL = "3"
_SECONDS_TO_END = 5.0

# The two formats of C++ log lines: absl's, and TensorFlow's own of earlier versions.
_LOG_LINE = re.compile(
    rb"(?:([IWE])\d{4} \d\d:\d\d:\d+\.\d+ +\d+ |\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: ([IWE]) )"
    rb"\S+:\d+\] "
)
_NOTHING = contextlib.nullcontext()
_HEADER = b"WARNING: All log messages before absl::InitializeLog() is called"


def install() -> None:
    """Makes the first import of `tensorflow`, wherever it happens, a quiet one.

    Until then nothing changes, not even the environment.
    """
    if "tensorflow" not in sys.modules and not _finders():
        sys.meta_path.insert(0, _Finder())


def show_loading() -> None:
    """Lets a terminal see that TensorFlow is being loaded, which takes seconds."""
    for finder in _finders():
        finder.has_status = True


class _Finder:
    """Finds `tensorflow` as usual, and has it loaded quietly.

    `keras`, which takes seconds too and loads `tensorflow` in between, is found for the status.
    """

    has_status = False

    def __init__(self) -> None:
        self._found: set[str] = set()

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> "ModuleSpec | None":
        """Called for every import; None leaves it to the other finders."""
        if name not in ("keras", "tensorflow") or name in self._found:
            return None
        self._found.add(name)
        spec = importlib.util.find_spec(name)  # asks this finder again, and then the others
        if spec and spec.loader:
            loader = spec.loader
            load = loader.exec_module

            def load_quietly(module: ModuleType) -> None:
                del loader.exec_module  # the method of the class is back
                with self._status(), without_logs() if name == "tensorflow" else _NOTHING:
                    load(module)

            loader.exec_module = load_quietly  # type: ignore[method-assign]
        return spec

    def _status(self) -> contextlib.AbstractContextManager[None]:
        if not self.has_status:
            return _NOTHING
        self.has_status = False  # one for both
        from bert_tf import progress  # only commands show it

        return progress.status("Loading TensorFlow")


def _finders() -> list[_Finder]:
    return [finder for finder in sys.meta_path if isinstance(finder, _Finder)]


@contextlib.contextmanager
def without_logs() -> Iterator[None]:
    """Drops the C++ log lines that the level hides; where that cannot be done, shows all."""
    level = os.environ.setdefault(_VARIABLE, _DEFAULT_LEVEL)
    is_frozen = getattr(sys, "frozen", False)  # then there is no interpreter to run the filter
    if level not in ("1", "2", "3") or is_frozen:
        yield
        return
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError, AttributeError):  # there is no standard error
            stack.enter_context(_filtered(level))
        yield


@contextlib.contextmanager
def _filtered(level: str) -> Iterator[None]:
    """Leads file descriptor 2 through a process with this module's `copy_shown`."""
    import subprocess  # not needed for the list of commands

    sys.stderr.flush()
    shown = os.dup(2)
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, level],
            stdin=subprocess.PIPE,
            stdout=shown,
            start_new_session=True,  # Ctrl-C does not end it before it has copied everything
        )
        assert child.stdin
        os.dup2(child.stdin.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(shown, 2)
            child.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_SECONDS_TO_END)  # what it still copies comes before what is next
    finally:
        os.close(shown)


def is_hidden(line: bytes, level: int) -> bool:
    """Whether a line is one of TensorFlow's log, of a severity below `level` (1, 2 or 3)."""
    found = _LOG_LINE.match(line)
    if found:
        return (found[1] or found[2]) in _LEVELS[:level]
    return line.startswith(_HEADER)


def copy_shown(source: BinaryIO, sink: BinaryIO, level: int) -> None:
    """Copies the lines that are not hidden, each as soon as it is there."""
    for line in iter(source.readline, b""):
        if not is_hidden(line, level):
            sink.write(line)
            sink.flush()


if __name__ == "__main__":
    copy_shown(sys.stdin.buffer, sys.stdout.buffer, int(sys.argv[1]))
