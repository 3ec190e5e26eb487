"""python -m bert_tf.training.grid COMMAND FLAGS: a run of a grid, which ends when the grid does.

The grid holds the other end of this process's standard input. When the grid is killed, that closes,
and the run is told to save its state and to end: nothing trains on unseen.
"""

import os
import signal
import threading

from bert_tf import commands


def _end_with_the_grid() -> None:
    while os.read(0, 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    threading.Thread(target=_end_with_the_grid, daemon=True).start()
    commands.main()
