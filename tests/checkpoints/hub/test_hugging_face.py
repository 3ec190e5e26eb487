"""A repository becomes a directory of checked files; one in the libraries' cache is linked."""

import hashlib
import json
import os
import pathlib

import huggingface_hub.constants
import pytest
from huggingface_hub.errors import HfHubHTTPError

from bert_tf.checkpoints.hub import hugging_face, preset_table
from bert_tf.errors import InputError

CONFIG = {"model_type": "bert", "vocab_size": 7, "hidden_size": 6, "num_attention_heads": 2}
COMMIT = "89abcdef0123456789abcdef0123456789abcdef"
REPOSITORY = {
    "config.json": json.dumps(CONFIG).encode(),
    "vocab.txt": b"[PAD]\n",
    "tokenizer_config.json": b'{"do_lower_case": false}',
    "model.safetensors": bytes(range(251)) * 5,
    "pytorch_model.bin": b"pickle",
}
MODEL = preset_table.repository("owner/model")
LISTING = "/api/models/owner/model/revision/main"
FILES = f"/owner/model/resolve/{COMMIT}"


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def serve_repository(server, contents=REPOSITORY, large=("model.safetensors",), **changes):
    """Serves a repository as Hugging Face does: a listing, and files by commit."""
    siblings = []
    for name, data in contents.items():
        entry = {"rfilename": name, "size": len(data)}
        entry["blobId"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        if name in large:
            entry["lfs"] = {"sha256": sha256(data), "size": len(data), "pointerSize": 134}
        siblings.append(entry)
        server.files[f"{FILES}/{name}"] = data
    listing = {"id": "owner/model", "sha": COMMIT, "siblings": siblings} | changes
    server.files[LISTING] = json.dumps(listing).encode()


def held(place):
    return {name: (place / name).read_bytes() for name in os.listdir(place)}


def test_a_repository_becomes_the_files_that_are_read(server, place):
    serve_repository(server)
    origin, sha256s = hugging_face.fetch(MODEL, str(place))
    wanted = {name: data for name, data in REPOSITORY.items() if name != "pytorch_model.bin"}
    assert held(place) == wanted
    assert sha256s == {name: sha256(data) for name, data in wanted.items()}
    assert origin == {"url": f"{server.url}/owner/model/tree/main", "commit": COMMIT}
    assert server.paths[0] == f"{LISTING}?blobs=true"
    assert server.paths[-1].endswith("/model.safetensors")
    assert set(hugging_face.complete(str(place))) == wanted.keys()


def test_files_that_have_arrived_are_not_fetched_again(server, place):
    serve_repository(server)
    weights = f"{FILES}/model.safetensors"
    server.first[weights] = [("break", 103), 404]
    with pytest.raises(HfHubHTTPError):
        hugging_face.fetch(MODEL, str(place))
    del server.asked[:]
    hugging_face.fetch(MODEL, str(place))
    assert server.paths == [f"{LISTING}?blobs=true", weights]
    assert server.ranges == [None, "bytes=103-"]


def test_shards_are_fetched_with_their_index(server, place):
    index = {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002"}}
    index["weight_map"]["b"] += ".safetensors"
    contents = {name: REPOSITORY[name] for name in ("config.json", "vocab.txt")}
    contents["model.safetensors.index.json"] = json.dumps(index).encode()
    shards = {f"model-0000{n}-of-00002.safetensors": bytes([n]) * 107 for n in (1, 2)}
    serve_repository(server, contents | shards | {"model-x.safetensors": b"x"}, tuple(shards))
    hugging_face.fetch(MODEL, str(place))
    assert held(place) == contents | shards
    assert set(hugging_face.complete(str(place))) == held(place).keys()
    (place / "model-00002-of-00002.safetensors").unlink()
    assert hugging_face.complete(str(place)) == ()


def test_a_vocabulary_may_be_in_the_tokenizer_s_file(server, place):
    contents = REPOSITORY | {"tokenizer.json": b"{}"}
    serve_repository(server, contents)
    hugging_face.fetch(MODEL, str(place))
    assert "tokenizer.json" not in held(place)  # vocab.txt is enough
    for name in os.listdir(place):
        (place / name).unlink()
    del contents["vocab.txt"]
    serve_repository(server, contents)
    hugging_face.fetch(MODEL, str(place))
    assert held(place)["tokenizer.json"] == b"{}"
    assert "tokenizer.json" in hugging_face.complete(str(place))


def test_another_architecture_is_refused_before_its_weights_come(server, place):
    config = json.dumps(CONFIG | {"model_type": "roberta"}).encode()
    serve_repository(server, REPOSITORY | {"config.json": config})
    with pytest.raises(InputError, match="roberta"):
        hugging_face.fetch(MODEL, str(place))
    assert not any(path.endswith("safetensors") for path in server.paths)


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("vocab.txt", "owner/model has no tokenizer.json. Its repository lists: config.json, mod"),
        ("config.json", "owner/model has no config.json. Its repository lists: model.saf"),
        ("model.safetensors", "no model.safetensors. Other formats.*lists: .*pytorch_model.bin"),
    ],
)
def test_a_repository_that_lacks_a_file_says_what_it_has(server, place, missing, message):
    contents = {name: data for name, data in REPOSITORY.items() if name != missing}
    serve_repository(server, contents)
    with pytest.raises(InputError, match=message):
        hugging_face.fetch(MODEL, str(place))


