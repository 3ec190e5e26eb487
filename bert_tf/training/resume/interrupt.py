"""A run that is told to end (SIGTERM, Ctrl-C) saves first; its status says that it can go on.

Batch systems send SIGTERM before they take a machine away. Status 75 tells them, and a shell's
`until` loop, that the same command goes on from the saved state.
"""

import os
import signal
import sys
import threading

STATUS = 75  # EX_TEMPFAIL of BSD's sysexits.h: a temporary failure, try again


class Interrupted(SystemExit):
    """The run was told to end and has saved; ends the process with `STATUS`."""

    def __init__(self):
        super().__init__(STATUS)


class Interrupt:
    """Within this context a first signal is only noted, and a second one ends the process at once.

    The loop asks between updates, where the state is whole:

        with Interrupt(workers) as interrupt:
            for batch in batches:
                ...
                if interrupt.asked():
                    interrupt.stop(step, state.save())

    Python runs signal handlers only between the main thread's instructions, and one call of a
    traced function may take minutes. So a thread reads the signals: the first is answered and the
    second obeyed even while TensorFlow works or hangs. Enter it in the main thread.

    Args:
      workers: `workers.Workers`, or None in one process. A signal to any of the processes stops
        them all after the same update; `asked` is then a collective call.
      signals: the signals.
    """

    def __init__(self, workers=None, signals=(signal.SIGTERM, signal.SIGINT)):
        self._workers = workers
        self._signals = signals
        self._received = None

    def __enter__(self):
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)  # as set_wakeup_fd wants it
        self._wakeup_before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._note) for number in self._signals}
        self._thread = threading.Thread(target=self._watch, name="signals", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._writing)  # ends the thread
        self._thread.join()
        os.close(self._reading)

    def _note(self, number, _frame):
        self._received = number

    def _watch(self):
        is_second = False
        while received := os.read(self._reading, 1):
            if received[0] not in self._signals:
                continue
            name = signal.Signals(received[0]).name
            if is_second:
                _say(f"\n{name} again: ending at once, without saving.\n")
                os._exit(128 + received[0])  # the status that shells give a signal
            is_second = True
            self._received = received[0]
            _say(f"\n{name}: saving after the update in hand; once more ends at once.\n")

    def asked(self):
        """Whether the run, in any of its processes, has been told to end."""
        is_asked = self._received is not None
        return self._workers.any(is_asked) if self._workers else is_asked

    def stop(self, step, path):
        """Says how the run goes on, and ends it.

        Args:
          step: int, updates done.
          path: str, the state saved after them, or None if it could not be saved.

        Raises:
          Interrupted: always.
        """
        name = signal.Signals(self._received).name if self._received else "Another worker"
        state = f"the state is saved in {path}" if path else "the state could not be saved"
        print(
            f"{name} ended the run after step {step}; {state}. The same command goes on from the "
            "newest saved state.",
            file=sys.stderr,
            flush=True,
        )
        raise Interrupted


def _say(text):
    """Straight to the file: the main thread may hold the lock of `sys.stderr`."""
    os.write(2, text.encode())
