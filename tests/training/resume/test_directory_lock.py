"""Only one process holds a directory; others are refused until it releases it or ends."""

import os
import resource
import subprocess
import sys

import pytest

from bert_tf.errors import InputError
from bert_tf.training.resume import directory_lock
from bert_tf.training.resume.directory_lock import DirectoryLock

HOLD = """
import sys
from bert_tf.training.resume.directory_lock import DirectoryLock
lock = DirectoryLock(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
lock.release()
print("released", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds `tmp_path / "training"`."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, tmp_path / "training"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_another_process_is_refused_until_it_is_released(tmp_path, holder):
    with pytest.raises(InputError, match=f"in use by process {holder.pid} on .* new --output_dir"):
        DirectoryLock(tmp_path / "training")
    holder.stdin.write("\n")
    holder.stdin.flush()
    assert holder.stdout.readline() == "released\n"
    DirectoryLock(tmp_path / "training").release()


def test_a_killed_process_holds_nothing(tmp_path, holder):
    holder.kill()
    holder.wait()
    lock = DirectoryLock(tmp_path / "training")
    name = (tmp_path / "training" / directory_lock.NAME).read_text()
    assert name.startswith(f"process {os.getpid()} on ")
    lock.release()


def test_the_same_process_may_go_on(tmp_path):
    first, second = DirectoryLock(tmp_path), DirectoryLock(tmp_path)
    first.release()
    second.release()


def test_where_the_file_system_has_no_locks_nothing_is_held(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError("no locks available")

    monkeypatch.setattr(directory_lock.fcntl, "lockf", refuse)
    DirectoryLock(tmp_path).release()


def test_a_disk_without_room_for_the_name_stops_nothing(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        lock = DirectoryLock(tmp_path)
        lock.release()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / directory_lock.NAME).read_bytes() == b""
