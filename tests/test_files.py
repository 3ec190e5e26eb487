"""Files are found or their absence explained; what is written is complete or not there."""

import errno
import functools
import os
import pathlib
import shutil
import stat
import subprocess
import sys

import pytest

from bert_tf import files
from bert_tf.errors import DiskFullError, InputError


def names(directory):
    return sorted(os.listdir(directory))


@pytest.fixture
def umask():
    """Sets an unusual umask, so that permissions tell whether it was asked."""
    before = os.umask(0o027)
    yield
    os.umask(before)


def test_require_file_returns_the_path(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("a")
    files.require_file(path, "--vocab_file")


def test_require_file_says_how_far_the_path_is_right(tmp_path):
    (tmp_path / "vocab.txt").write_text("a")
    (tmp_path / "model.ckpt").write_text("a")
    with pytest.raises(
        InputError,
        match=rf"--vocab_file={tmp_path}/uncased/vocab.txt does not exist.*"
        rf"nearest existing folder is {tmp_path}, which holds: model.ckpt, vocab.txt\.",
    ):
        files.require_file(f"{tmp_path}/uncased/vocab.txt", "--vocab_file")


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "is a directory; a file was wanted"), ("empty", r"is empty \(0 bytes\)")],
)
def test_require_file_refuses(tmp_path, name, message):
    (tmp_path / "empty").touch()
    with pytest.raises(InputError, match=message):
        files.require_file(os.path.join(tmp_path, name), "--vocab_file")


@pytest.mark.parametrize("path", ["", None])
def test_require_file_without_a_path(path):
    with pytest.raises(InputError, match="--vocab_file is not given"):
        files.require_file(path, "--vocab_file")


def test_a_directory_that_can_be_made_is_writable(tmp_path):
    path = str(tmp_path / "new" / "deeper")
    files.require_writable_directory(path, "--output_dir")
    assert names(tmp_path) == []


def test_a_directory_that_cannot_be_made_is_refused(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("a")
    with pytest.raises(InputError, match=r"--output_dir=.*deeper: .*file is not a directory"):
        files.require_writable_directory(str(tmp_path / "file" / "deeper"), "--output_dir")
    with pytest.raises(InputError, match="--output_dir is not given"):
        files.require_writable_directory("", "--output_dir")
    # By the function that is asked: whoever may do everything would pass a real test.
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="is not writable"):
        files.require_writable_directory(str(tmp_path / "new"), "--output_dir")


def test_expand_sorts_and_lists_each_file_once(tmp_path):
    for name in ("c.tfrecord", "a.tfrecord", "b.txt"):
        (tmp_path / name).write_text("x")
    (tmp_path / "d.tfrecord").mkdir()  # a folder is no file
    paths = files.expand(f"{tmp_path}/*.tfrecord, {tmp_path}/b.txt,{tmp_path}/a.*,", "--input_file")
    assert [os.path.basename(path) for path in paths] == ["a.tfrecord", "b.txt", "c.tfrecord"]


@pytest.mark.parametrize(
    ("patterns", "message"),
    [
        ("*.tfrecord,*.none", "--input_file: '.*none' matches no file"),
        ("*.zero", r"is empty \(0 bytes\)"),
    ],
)
def test_expand_refuses_what_matches_no_data(tmp_path, patterns, message):
    (tmp_path / "a.tfrecord").write_text("x")
    (tmp_path / "a.zero").touch()
    patterns = ",".join(f"{tmp_path}/{pattern}" for pattern in patterns.split(","))
    with pytest.raises(InputError, match=message):
        files.expand(patterns, "--input_file")


@pytest.mark.parametrize("patterns", ["", " , "])
def test_expand_refuses_nothing(patterns):
    with pytest.raises(InputError, match="--input_file is empty"):
        files.expand(patterns, "--input_file")


