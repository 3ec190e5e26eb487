"""What is kept is what had arrived, or an error names the file that is not."""

import hashlib
import json
import os
import threading

import pytest

from bert_tf.checkpoints.hub import cache
from bert_tf.errors import InputError

DATA = b"weights" * 37


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A recorded directory with one file."""
    monkeypatch.setenv("BERT_TF_CACHE", str(tmp_path / "cache"))
    place = tmp_path / "cache" / "google" / "model"
    place.mkdir(parents=True)
    (place / "vocab.txt").write_bytes(DATA)
    cache.record(str(place), {"url": "u"}, {"vocab.txt": hashlib.sha256(DATA).hexdigest()})
    return place


@pytest.fixture
def hashed(monkeypatch):
    """Paths whose digests were computed."""
    paths, digests = [], cache.digests

    def counted(path, names):
        paths.append(os.path.basename(path))
        return digests(path, names)

    monkeypatch.setattr(cache, "digests", counted)
    return paths


def change(path, data, keeps_time=False):
    before = os.stat(path)
    path.write_bytes(data)
    if keeps_time:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    else:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1009))


def test_digests_by_name(tmp_path):
    (tmp_path / "nine").write_bytes(b"123456789")
    assert cache.digests(tmp_path / "nine", cache.DIGESTS) == {
        "crc32c": "e3069283",  # the check value of CRC-32C
        "git": "e2e107ac61ac259b87c544f6e7a4eb03422c6c21",
        "md5": "25f9e794323b453885f5181f1b624d0b",
        "sha256": "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225",
    }


@pytest.mark.parametrize("value", [None, ""])
def test_the_cache_is_in_the_home_directory_unless_it_is_named(monkeypatch, tmp_path, value):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("BERT_TF_CACHE", raising=False)
    if value is not None:
        monkeypatch.setenv("BERT_TF_CACHE", value)
    assert cache.root() == str(tmp_path / ".cache" / "bert_tf")
    monkeypatch.setenv("BERT_TF_CACHE", "~/models")
    assert cache.root() == str(tmp_path / "models")


def test_an_unchanged_file_is_not_read_again(place, hashed):
    cache.check(place)
    assert hashed == []
    cache.check(place, fully=True)
    assert hashed == ["vocab.txt"]


def test_a_copied_file_is_read_once(place, hashed):
    change(place / "vocab.txt", DATA)
    cache.check(place)
    cache.check(place)
    assert hashed == ["vocab.txt"]


def test_a_changed_file_is_found(place):
    change(place / "vocab.txt", DATA[:-1] + b"!")
    message = (
        r"vocab.txt has changed since it arrived: its sha256 is \w{64}, \w{64} was recorded. Rem"
    )
    with pytest.raises(InputError, match=message):
        cache.check(place)


def test_a_file_changed_without_a_trace_is_found_on_a_full_check(place):
    change(place / "vocab.txt", DATA[:-1] + b"!", keeps_time=True)
    cache.check(place)
    with pytest.raises(InputError, match="has changed since it arrived"):
        cache.check(place, fully=True)


def test_a_shorter_file_is_found(place):
    change(place / "vocab.txt", DATA[:-1], keeps_time=True)
    with pytest.raises(InputError, match=rf"has {len(DATA) - 1} bytes; {len(DATA)} had arrived"):
        cache.check(place)


def test_a_missing_file_is_found(place):
    (place / "vocab.txt").unlink()
    with pytest.raises(
        InputError, match=f"was fetched and is missing. Remove {place}; the next run"
    ):
        cache.check(place)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": {"a": {}}}', '{"files": [1]}', "\xff"])
def test_a_damaged_record_is_an_error(place, text):
    (place / "origin.json").write_bytes(text.encode("latin-1"))
    with pytest.raises(InputError, match="origin.json cannot be read .* Remove "):
        cache.check(place)


def test_a_cache_that_cannot_be_written_is_used_as_it_is(place, hashed, monkeypatch):
    def refuse(*_):
        raise PermissionError("read-only")

    change(place / "vocab.txt", DATA)
    monkeypatch.setattr(cache.files, "write_text", refuse)
    cache.check(place)
    cache.check(place)
    assert hashed == ["vocab.txt"] * 2


def test_the_record_says_where_the_files_are_from(place):
    values = json.loads((place / "origin.json").read_text())
    assert values["url"] == "u"
    assert values["files"]["vocab.txt"]["num_bytes"] == len(DATA)


def test_what_is_recorded_is_listed_and_what_is_under_way_is_not(place):
    partial = place.parent / "other.partial"
    partial.mkdir()
    cache.record(str(partial), {}, {})
    assert cache.recorded() == [str(place)]


def test_two_do_not_hold_the_lock_at_once(tmp_path, capsys):
    order, is_waiting = [], threading.Event()
    directory = str(tmp_path / "host" / "model")

    def second():
        is_waiting.set()
        with cache.locked(directory):
            order.append("second")

    thread = threading.Thread(target=second)
    with cache.locked(directory):
        thread.start()
        is_waiting.wait()
        thread.join(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    assert "Waiting for another process, which fetches model." in capsys.readouterr().err


def test_a_cache_at_an_impossible_place(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("BERT_TF_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="cannot be written: .*environment variable BERT_TF_CACHE"):
        with cache.locked(str(tmp_path / "file" / "google" / "model")):
            pass
