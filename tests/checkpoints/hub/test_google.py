"""An archive becomes its four files, checked; nothing leaves its directory."""

import hashlib
import io
import json
import os
import stat
import zipfile

import pytest

from bert_tf.checkpoints.formats import base
from bert_tf.checkpoints.hub import google, preset_table
from bert_tf.errors import InputError

CONFIG = {"vocab_size": 7, "hidden_size": 6, "num_attention_heads": 2}
ARCHIVED = {
    "bert_config.json": json.dumps(CONFIG).encode(),
    "vocab.txt": b"[PAD]\n",
    "bert_model.ckpt.index": bytes(range(101)),
    "bert_model.ckpt.data-00000-of-00001": bytes(range(251)) * 7,
}
TINY = preset_table.PRESETS["uncased_L-2_H-128_A-2"]
BASE = preset_table.PRESETS["uncased_L-12_H-768_A-12"]
FILES = {"vocab.txt": b"[PAD]\n" * 31, "bert_model.ckpt.index": bytes(range(251))}


def pack(tmp_path, entries, **options):
    """Writes an archive; an entry's name may be a `ZipInfo`."""
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w", **options) as file:
        for name, data in entries:
            file.writestr(name, data)
    return str(path)


@pytest.mark.parametrize("folder", ["", "uncased_L-2_H-128_A-2/"])
def test_files_are_found_by_name_wherever_they_are(tmp_path, place, folder):
    entries = [(folder + name, data) for name, data in FILES.items()]
    more = [(folder, b""), (f"{folder}checkpoint", b"x"), (f"__MACOSX/{folder}._vocab.txt", b"y")]
    if not folder:
        more = more[1:]
    path = pack(tmp_path, more + entries, compression=zipfile.ZIP_DEFLATED)
    google.extract(path, str(place), tuple(FILES))
    assert {name: (place / name).read_bytes() for name in os.listdir(place)} == FILES


@pytest.mark.parametrize(
    "name",
    ["../vocab.txt", "model/../../vocab.txt", "/vocab.txt", "..\\vocab.txt", "C:/vocab.txt"],
)
def test_an_entry_that_leads_out_is_refused_even_if_unwanted(tmp_path, place, name):
    path = pack(tmp_path, [*FILES.items(), (name, b"bad")])
    with pytest.raises(InputError, match="leads out of the archive; refused"):
        google.extract(path, str(place), tuple(FILES))
    assert os.listdir(place) == []
    assert os.listdir(place.parent) == ["place"]


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_an_entry_that_is_not_a_file_is_refused(tmp_path, place, kind):
    link = zipfile.ZipInfo("bert_config.json")
    link.external_attr = (kind | 0o777) << 16
    path = pack(tmp_path, [*FILES.items(), (link, b"/etc/passwd")])
    with pytest.raises(InputError, match="'bert_config.json', which is not a file; refused"):
        google.extract(path, str(place), tuple(FILES))
    assert os.listdir(place) == []