def test_replacing_shows_the_old_file_until_the_end(tmp_path, umask):
    path = tmp_path / "new" / "results.txt"
    files.write_text(path, "old")
    with files.replacing(path) as temporary:
        with open(temporary, "w") as file:
            file.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert names(path.parent) == ["results.txt"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_replacing_keeps_the_old_file_on_an_error(tmp_path, error):
    path = tmp_path / "results.txt"
    path.write_text("old")
    with pytest.raises(error), files.replacing(path) as temporary:
        with open(temporary, "w") as file:
            file.write("half")
        raise error
    assert path.read_text() == "old"
    assert names(tmp_path) == ["results.txt"]


def test_replacing_a_file_whose_block_removed_the_temporary_one_reports_the_error(tmp_path):
    with pytest.raises(ZeroDivisionError), files.replacing(tmp_path / "a") as temporary:
        os.remove(temporary)
        raise ZeroDivisionError
    assert names(tmp_path) == []


def test_write_text_is_utf8_with_line_feeds(tmp_path):
    files.write_text(tmp_path / "a", "é\nb\r\n")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\nb\r\n"


@pytest.mark.parametrize("existing", [False, True])
def test_replacing_directory_shows_the_old_one_until_the_end(tmp_path, umask, existing):
    path = tmp_path / "parent" / "best"
    if existing:
        path.mkdir(parents=True)
        (path / "old").touch()
    with files.replacing_directory(path) as temporary:
        open(os.path.join(temporary, "new"), "w").close()
        assert path.exists() == existing
    assert names(path) == ["new"]
    assert names(path.parent) == ["best"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o750


def test_replacing_directory_keeps_the_old_one_on_an_error(tmp_path):
    path = tmp_path / "best"
    path.mkdir()
    (path / "old").touch()
    with pytest.raises(ValueError), files.replacing_directory(path) as temporary:
        open(os.path.join(temporary, "new"), "w").close()
        raise ValueError
    assert names(path) == ["old"]
    assert names(tmp_path) == ["best"]


def test_replacing_directory_puts_the_old_one_back_where_the_last_rename_fails(
    tmp_path, monkeypatch
):
    path = tmp_path / "best"
    path.mkdir()
    (path / "old").touch()
    rename = os.rename

    def failing(source, target):
        if target == str(path) and not os.path.exists(os.path.join(source, "old")):
            raise OSError("disk full")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="disk full"), files.replacing_directory(path):
        pass
    assert names(path) == ["old"]
    assert names(tmp_path) == ["best"]


def test_a_directory_given_with_a_slash_at_the_end(tmp_path):
    path = f"{tmp_path}/best/"
    for name in ("a", "b"):
        with files.replacing_directory(path) as temporary:
            open(os.path.join(temporary, name), "w").close()
    assert names(path) == ["b"]
    assert names(tmp_path) == ["best"]


def test_a_link_to_a_directory_stays_a_link(tmp_path):
    for name in ("there", "new"):
        (tmp_path / "link").unlink(missing_ok=True)
        (tmp_path / "link").symlink_to(name)
        (tmp_path / "there").mkdir(exist_ok=True)
        with files.replacing_directory(tmp_path / "link") as temporary:
            open(os.path.join(temporary, "a"), "w").close()
        assert (tmp_path / "link").is_symlink()
        assert names(tmp_path / name) == ["a"]
    assert names(tmp_path) == ["link", "new", "there"]


def test_a_directory_that_cannot_be_moved_aside_leaves_nothing_behind(tmp_path, monkeypatch):
    (tmp_path / "best").mkdir()

    def failing(source, target):
        raise OSError("busy")

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="busy"), files.replacing_directory(tmp_path / "best"):
        pass
    assert names(tmp_path) == ["best"]