@pytest.mark.parametrize("name", ["model.safetensors", "vocab.txt"])
def test_a_file_that_is_not_the_listed_one_is_refused(server, place, name):
    serve_repository(server)
    path = f"{FILES}/{name}"
    server.files[path] = server.files[path][:-1] + b"!"
    with pytest.raises(InputError, match="did not arrive as it was sent: its (git|sha256) is"):
        hugging_face.fetch(MODEL, str(place))
    assert name not in os.listdir(place)


def test_weights_other_than_the_known_ones_are_refused_before_they_come(server, place, monkeypatch):
    known = {"owner/model": {"model.safetensors": "0" * 64}}
    monkeypatch.setattr(preset_table, "SHA256", known)
    serve_repository(server)
    found = sha256(REPOSITORY["model.safetensors"])
    with pytest.raises(InputError, match=f"has the sha256 {found}, 0000.*owner/model@main"):
        hugging_face.fetch(MODEL, str(place))
    assert server.paths == [f"{LISTING}?blobs=true"]


@pytest.mark.parametrize(
    "changes", [{"sha": "../../x"}, {"siblings": None}, {"siblings": [{}]}, {"sha": None}]
)
def test_an_unreadable_listing_is_refused(server, place, changes):
    serve_repository(server, **changes)
    with pytest.raises(InputError, match="has no readable listing of files"):
        hugging_face.fetch(MODEL, str(place))


def test_the_token_of_the_environment_is_shown(server, place, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "secret")
    serve_repository(server)
    hugging_face.fetch(MODEL, str(place))
    assert {headers.get("Authorization") for _, headers in server.asked} == {"Bearer secret"}


def test_the_stored_log_in_is_shown(server, place):
    with open(huggingface_hub.constants.HF_TOKEN_PATH, "w") as file:
        file.write("stored")
    serve_repository(server)
    hugging_face.fetch(MODEL, str(place))
    assert {headers.get("Authorization") for _, headers in server.asked} == {"Bearer stored"}


def test_a_busy_host_is_asked_for_the_listing_again(server, place):
    serve_repository(server)
    server.first[LISTING] = [503, 429]
    hugging_face.fetch(MODEL, str(place))
    assert server.paths[:4] == [f"{LISTING}?blobs=true"] * 3 + [f"{FILES}/config.json"]


@pytest.mark.parametrize("location", ["owner/na--me", "owner/name.", "owner/" + "n" * 97])
def test_a_name_that_no_repository_can_have(server, place, location):
    with pytest.raises(
        InputError, match=f"{location} is not a possible name: (Repo id must|Cannot have --)"
    ):
        hugging_face.fetch(preset_table.repository(location), str(place))
    assert server.asked == []


def test_a_revision_is_quoted(server, place):
    preset = preset_table.repository("owner/model", "refs/pr/2")
    with pytest.raises(HfHubHTTPError):
        hugging_face.fetch(preset, str(place))
    assert server.paths == ["/api/models/owner/model/revision/refs%2Fpr%2F2?blobs=true"]


