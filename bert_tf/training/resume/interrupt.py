"""A run that receives SIGTERM or Ctrl-C saves its state; its exit status says it can resume.

Batch systems send SIGTERM before they take a machine away. Status 75 tells them, and a shell's
`until` loop, that the same command resumes from the saved state.
"""

import os
import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import NoReturn, Self

STATUS = 75  # EX_TEMPFAIL of BSD's sysexits.h: a temporary failure, try again
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# One request may arrive twice: GNU timeout signals its child and then the whole process group.
_REPEAT_SECONDS = 2.0


class Interrupted(SystemExit):
    """The run was interrupted and has saved; ends the process with `STATUS`."""

    def __init__(self) -> None:
        super().__init__(STATUS)


class Interrupt:
    """Within this context the first signal is only noted; a later one ends the process at once.

    Signals within `_REPEAT_SECONDS` of the first are the same request.

    The loop asks between updates, when the state is complete:

        with Interrupt(workers.any) as interrupt:
            for batch in batches:
                ...
                if interrupt.asked():
                    interrupt.stop(step, state.save())

    Python runs signal handlers only between the main thread's instructions, and one call of a
    traced function may take minutes. So a thread reads the signals: it answers the first and
    obeys a later one even while TensorFlow works or hangs. Enter the context in the main thread.

    Args:
      any_process: `Workers.any`. A signal to any of the processes stops them all after the same
        update; with several, `asked` is a collective call.
    """

    def __init__(self, any_process: Callable[[bool], bool]) -> None:
        self._any_process = any_process
        self._received: int | None = None

    def __enter__(self) -> Self:
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)  # as set_wakeup_fd wants it
        self._wakeup_before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._note) for number in _SIGNALS}
        self._thread = threading.Thread(target=self._watch, name="signals", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._writing)  # ends the thread
        self._thread.join()
        os.close(self._reading)

    def _note(self, number: int, _frame: types.FrameType | None) -> None:
        self._received = number

    def _watch(self) -> None:
        first: float | None = None
        while received := os.read(self._reading, 1):
            if received[0] not in _SIGNALS:
                continue
            name, now = signal.Signals(received[0]).name, time.monotonic()
            if first is None:
                first = now
                self._received = received[0]
                _say(
                    f"\n{name}: saving after the current update. Another one, {_REPEAT_SECONDS:g} "
                    "or more seconds from now, ends the run at once.\n"
                )
            elif now - first >= _REPEAT_SECONDS:
                _say(f"\n{name} again: ending at once, without saving.\n")
                os._exit(128 + received[0])  # the exit status that shells report for a signal

    def asked(self) -> bool:
        """Whether any process of the run has received a signal."""
        return self._any_process(self._received is not None)

    def stop(self, step: int, path: str | None) -> NoReturn:
        """Prints how to resume the run, and ends it.

        Args:
          step: updates done.
          path: the state saved after them, or None if it could not be saved.

        Raises:
          Interrupted: always.
        """
        name = signal.Signals(self._received).name if self._received else "Another worker"
        state = f"the state is saved in {path}" if path else "the state could not be saved"
        print(
            f"{name} ended the run after step {step}; {state}. The same command resumes from the "
            "newest saved state.",
            file=sys.stderr,
            flush=True,
        )
        raise Interrupted


def _say(text: str) -> None:
    """Writes to the file descriptor: the main thread may hold the lock of `sys.stderr`."""
    os.write(2, text.encode())
