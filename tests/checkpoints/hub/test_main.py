"""The table says what is here; every file is read again if asked for."""

import io
import os
import zipfile

import pytest

import bert_tf.checkpoints.hub.__main__ as hub
from bert_tf.checkpoints.hub import cache, preset_table, presets
from bert_tf.errors import InputError

NAME = "uncased_L-2_H-128_A-2"
PATH = f"/bert_models/2020_02_20/{NAME}.zip"
CONFIG = b'{"vocab_size": 1, "hidden_size": 6, "num_attention_heads": 2}'
VALUES = "bert_model.ckpt.data-00000-of-00001"
FILES = {"bert_config.json": CONFIG, "vocab.txt": b"[PAD]\n", "bert_model.ckpt.index": b"i"}
FILES |= {VALUES: b"values"}


@pytest.fixture
def server(server):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, data in FILES.items():
            file.writestr(name, data)
    server.files[PATH] = packed.getvalue()
    return server


def run(capsys, *names, **flags):
    hub.main(hub.Options(**flags), list(names))
    return capsys.readouterr().out


def test_the_table_says_what_is_here(server, capsys):
    path = presets.resolve(NAME)
    rows = {line.split("  ")[0]: line for line in run(capsys).splitlines()}
    assert rows[NAME].split() == [NAME, "18", "MB", "uncased", "yes", f"{server.url}{PATH}"]
    address = (
        f"{server.url}/google-bert/bert-base-cased/tree/cd5ef92a9fb2f889e972770a36d4ed042daf221e"
    )
    assert rows["bert-base-cased"].split() == ["bert-base-cased", "436", "MB", "cased", address]
    assert len([row for row in rows if row in preset_table.ALIASES]) == 15
    assert run(capsys, NAME) == f"{path}\n"


def test_what_is_here_without_a_row_is_listed_too(server, home, capsys):
    place = home / "cache" / "hugging_face" / "owner" / "model@main"
    place.mkdir(parents=True)
    cache.record(str(place), {}, {})
    assert str(place) in run(capsys).splitlines()


def test_verify_reads_every_file_again(server, capsys):
    path = presets.resolve(NAME)
    assert run(capsys, verify=True) == f"{path}: every file is as it arrived.\n"
    assert run(capsys, NAME, verify=True) == f"{path}: every file is as it arrived.\n"
    file = os.path.join(path, "vocab.txt")
    before = os.stat(file)
    with open(file, "wb") as changed:
        changed.write(b"[PAD]!")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    presets.resolve(NAME)
    with pytest.raises(InputError, match="vocab.txt has changed since it arrived"):
        run(capsys, verify=True)
