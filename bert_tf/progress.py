"""A progress bar on a terminal, a line every few seconds elsewhere."""

import sys
import time

from tqdm import tqdm

_SECONDS_BETWEEN_LINES = 10.0
_BAR_WITHOUT_SPEED = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"


class Progress:
    """Shows how much work is done, how fast it goes and when it will end.

    On a terminal it is a bar. Where standard error is a file or a pipe it is one line every ten
    seconds, so that a log stays readable.

    Args:
      total: units of work; None: not known.
      unit: name of the units, in the plural.
      done: units that were done before, which do not count for the speed.
      unit_scale: whether to abbreviate counts, as in 1.2M.
      has_speed: whether to show speed and time left. Not for work whose first call compiles,
        because its time says nothing about the other calls.
    """

    def __init__(
        self,
        label: str,
        total: int | None,
        unit: str,
        done: int = 0,
        unit_scale: bool = False,
        has_speed: bool = True,
    ) -> None:
        self._on_terminal = sys.stderr.isatty()
        self._bar = tqdm(
            desc=label,
            total=total,
            initial=done,
            unit=f" {unit}",
            unit_scale=unit_scale,
            file=sys.stderr,
            disable=not self._on_terminal,
            bar_format=None if has_speed else _BAR_WITHOUT_SPEED,
        )
        self._label, self._total, self._unit = label, total, unit
        self._done, self._first, self._note = done, done, ""
        self._has_speed = has_speed
        self._start = self._last_line = time.monotonic()

    def advance(self, amount: int = 1, **note: object) -> None:
        """Counts `amount` units as done; `note` is shown at the end, e.g. `loss="0.31"`."""
        self._done += amount
        if note:
            self._note = ", ".join(f"{key} {value}" for key, value in note.items())
        if self._on_terminal:
            self._bar.set_postfix_str(self._note, refresh=False)
            self._bar.update(amount)
        elif time.monotonic() - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._print_line()

    def skip(self, amount: int) -> None:
        """Counts `amount` units as done before the start: they do not count for the speed."""
        self._done += amount
        self._first += amount
        if self._on_terminal:
            self._bar.initial += amount
            self._bar.update(amount)

    def close(self) -> None:
        """Ends the display; elsewhere than on a terminal, with a last line."""
        self._bar.close()
        if not self._on_terminal:
            self._print_line()

    def _print_line(self) -> None:
        self._last_line = time.monotonic()
        parts = [f"{self._label}: {self._done} {self._unit}"]
        rate = (self._done - self._first) / max(1e-9, self._last_line - self._start)
        if self._total and rate:
            parts[0] += f" of {self._total}"
        if self._has_speed:
            if self._total and rate:
                parts.append(f"{max(0.0, self._total - self._done) / rate:.0f} s left")
            parts.append(f"{rate:.3g} {self._unit}/s")
        parts += [self._note] if self._note else []
        print(", ".join(parts), file=sys.stderr, flush=True)
