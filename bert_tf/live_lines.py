"""Lines at the bottom of a terminal that are drawn again and again until they are removed.

tqdm draws them. What the program prints meanwhile goes above them, whether it is printed to
standard output or to standard error.
"""

import contextlib
import io
import os
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from tqdm import tqdm

_SECONDS_BETWEEN_FRAMES = 0.5
_COLUMNS = 80  # where the terminal does not tell

Render = Callable[[int], str]  # from a number of columns to a text of at most as many


def bar(start: str, share: float, end: str, columns: int) -> str:
    """A line with a bar between two texts that fills the columns they leave."""
    texts = (text.replace("{", "{{").replace("}", "}}") for text in (start, end))
    return tqdm.format_meter(min(1.0, share), 1, 1, ncols=columns, bar_format="{bar}".join(texts))


class LiveLines:
    """The live lines of one terminal."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._lock = threading.RLock()
        self._session = contextlib.ExitStack()

    @contextlib.contextmanager
    def line(self, render: Render) -> Iterator[None]:
        """Shows a line until the block ends; it is drawn at once and then twice a second."""
        with self._lock:
            if not self._lines:
                self._session.enter_context(self._started())
            line = _Line(render, self._file)
            self._lines.append(line)
        try:
            yield
        finally:
            with self._lock:
                self._lines.remove(line)
                line.close()
                if not self._lines:
                    self._session.close()

    @contextlib.contextmanager
    def _started(self) -> Iterator[None]:
        """What the first line needs, until the last one is removed."""
        _Line.set_lock(self._lock)
        self._file = _terminal()
        streams = {name: getattr(sys, name) for name in ("stdout", "stderr")}
        plain = {name: stream for name, stream in streams.items() if stream.isatty()}
        above = {name: _Above(stream, self._file) for name, stream in plain.items()}
        for name, stream in above.items():
            setattr(sys, name, stream)
        end = threading.Event()
        threading.Thread(target=self._redraw, args=(end,), daemon=True).start()
        try:
            yield
        finally:
            end.set()
            for name, stream in above.items():
                stream.end()
                if getattr(sys, name) is stream:
                    setattr(sys, name, plain[name])
            if self._file is not plain["stderr"]:
                self._file.close()

    def _redraw(self, end: threading.Event) -> None:
        while not end.wait(_SECONDS_BETWEEN_FRAMES):
            with self._lock:
                if end.is_set():
                    return
                for line in self._lines:
                    line.refresh()


class _Line(tqdm):
    """A line of its own text."""

    monitor_interval = 0  # no thread of tqdm's own

    def __init__(self, render: Render, file: TextIO) -> None:
        self._render = render
        super().__init__(file=file, leave=False)

    def __str__(self) -> str:
        columns = _columns(self.fp) - 1  # a full last column would move the cursor to a new line
        return self._render(columns)[:columns]


class _Above:
    """A stream whose complete lines go above the live lines."""

    def __init__(self, stream: TextIO, file: TextIO) -> None:
        self._stream, self._file = stream, file
        self._incomplete = ""

    def write(self, text: str) -> int:
        lines, end, self._incomplete = (self._incomplete + text).rpartition("\n")
        if end:
            with _Line.external_write_mode(file=self._file):
                self._stream.write(lines + end)
                self._stream.flush()
        return len(text)

    def flush(self) -> None:
        """An incomplete line waits for its end."""

    def end(self) -> None:
        """Writes what is left."""
        self._stream.write(self._incomplete)
        self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _terminal() -> TextIO:
    """Standard error; a copy of its own, so that what redirects descriptor 2 leaves it alone."""
    try:
        descriptor = os.dup(sys.stderr.fileno())
    except (OSError, io.UnsupportedOperation):  # not a file of the operating system
        return sys.stderr
    return open(descriptor, "w", encoding=sys.stderr.encoding, errors="replace")  # noqa: SIM115


def _columns(file: Any) -> int:
    try:
        return os.get_terminal_size(file.fileno()).columns or _COLUMNS
    except (OSError, io.UnsupportedOperation):
        return _COLUMNS
