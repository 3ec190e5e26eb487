"""One process at a time trains in a directory: two would mix their states and their logs."""

import fcntl
import os
import socket

from bert_tf.errors import InputError

NAME = "lock"


class DirectoryLock:
    """Held from its making until `release`, or until the process ends, killed or not.

    A lock of POSIX, which disks shared over NFS know too. Where the file system has none, nothing
    is held. The process that holds it may make another one.

    Args:
      directory: str, made if it is not there; the file `NAME` in it stays.

    Raises:
      InputError: another process holds it.
    """

    def __init__(self, directory):
        os.makedirs(directory, exist_ok=True)
        # Without a buffer: on a full disk closing would try once more what could not be written.
        self._file = open(os.path.join(directory, NAME), "ab+", buffering=0)
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._write_holder()
        except (BlockingIOError, PermissionError):
            self._file.seek(0)
            holder = self._file.read().decode(errors="replace").strip() or "another process"
            self._file.close()
            raise InputError(
                f"{directory} is in use by {holder}, which trains there. Wait until it ends, or "
                "give a new --output_dir."
            ) from None
        except OSError:  # no locks here, or no room for the name
            pass

    def _write_holder(self):
        self._file.truncate(0)
        self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())

    def release(self):
        """Lets others train in the directory."""
        self._file.close()
