"""A zip archive gives the files that were asked for, and nothing leaves its directory."""

import os
import stat
import zipfile

import pytest

from bert_tf.checkpoints.hub import archive
from bert_tf.errors import InputError

FILES = {"vocab.txt": b"[PAD]\n" * 31, "bert_model.ckpt.index": bytes(range(251))}


@pytest.fixture
def place(tmp_path):
    """An empty directory in an empty one."""
    (tmp_path / "outer" / "place").mkdir(parents=True)
    return tmp_path / "outer" / "place"


def pack(tmp_path, entries, **options):
    """Writes an archive; an entry's name may be a `ZipInfo`."""
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", **options) as file:
        for name, data in entries:
            file.writestr(name, data)
    return str(path)


@pytest.mark.parametrize("folder", ["", "uncased_L-2_H-128_A-2/"])
def test_files_are_found_by_name_wherever_they_lie(tmp_path, place, folder):
    entries = [(folder + name, data) for name, data in FILES.items()]
    more = [(folder, b""), (f"{folder}checkpoint", b"x"), (f"__MACOSX/{folder}._vocab.txt", b"y")]
    if not folder:
        more = more[1:]
    path = pack(tmp_path, more + entries, compression=zipfile.ZIP_DEFLATED)
    archive.extract(path, str(place), tuple(FILES))
    assert {name: (place / name).read_bytes() for name in os.listdir(place)} == FILES


@pytest.mark.parametrize(
    "name",
    ["../vocab.txt", "model/../../vocab.txt", "/vocab.txt", "..\\vocab.txt", "C:/vocab.txt"],
)
def test_an_entry_that_leads_out_is_refused_even_if_unwanted(tmp_path, place, name):
    path = pack(tmp_path, [*FILES.items(), (name, b"bad")])
    with pytest.raises(InputError, match="leads out of the archive; refused"):
        archive.extract(path, str(place), tuple(FILES))
    assert os.listdir(place) == []
    assert os.listdir(place.parent) == ["place"]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_an_entry_that_is_no_file_is_refused(tmp_path, place, kind):
    link = zipfile.ZipInfo("bert_config.json")
    link.external_attr = (kind | 0o777) << 16
    path = pack(tmp_path, [*FILES.items(), (link, b"/etc/passwd")])
    with pytest.raises(InputError, match="'bert_config.json', which is no file; refused"):
        archive.extract(path, str(place), tuple(FILES))
    assert os.listdir(place) == []


def test_a_truncated_archive_is_refused(tmp_path, place):
    path = pack(tmp_path, FILES.items())
    whole = os.path.getsize(path)
    for length in (0, 1, whole // 2, whole - 1):
        os.truncate(path, length)
        with pytest.raises(InputError, match="is not a whole zip archive"):
            archive.extract(path, str(place), tuple(FILES))
        pack(tmp_path, FILES.items())


def test_a_changed_byte_is_found(tmp_path, place):
    path = pack(tmp_path, FILES.items())
    with open(path, "r+b") as file:
        file.seek(len("vocab.txt") + 30 + 7)  # in the content of the first file
        file.write(b"!")
    with pytest.raises(InputError, match="is not a whole zip archive: Bad CRC-32"):
        archive.extract(path, str(place), tuple(FILES))


def test_a_missing_file_is_named_with_what_is_there(tmp_path, place):
    path = pack(tmp_path, [("model/vocab.txt", b"x")])
    message = "bert_model.ckpt.index 0 times, not once; it holds: model/vocab.txt"
    with pytest.raises(InputError, match=message):
        archive.extract(path, str(place), tuple(FILES))


def test_a_file_that_is_there_twice_is_refused(tmp_path, place):
    path = pack(tmp_path, [("a/vocab.txt", b"x"), ("b/vocab.txt", b"y")])
    with pytest.raises(InputError, match="vocab.txt 2 times, not once"):
        archive.extract(path, str(place), ("vocab.txt",))


def test_an_archive_that_unfolds_to_far_more_is_refused(tmp_path, place):
    entries = [("vocab.txt", bytes(1_000_003))]
    path = pack(tmp_path, entries, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="would unfold to 1000003 bytes; refused"):
        archive.extract(path, str(place), ("vocab.txt",))
    assert os.listdir(place) == []


def test_an_encrypted_archive_is_refused(tmp_path, place):
    path = pack(tmp_path, [("vocab.txt", b"x")])
    data = bytearray(open(path, "rb").read())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flags of both headers
        data[data.index(mark) + offset] |= 1
    with open(path, "wb") as file:
        file.write(data)
    with pytest.raises(InputError, match="is not a whole zip archive: .*encrypted"):
        archive.extract(path, str(place), ("vocab.txt",))