def test_a_truncated_archive_is_refused(tmp_path, place):
    path = pack(tmp_path, FILES.items())
    whole = os.path.getsize(path)
    for length in (0, 1, whole // 2, whole - 1):
        os.truncate(path, length)
        with pytest.raises(InputError, match="is not a complete zip archive"):
            google.extract(path, str(place), tuple(FILES))
        pack(tmp_path, FILES.items())


def test_a_changed_byte_is_found(tmp_path, place):
    path = pack(tmp_path, FILES.items())
    with open(path, "r+b") as file:
        file.seek(len("vocab.txt") + 30 + 7)  # in the content of the first file
        file.write(b"!")
    with pytest.raises(InputError, match="is not a complete zip archive: Bad CRC-32"):
        google.extract(path, str(place), tuple(FILES))


def test_a_missing_file_is_named_with_what_is_there(tmp_path, place):
    path = pack(tmp_path, [("model/vocab.txt", b"x")])
    message = "bert_model.ckpt.index 0 times, not once; it holds: model/vocab.txt"
    with pytest.raises(InputError, match=message):
        google.extract(path, str(place), tuple(FILES))


def test_a_file_that_is_there_twice_is_refused(tmp_path, place):
    path = pack(tmp_path, [("a/vocab.txt", b"x"), ("b/vocab.txt", b"y")])
    with pytest.raises(InputError, match="vocab.txt 2 times, not once"):
        google.extract(path, str(place), ("vocab.txt",))


def test_an_archive_that_unpacks_to_far_more_is_refused(tmp_path, place):
    entries = [("vocab.txt", bytes(1_000_003))]
    path = pack(tmp_path, entries, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="would unpack to 1000003 bytes; refused"):
        google.extract(path, str(place), ("vocab.txt",))
    assert os.listdir(place) == []


def test_an_encrypted_archive_is_refused(tmp_path, place):
    path = pack(tmp_path, [("vocab.txt", b"x")])
    data = bytearray(open(path, "rb").read())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flags of both headers
        data[data.index(mark) + offset] |= 1
    with open(path, "wb") as file:
        file.write(data)
    with pytest.raises(InputError, match="is not a complete zip archive: .*encrypted"):
        google.extract(path, str(place), ("vocab.txt",))


def serve_archive(server, preset, contents=ARCHIVED):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, data in contents.items():
            file.writestr(f"model/{name}", data)
    path = f"/bert_models/{preset.location}.zip"
    server.files[path] = packed.getvalue()
    server.google_hash(path)
    return path


def held(place):
    return {name: (place / name).read_bytes() for name in os.listdir(place)}


def test_an_archive_becomes_its_files_and_what_it_does_not_tell(server, place):
    path = serve_archive(server, TINY)
    origin, sha256s = google.fetch(TINY, str(place))
    assert {name: data for name, data in held(place).items() if name in ARCHIVED} == ARCHIVED
    assert held(place).keys() == {*ARCHIVED, "conversion.json"}
    assert sha256s == {name: hashlib.sha256(data).hexdigest() for name, data in held(place).items()}
    described = base.read_conversion(str(place))
    assert (described["kind"], described["do_lower_case"]) == ("pretrain", True)
    assert origin == {"url": f"{server.url}{path}"}
    assert set(google.complete(str(place))) == ARCHIVED.keys()


def test_an_archive_of_other_files_than_the_known_ones_is_refused(server, place):
    serve_archive(server, BASE)
    with pytest.raises(InputError, match="bert_config.json of uncased_L-12_H-768_A-12 is not the"):
        google.fetch(BASE, str(place))
    assert "archive.zip" not in os.listdir(place)


def test_a_truncated_archive_is_fetched_again_the_next_time(server, place):
    path = serve_archive(server, TINY)
    whole = server.files[path]
    server.files[path] = whole[:-7]
    server.google_hash(path)
    with pytest.raises(InputError, match="is not a complete zip archive"):
        google.fetch(TINY, str(place))
    server.files[path] = whole
    server.google_hash(path)
    google.fetch(TINY, str(place))
    assert google.complete(str(place))
    assert server.ranges == [None, None]


def test_an_archive_that_was_not_unpacked_yet_is_not_fetched_again(server, place):
    path = serve_archive(server, TINY)
    (place / "archive.zip").write_bytes(server.files[path])
    google.fetch(TINY, str(place))
    assert server.asked == []


def test_an_archive_is_not_asked_for_where_the_environment_says_so(server, place, monkeypatch):
    monkeypatch.setenv("BERT_TF_OFFLINE", "1")
    with pytest.raises(ConnectionError, match="BERT_TF_OFFLINE forbids using the network"):
        google.fetch(TINY, str(place))
    assert server.asked == []


def test_a_damaged_configuration_is_refused(server, place):
    serve_archive(server, TINY, ARCHIVED | {"bert_config.json": b"{"})
    with pytest.raises(InputError, match="bert_config.json"):
        google.fetch(TINY, str(place))
