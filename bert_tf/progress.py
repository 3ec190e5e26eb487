"""What a person sees while work goes on: live lines on a terminal, plain lines elsewhere.

`Progress` is for work that is counted, `status` for work that is not. On a terminal both are lines
at the bottom that move by themselves and disappear when the work is done; what is printed
meanwhile appears above them. Where standard error is a file or a pipe, both print a plain line
every ten seconds, so that a log stays readable.
"""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from types import TracebackType
from typing import Self, TypeVar

from bert_tf import formatting, live_lines

T = TypeVar("T")

_SECONDS_BETWEEN_LINES = 10.0
_MIN_BAR = 10  # columns
_live_lines = live_lines.LiveLines()


def is_on_terminal() -> bool:
    """Whether standard error is a terminal that can move its cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@contextlib.contextmanager
def status(text: str) -> Iterator[None]:
    """Shows what is going on, and for how long, until the block ends.

    Args:
      text: such as "Loading TensorFlow".
    """
    start = time.monotonic()

    def elapsed() -> str:
        return f"{text} ... {_seconds(time.monotonic() - start)}"

    with _shown(lambda columns: elapsed(), lambda: _print(elapsed())):
        yield


class Progress:
    """Shows how much work is done, how fast it goes and when it will end.

    A context manager; without `with`, `close` ends it.

    Args:
      total: units of work; None: not known.
      unit: name of the units, in the plural; "bytes" are shown as kB, MB or GB.
      done: units that were done before, which do not count for the speed.
      has_speed: whether to compute speed and time left; False where `advance` is told them.
      first: what takes time before the first unit is done, such as "compiling the update". It is
        shown until then, and the speed is counted from then on.
      has_last_line: whether a plain line is printed at the end, too.
    """

    def __init__(
        self,
        label: str,
        total: int | None,
        unit: str,
        done: int = 0,
        *,
        has_speed: bool = True,
        first: str = "",
        has_last_line: bool = True,
    ) -> None:
        self._label, self._total, self._unit = label, total, unit
        self._done, self._before = done, done
        self._has_speed, self._pending = has_speed, first
        self._notes: list[str] = []
        self._end: float | None = None
        self._printed: int | None = None  # what the last plain line said is done
        self._start = self._last_line = time.monotonic()
        self._on_terminal, self._has_last_line = is_on_terminal(), has_last_line
        self._ending = contextlib.ExitStack()
        self._ending.enter_context(_shown(self._live_line, self._print_if_due))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            self.close()
        else:
            self._ending.close()

    def advance(
        self, amount: int = 1, *, seconds_left: float | None = None, **note: object
    ) -> None:
        """Counts `amount` units as done; `note` is shown too, e.g. `loss="0.31"`.

        The first notes are the most important ones: a narrow terminal shows only these.

        Args:
          seconds_left: from now to the end, where `has_speed` is False; None: as before.
        """
        self._done += amount
        if seconds_left is not None:
            self._end = time.monotonic() + seconds_left
        if note:
            self._notes = [f"{key} {value}" for key, value in note.items()]
        if self._pending:
            self._pending, self._before, self._start = "", self._done, time.monotonic()
        if not self._on_terminal:
            self._print_if_due()

    def skip(self, amount: int) -> None:
        """Counts `amount` units as done before the start: they do not count for the speed."""
        self._done += amount
        self._before += amount

    def close(self) -> None:
        """Ends the display; elsewhere than on a terminal, with a last line."""
        self._ending.close()
        has_changed = self._printed != self._done
        if self._has_last_line and has_changed and not self._on_terminal:
            self._print_line()

    def _print_if_due(self) -> None:
        if time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._print_line()

    def _print_line(self) -> None:
        self._last_line, self._printed = time.monotonic(), self._done
        done = f"{self._label}: {self._amount(self._done)}"
        done += "" if self._unit == "bytes" else f" {self._unit}"
        if self._total:
            done += f" of {self._amount(self._total)}"
        _print(", ".join([done, *self._first(), *self._speed(), *self._notes]))

    def _live_line(self, columns: int) -> str:
        """The line on a terminal, with as much at its end as there is room for."""
        start = f"{self._label}: "
        if self._pending:
            return start + "".join(self._first())
        end = self._amount(self._done)
        if self._total:
            start += f"{100 * min(1.0, self._done / self._total):3.0f} %|"
            end = f"| {end} of {self._amount(self._total)}"
        room = columns - len(start) - len(end) - (_MIN_BAR if self._total else 0)
        speed = list(self._speed()) or [_seconds(time.monotonic() - self._start)]
        for part in [*speed, *self._notes]:
            room -= len(part) + len(", ")
            if room < 0:
                break
            end += f", {part}"
        if not self._total:
            return start + end
        return live_lines.bar(start, self._done / self._total, end, columns)

    def _first(self) -> Iterator[str]:
        """What goes on before the first unit is done."""
        if self._pending:
            yield f"{self._pending} ... {_seconds(time.monotonic() - self._start)}"

    def _speed(self) -> Iterator[str]:
        """Time left and units per second, as far as they are known."""
        is_over = self._total is not None and self._done >= self._total
        if self._end is not None and not is_over:
            yield f"{_seconds(max(0.0, self._end - time.monotonic()))} left"
        if not self._has_speed or self._pending:
            return
        seconds = max(1e-9, time.monotonic() - self._start)
        per_second = (self._done - self._before) / seconds
        if not per_second:
            return
        if self._total and not is_over:
            yield f"{_seconds((self._total - self._done) / per_second)} left"
        yield formatting.rate(per_second, self._unit)

    def _amount(self, count: int) -> str:
        if self._unit == "bytes":
            return formatting.size(count)
        return f"{count:,}"


def counted(items: Collection[T], label: str, unit: str) -> Iterator[T]:
    """Yields the items and shows how many of them are done.

    Args:
      label, unit: see `Progress`.
    """
    with Progress(label, len(items), unit, has_last_line=False) as shown:
        for item in items:
            yield item
            shown.advance()


@contextlib.contextmanager
def _shown(live_line: Callable[[int], str], print_line: Callable[[], None]) -> Iterator[None]:
    """Shows a live line on a terminal; elsewhere calls `print_line` every ten seconds."""
    if is_on_terminal():
        with _live_lines.line(live_line):
            yield
    else:
        with repeatedly(print_line, _SECONDS_BETWEEN_LINES):
            yield


@contextlib.contextmanager
def repeatedly(function: Callable[[], None], seconds: float) -> Iterator[None]:
    """Calls a function every so often in a thread until the block ends."""
    end = threading.Event()

    def run() -> None:
        while not end.wait(seconds):
            function()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def _seconds(seconds: float) -> str:
    return formatting.duration(round(seconds))


def _print(text: str) -> None:
    sys.stderr.write(f"{text}\n")  # at once, because another thread may print
    sys.stderr.flush()