@pytest.mark.parametrize("is_directory", [False, True])
def test_what_is_replaced_is_on_the_disk_before_it_has_its_name_and_the_name_after(
    tmp_path, monkeypatch, is_directory
):
    """Without that order a computer that loses power may keep the name and lose the bytes."""
    calls = []
    fsync, replace, rename = os.fsync, os.replace, os.rename

    def flushed(handle):
        calls.append(("fsync", os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))))
        fsync(handle)

    def renamed(function, source, target):
        calls.append(("rename", os.path.basename(target)))
        function(source, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", functools.partial(renamed, replace))
    monkeypatch.setattr(os, "rename", functools.partial(renamed, rename))
    if is_directory:
        with files.replacing_directory(tmp_path / "best") as temporary:
            pathlib.Path(temporary, "weights").write_text("w")
        assert calls[0] == ("fsync", "weights")
        assert [kind for kind, _ in calls] == ["fsync", "fsync", "rename", "fsync"]
    else:
        files.write_text(tmp_path / "best", "new")
        assert [kind for kind, _ in calls] == ["fsync", "rename", "fsync"]
        assert calls[0][1].startswith(".best.")
    assert calls[-2:] == [("rename", "best"), ("fsync", tmp_path.name)]


def test_what_is_cheap_to_make_again_is_not_flushed(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda handle: pytest.fail("flushed"))
    files.write_text(tmp_path / "part", "new", flushes=False)
    assert (tmp_path / "part").read_text() == "new"


WRITES = """
import pathlib, sys
from bert_tf import files

folder = pathlib.Path(sys.argv[1])
blocks = [files.replacing_directory(folder / "best"), files.replacing(folder / "flags.txt")]
for block in blocks:
    block.__enter__()
print("writing", flush=True)
sys.stdin.readline()
"""


def test_copies_of_killed_processes_are_removed_and_those_of_living_ones_stay(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", WRITES, tmp_path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=pathlib.Path(__file__).parents[1],
    )
    assert process.stdout.readline() == "writing\n"
    others = [".best.notes", ".best.abcdefghi", ".bestabcdefgh", ".worst.abcdefgh"]
    for name in others:
        (tmp_path / name).touch()
    before = names(tmp_path)
    assert len(before) == len(others) + 2
    for name in ("best", "flags.txt"):
        files.remove_unfinished(tmp_path / name)
    assert names(tmp_path) == before

    process.kill()
    process.communicate()
    files.remove_unfinished(tmp_path / "flags.txt")
    with files.replacing_directory(tmp_path / "best") as temporary:
        assert names(tmp_path) == sorted([*others, os.path.basename(temporary)])
    assert names(tmp_path) == sorted([*others, "best"])


@pytest.mark.parametrize("has_new", [False, True])
def test_a_directory_that_a_kill_left_moved_aside_comes_back(tmp_path, has_new):
    """Killed between the two renames, or after them."""
    old = tmp_path / ".best.old.abcd_123" / "old"
    old.mkdir(parents=True)
    (old / "weights").write_text("old")
    (tmp_path / ".best.zyx98765").mkdir()
    if has_new:
        (tmp_path / "best").mkdir()
        (tmp_path / "best" / "weights").write_text("new")
    files.remove_unfinished(tmp_path / "best")
    assert names(tmp_path) == ["best"]
    assert (tmp_path / "best" / "weights").read_text() == ("new" if has_new else "old")


def test_a_kill_between_any_two_operations_leaves_the_old_directory_or_the_new_one(
    tmp_path, monkeypatch
):
    """The folder is copied at every operation in it: what a kill there would leave."""
    folder, copies = tmp_path / "out", []
    (folder / "best").mkdir(parents=True)
    (folder / "best" / "weights").write_text("old")

    def watched(function):
        def call(*args, **kwargs):
            copies.append(shutil.copytree(folder, tmp_path / f"copy-{len(copies)}"))
            return function(*args, **kwargs)

        return call

    for module, name in ((os, "rename"), (os, "fsync"), (shutil, "rmtree"), (os, "open")):
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    with files.replacing_directory(folder / "best") as temporary:
        pathlib.Path(temporary, "weights").write_text("new")
    monkeypatch.undo()

    found = []
    for copy in copies:
        files.remove_unfinished(copy / "best")
        assert names(copy) == ["best"]
        found.append((copy / "best" / "weights").read_text())
    assert found == sorted(found, reverse=True) and set(found) == {"old", "new"}
    assert len(found) > 6


@pytest.mark.parametrize(
    ("error", "is_full"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (OSError(errno.EACCES, "Permission denied"), False),
        # As the libraries say it that do not pass the number on:
        (OSError("27640 requested and 27073 written"), True),  # NumPy
        (OSError("Can't write data (... errno = 28, error message = '...')"), True),  # h5py
        (RuntimeError("Error while serializing: No space left on device (os error 28)"), True),
        (MemoryError("OOM when allocating tensor"), False),
    ],
)
def test_a_full_disk_is_told_from_other_errors(error, is_full):
    assert files.is_disk_full(error) == is_full


def test_a_full_disk_is_one_message_that_says_how_to_go_on():
    def how():
        return "All is kept in out. Free some space."

    with (
        pytest.raises(DiskFullError, match=r"^The disk is full \(/dev/full\)\. All is kept"),
        files.disk_full_explained("out", how),
        open("/dev/full", "wb", buffering=0) as file,
    ):
        try:
            file.write(b"x")
        except OSError as error:
            raise OSError(error.errno, error.strerror, file.name) from None
    with pytest.raises(DiskFullError, match=r"full \(out\)"), files.disk_full_explained("out", how):
        raise RuntimeError("No space left on device")
    for error in (OSError(errno.EACCES, "Permission denied"), InputError("wrong")):
        with pytest.raises(type(error)) as caught, files.disk_full_explained("out", how):
            raise error
        assert caught.value is error


def test_the_exception_of_a_full_disk_names_the_file_and_not_its_temporary_copy(tmp_path):
    numpys, pythons = OSError("7 requested and 3 written"), OSError(errno.ENOSPC, "No space left")
    for make, error in ((files.replacing, numpys), (files.replacing_directory, pythons)):
        with pytest.raises(OSError) as caught, make(tmp_path / "model.json"):
            raise error
        assert files.is_disk_full(caught.value)
        assert caught.value.filename == str(tmp_path / "model.json")
        assert names(tmp_path) == []


def test_sizes_of_directories_and_disks(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "c").write_bytes(bytes(11))
    (tmp_path / "a" / "d").write_bytes(bytes(13))
    assert files.num_bytes(tmp_path) == 24
    free = shutil.disk_usage(tmp_path).free
    assert abs(files.free_bytes(tmp_path / "not" / "there") - free) < 0.1 * free + 1e9