@pytest.mark.parametrize("variable", ["BERT_TF_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"])
def test_nothing_is_asked_where_the_environment_says_so(server, place, monkeypatch, variable):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(ConnectionError, match=f"{variable} forbids using the network"):
        hugging_face.fetch(MODEL, str(place))
    assert server.asked == []


def test_an_endpoint_without_a_scheme(server, place, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "mirror.example")
    with pytest.raises(InputError, match="HF_ENDPOINT=mirror.example must start with https://"):
        hugging_face.fetch(MODEL, str(place))


CACHED = {name: REPOSITORY[name] for name in ("config.json", "model.safetensors", "vocab.txt")}


def write_snapshot(name="models--owner--model", branch="main"):
    """Writes what Hugging Face's libraries would have in their cache; returns the snapshot."""
    repository = pathlib.Path(huggingface_hub.constants.HF_HUB_CACHE) / name
    snapshot = repository / "snapshots" / COMMIT
    for folder in (repository / "blobs", repository / "refs", snapshot):
        folder.mkdir(parents=True)
    (repository / "refs" / branch).write_text(COMMIT)
    for file, data in CACHED.items():
        git = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
        digest = sha256(data) if file == "model.safetensors" else git
        (repository / "blobs" / digest).write_bytes(data)
        (snapshot / file).symlink_to(f"../../blobs/{digest}")
    return snapshot


def test_what_is_in_the_libraries_cache_is_linked(server, place):
    snapshot = write_snapshot()
    (place / "config.json").write_text("half of an earlier one")
    origin, sha256s = hugging_face.fetch(MODEL, str(place))
    assert origin == {"url": str(snapshot), "commit": COMMIT}
    assert sha256s == {name: sha256(data) for name, data in CACHED.items()}
    assert held(place) == CACHED
    assert all(path.is_symlink() for path in place.iterdir())
    assert server.asked == []


@pytest.mark.parametrize("revision", ["v2", COMMIT])
def test_a_revision_in_the_libraries_cache_is_a_branch_or_a_commit(server, place, revision):
    write_snapshot(branch="v2")
    hugging_face.fetch(preset_table.repository("owner/model", revision), str(place))
    assert held(place) == CACHED
    with pytest.raises(HfHubHTTPError):  # main is not there, and not on the server
        hugging_face.fetch(MODEL, str(place))


def test_a_repository_is_in_the_libraries_cache_under_the_name_it_had_before(server, place):
    write_snapshot("models--bert-base-german-cased")
    preset = preset_table.repository("google-bert/bert-base-german-cased")
    hugging_face.fetch(preset, str(place))
    assert held(place) == CACHED
    write_snapshot("models--model")
    with pytest.raises(HfHubHTTPError):
        hugging_face.fetch(MODEL, str(place))


@pytest.mark.parametrize("name", CACHED)
def test_a_damaged_file_of_the_libraries_cache_is_not_linked(server, place, name):
    target = (write_snapshot() / name).resolve()
    target.write_bytes(target.read_bytes()[:-1])
    serve_repository(server)
    hugging_face.fetch(MODEL, str(place))
    assert held(place)[name] == REPOSITORY[name]
    assert not any(path.is_symlink() for path in place.iterdir())


@pytest.mark.parametrize("name", CACHED)
def test_a_snapshot_whose_blob_was_removed_is_not_linked(server, place, name):
    (write_snapshot() / name).resolve().unlink()
    serve_repository(server)
    hugging_face.fetch(MODEL, str(place))
    assert held(place)[name] == REPOSITORY[name]
    assert not any(path.is_symlink() for path in place.iterdir())


def test_a_file_of_the_libraries_cache_that_is_not_the_known_one_is_not_linked(
    server, place, monkeypatch
):
    write_snapshot()
    monkeypatch.setattr(preset_table, "SHA256", {"owner/model": {"vocab.txt": "0" * 64}})
    with pytest.raises(HfHubHTTPError):
        hugging_face.fetch(MODEL, str(place))
    assert held(place) == {}


def test_a_file_of_the_libraries_cache_without_a_blob_is_not_linked(server, place):
    snapshot = write_snapshot()
    (snapshot / "vocab.txt").unlink()
    (snapshot / "vocab.txt").write_bytes(CACHED["vocab.txt"])
    with pytest.raises(HfHubHTTPError):
        hugging_face.fetch(MODEL, str(place))
