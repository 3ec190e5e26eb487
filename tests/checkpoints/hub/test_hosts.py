"""Archives and repositories become directories of checked files; served from loopback."""

import hashlib
import io
import json
import os
import zipfile

import pytest

from bert_tf.checkpoints.formats import checkpoint
from bert_tf.checkpoints.hub import download, hosts, preset_table
from bert_tf.checkpoints.hub.download import RefusedError, UnreachableError
from bert_tf.errors import InputError
from tests.reference import file_server

ARCHIVED = {
    "bert_config.json": b"{}",
    "vocab.txt": b"[PAD]\n",
    "bert_model.ckpt.index": bytes(range(101)),
    "bert_model.ckpt.data-00000-of-00001": bytes(range(251)) * 7,
}
CONFIG = {"model_type": "bert", "vocab_size": 7, "hidden_size": 6, "num_attention_heads": 2}
COMMIT = "89abcdef0123456789abcdef0123456789abcdef"
REPOSITORY = {
    "config.json": json.dumps(CONFIG).encode(),
    "vocab.txt": b"[PAD]\n",
    "tokenizer_config.json": b'{"do_lower_case": false}',
    "model.safetensors": bytes(range(251)) * 5,
    "pytorch_model.bin": b"pickle",
}
TINY = preset_table.PRESETS["uncased_L-2_H-128_A-2"]
BASE = preset_table.PRESETS["uncased_L-12_H-768_A-12"]
MODEL = preset_table.repository("owner/model")
GOOGLE, HUGGING_FACE = hosts.HOSTS[TINY.host], hosts.HOSTS[MODEL.host]
LISTING = "/api/models/owner/model/revision/main"


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setattr(download, "WAITS", (0.0,) * len(download.WAITS))
    for name in ("HF_TOKEN", "BERT_TF_OFFLINE", "HF_HUB_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    with file_server.running() as server:
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("HF_HOME", str(tmp_path / "hugging_face"))
        monkeypatch.setenv("BERT_TF_GOOGLE_URL", f"{server.url}/bert_models/")
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def place(tmp_path):
    (tmp_path / "place").mkdir()
    return tmp_path / "place"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def serve_archive(server, preset, contents=ARCHIVED):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, data in contents.items():
            file.writestr(f"model/{name}", data)
    path = f"/bert_models/{preset.location}.zip"
    server.files[path] = packed.getvalue()
    server.google_hash(path)
    return path


def serve_repository(server, contents=REPOSITORY, large=("model.safetensors",), **changes):
    """Serves a repository as Hugging Face does: a listing, and files by commit."""
    siblings = []
    for name, data in contents.items():
        entry = {"rfilename": name, "size": len(data)}
        entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        if name in large:
            entry["lfs"] = {"sha256": sha256(data), "size": len(data), "pointerSize": 134}
        siblings.append(entry)
        server.files[f"/owner/model/resolve/{COMMIT}/{name}"] = data
    listing = {"id": "owner/model", "sha": COMMIT, "siblings": siblings} | changes
    server.files[LISTING] = json.dumps(listing).encode()


def held(place):
    return {name: (place / name).read_bytes() for name in os.listdir(place)}


def test_an_archive_becomes_its_files_and_what_it_does_not_tell(server, place):
    path = serve_archive(server, TINY)
    origin, sha256s = GOOGLE.fetch(TINY, str(place))
    assert {name: data for name, data in held(place).items() if name in ARCHIVED} == ARCHIVED
    assert held(place).keys() == {*ARCHIVED, "conversion.json"}
    assert sha256s == {name: sha256(data) for name, data in held(place).items()}
    described = checkpoint.described(str(place))
    assert (described["kind"], described["do_lower_case"]) == ("pretrain", True)
    assert origin == {"url": f"{server.url}{path}"}
    assert set(GOOGLE.held(str(place))) == ARCHIVED.keys()


def test_an_archive_of_other_files_than_the_known_ones_is_refused(server, place):
    serve_archive(server, BASE)
    with pytest.raises(InputError, match="bert_config.json of uncased_L-12_H-768_A-12 is not the"):
        GOOGLE.fetch(BASE, str(place))
    assert "archive.zip" not in os.listdir(place)


def test_a_truncated_archive_is_fetched_anew_the_next_time(server, place):
    path = serve_archive(server, TINY)
    whole = server.files[path]
    server.files[path] = whole[:-7]
    server.google_hash(path)
    with pytest.raises(InputError, match="is not a whole zip archive"):
        GOOGLE.fetch(TINY, str(place))
    server.files[path] = whole
    server.google_hash(path)
    GOOGLE.fetch(TINY, str(place))
    assert GOOGLE.held(str(place))
    assert server.ranges == [None, None]


def test_an_archive_that_was_not_unpacked_any_more_is_not_fetched_again(server, place):
    path = serve_archive(server, TINY)
    (place / "archive.zip").write_bytes(server.files[path])
    GOOGLE.fetch(TINY, str(place))
    assert server.asked == []


def test_a_repository_becomes_the_files_that_are_read(server, place):
    serve_repository(server)
    origin, sha256s = HUGGING_FACE.fetch(MODEL, str(place))
    wanted = {name: data for name, data in REPOSITORY.items() if name != "pytorch_model.bin"}
    assert held(place) == wanted
    assert sha256s == {name: sha256(data) for name, data in wanted.items()}
    assert origin == {"url": f"{server.url}/owner/model/tree/main", "commit": COMMIT}
    assert server.paths[0] == f"{LISTING}?blobs=true"
    assert server.paths[-1].endswith("/model.safetensors")
    assert set(HUGGING_FACE.held(str(place))) == wanted.keys()


def test_files_that_have_arrived_are_not_fetched_again(server, place):
    serve_repository(server)
    weights = f"/owner/model/resolve/{COMMIT}/model.safetensors"
    server.first[weights] = [("break", 103), 404]
    with pytest.raises(RefusedError):
        HUGGING_FACE.fetch(MODEL, str(place))
    del server.asked[:]
    HUGGING_FACE.fetch(MODEL, str(place))
    assert server.paths == [f"{LISTING}?blobs=true", weights]
    assert server.ranges == [None, "bytes=103-"]


def test_shards_are_fetched_with_their_index(server, place):
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002"}}
    index["weight_map"]["b"] += ".safetensors"
    contents = {name: REPOSITORY[name] for name in ("config.json", "vocab.txt")}
    contents["model.safetensors.index.json"] = json.dumps(index).encode()
    shards = {f"model-0000{n}-of-00002.safetensors": bytes([n]) * 107 for n in (1, 2)}
    serve_repository(server, contents | shards | {"model-x.safetensors": b"x"}, tuple(shards))
    HUGGING_FACE.fetch(MODEL, str(place))
    assert held(place) == contents | shards
    assert set(HUGGING_FACE.held(str(place))) == held(place).keys()
    (place / "model-00002-of-00002.safetensors").unlink()
    assert HUGGING_FACE.held(str(place)) == ()


def test_a_vocabulary_may_be_in_the_tokenizer_s_file(server, place):
    contents = REPOSITORY | {"tokenizer.json": b"{}"}
    serve_repository(server, contents)
    HUGGING_FACE.fetch(MODEL, str(place))
    assert "tokenizer.json" not in held(place)  # vocab.txt is enough
    for name in os.listdir(place):
        (place / name).unlink()
    del contents["vocab.txt"]
    serve_repository(server, contents)
    HUGGING_FACE.fetch(MODEL, str(place))
    assert held(place)["tokenizer.json"] == b"{}"
    assert "tokenizer.json" in HUGGING_FACE.held(str(place))


def test_another_architecture_is_refused_before_its_weights_come(server, place):
    config = json.dumps(CONFIG | {"model_type": "roberta"}).encode()
    serve_repository(server, REPOSITORY | {"config.json": config})
    with pytest.raises(InputError, match="roberta"):
        HUGGING_FACE.fetch(MODEL, str(place))
    assert not any(path.endswith("safetensors") for path in server.paths)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("vocab.txt", "owner/model has no tokenizer.json. Its repository lists: config.json, mod"),
        ("config.json", "owner/model has no config.json. Its repository lists: model.saf"),
        ("model.safetensors", "no model.safetensors; other formats.*lists: .*pytorch_model.bin"),
    ],
)
def test_a_repository_that_lacks_a_file_says_what_it_has(server, place, missing, message):
    contents = {name: data for name, data in REPOSITORY.items() if name != missing}
    serve_repository(server, contents)
    with pytest.raises(InputError, match=message):
        HUGGING_FACE.fetch(MODEL, str(place))


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt"])
def test_a_file_that_is_not_the_listed_one_is_refused(server, place, name):
    serve_repository(server)
    path = f"/owner/model/resolve/{COMMIT}/{name}"
    server.files[path] = server.files[path][:-1] + b"!"
    with pytest.raises(InputError, match="did not arrive as it was sent: its (git|sha256) is"):
        HUGGING_FACE.fetch(MODEL, str(place))
    assert name not in os.listdir(place)


