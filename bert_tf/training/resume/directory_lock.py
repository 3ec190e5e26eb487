"""Only one process writes into a directory: two would mix their states and their logs."""

import fcntl
import os
import socket

from bert_tf.errors import InputError

NAME = "lock"


class DirectoryLock:
    """Held from its creation until `release`, or until the process ends, killed or not.

    It is a POSIX lock, which works on NFS too. Where the file system has no locks, nothing is
    held. The process that holds the lock may create it again.

    Args:
      directory: created if it does not exist; the file `NAME` stays in it.
      work: what processes do there, for the error.
      flag: the one that names another directory, for the error.

    Raises:
      InputError: another process holds it.
    """

    def __init__(self, directory: str, *, work: str = "trains", flag: str = "--output_dir") -> None:
        os.makedirs(directory, exist_ok=True)
        # Without a buffer: on a full disk, closing would try again to write what could not be.
        self._file = open(os.path.join(directory, NAME), "ab+", buffering=0)
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write_holder()
        except (BlockingIOError, PermissionError):
            self._file.seek(0)
            holder = self._file.read().decode(errors="replace").strip() or "another process"
            self._file.close()
            raise InputError(
                f"{directory} is in use by {holder}, which {work} there. Wait until it ends, or "
                f"give a new {flag}."
            ) from None
        except OSError:  # the file system has no locks, or no room for the name
            pass

    def _write_holder(self) -> None:
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())

    def release(self) -> None:
        """Lets other processes work in the directory."""
        self._file.close()