def test_weights_other_than_the_known_ones_are_refused_before_they_come(server, place, monkeypatch):
    known = {"owner/model": {"model.safetensors": "0" * 64}}
    monkeypatch.setattr(preset_table, "SHA256", known)
    serve_repository(server)
    found = sha256(REPOSITORY["model.safetensors"])
    with pytest.raises(InputError, match=f"has the sha256 {found}, 0000.*owner/model@main"):
        HUGGING_FACE.fetch(MODEL, str(place))
    assert server.paths == [f"{LISTING}?blobs=true"]


@pytest.mark.parametrize(
    "changes", [{"sha": "../../x"}, {"siblings": None}, {"siblings": [{}]}, {"sha": None}]
)
def test_a_listing_that_is_none(server, place, changes):
    serve_repository(server, **changes)
    with pytest.raises(InputError, match="was answered with no listing of files"):
        HUGGING_FACE.fetch(MODEL, str(place))


def test_the_token_of_the_environment_is_shown(server, place, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    serve_repository(server)
    HUGGING_FACE.fetch(MODEL, str(place))
    assert {headers.get("Authorization") for _, headers in server.asked} == {"Bearer secret"}


def test_a_revision_is_quoted(server, place):
    preset = preset_table.repository("owner/model", "refs/pr/2")
    with pytest.raises(RefusedError):
        HUGGING_FACE.fetch(preset, str(place))
    assert server.paths == ["/api/models/owner/model/revision/refs%2Fpr%2F2?blobs=true"]


@pytest.mark.parametrize("variable", ["BERT_TF_OFFLINE", "HF_HUB_OFFLINE"])
@pytest.mark.parametrize("preset", [TINY, MODEL])
def test_nothing_is_asked_where_the_environment_says_so(
    server, place, monkeypatch, variable, preset
):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(UnreachableError, match=f"{variable} forbids to use the network"):
        hosts.HOSTS[preset.host].fetch(preset, str(place))
    assert server.asked == []


def test_an_endpoint_without_a_scheme(server, place, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "mirror.example")
    with pytest.raises(InputError, match="HF_ENDPOINT=mirror.example must start with https://"):
        HUGGING_FACE.fetch(MODEL, str(place))
