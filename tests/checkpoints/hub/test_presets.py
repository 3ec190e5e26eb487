"""A name becomes a directory once, for every process; errors say what to do."""

import io
import json
import os
import pathlib
import subprocess
import sys
import threading
import zipfile

import pytest

from bert_tf.checkpoints.hub import presets
from bert_tf.errors import InputError

ROOT = pathlib.Path(__file__).parents[3]
NAME = "uncased_L-2_H-128_A-2"
PATH = f"/bert_models/2020_02_20/{NAME}.zip"
FILES = {
    "bert_config.json": b'{"vocab_size": 1, "hidden_size": 6, "num_attention_heads": 2}',
    "vocab.txt": b"[PAD]\n",
    "bert_model.ckpt.index": bytes(range(101)),
    "bert_model.ckpt.data-00000-of-00001": bytes(range(251)) * 7,
}


@pytest.fixture
def server(server):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, data in FILES.items():
            file.writestr(name, data)
    server.files[PATH] = packed.getvalue()
    server.google_hash(PATH)
    return server


def held(path):
    found = {}
    for name in FILES:
        with open(os.path.join(path, name), "rb") as file:
            found[name] = file.read()
    return found


def write_by_hand(place, files=FILES):
    place.mkdir(parents=True)
    for name, data in files.items():
        (place / name).write_bytes(data)


@pytest.mark.parametrize("name", [NAME, "bert-base-uncased", "models/bert"])
def test_what_is_there_is_a_path(home, name):
    os.makedirs(name)
    assert presets.resolve(name) == name
    assert not presets.is_name(name)


@pytest.mark.parametrize(
    "path",
    [
        "/models/bert",
        "./bert",
        "../bert",
        "runs/bert/best",
        "bert_model.ckpt",
        "m/model.safetensors",
    ]
    + ["a b/c", "runs/../bert", "", "C:\\bert"],
)
def test_what_cannot_be_a_name_is_a_path(home, path):
    assert presets.resolve(path) == path


def test_a_prefix_is_a_path(home):
    open("model.index", "w").close()
    assert presets.resolve("model") == "model"


def test_a_slip_in_the_path_of_a_user_s_file_is_not_a_name(home):
    os.makedirs("runs/mrpc")
    assert presets.resolve("runs/mprc") == "runs/mprc"
    assert presets.is_name("run/mrpc")


@pytest.mark.parametrize(
    ("name", "location", "revision"),
    [
        ("bert-base-uncased", "google-bert/bert-base-uncased", "86b5e0934494"),
        ("google-bert/bert-base-uncased", "google-bert/bert-base-uncased", "86b5e0934494"),
        ("bert-base-uncased@main", "google-bert/bert-base-uncased", "main"),
        ("bert-base-german-cased", "google-bert/bert-base-german-cased", "main"),
        ("owner/model", "owner/model", "main"),
        ("owner/model@refs/pr/2", "owner/model", "refs/pr/2"),
        ("wwm_cased_L-24_H-1024_A-16", "2019_05_30/wwm_cased_L-24_H-1024_A-16", "main"),
        (f"2020_02_20/{NAME}".replace("2_H-128_A-2", "12_H-768_A-12"), None, "main"),
    ],
)
def test_names(home, name, location, revision):
    preset = presets.named(name)
    assert preset.location == (location or name)
    assert preset.revision.startswith(revision)
    assert presets.is_name(name)


def test_a_wrong_name_is_answered_with_the_nearest(home):
    message = (
        "'bert-base-uncase' is neither a file nor a directory here, .* Nearest: bert-base-uncased,"
    )
    with pytest.raises(InputError, match=message):
        presets.resolve("bert-base-uncase")


def test_a_name_is_fetched_once(server, home):
    path = presets.resolve(NAME)
    assert path == str(home / "cache" / "google" / "2020_02_20" / NAME)
    assert held(path) == FILES
    assert presets.resolve(NAME) == path
    assert server.paths == [PATH]


def test_what_was_fetched_is_used_without_network(server, home, monkeypatch):
    path = presets.resolve(NAME)
    monkeypatch.setenv("BERT_TF_GOOGLE_URL", "http://127.0.0.1:9/bert_models")
    monkeypatch.setenv("BERT_TF_OFFLINE", "1")
    assert held(presets.resolve(NAME)) == FILES
    assert presets.resolve(NAME) == path


def test_an_interrupted_fetch_is_continued_and_leaves_nothing_by_its_name(server, home):
    server.first[PATH] = [("break", 211)] + [503] * 99
    with pytest.raises(
        InputError, match=f"{NAME} is not a path here, is not in the cache .* 211 byt"
    ):
        presets.resolve(NAME)
    place = home / "cache" / "google" / "2020_02_20"
    assert not (place / NAME).exists()
    assert os.listdir(place / f"{NAME}.partial") == ["archive.zip.part"]
    del server.first[PATH], server.asked[:]
    assert held(presets.resolve(NAME)) == FILES
    assert server.ranges == ["bytes=211-"]
    assert sorted(os.listdir(place)) == [f".{NAME}.lock", NAME]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (NAME, "bert_config.json, vocab.txt, bert_model.ckpt.index and bert_model.ckpt.data-0"),
        (
            "bert-base-uncased",
            "config.json, model.safetensors .* and vocab.txt .or tokenizer.json.",
        ),
    ],
)
def test_without_network_the_error_says_what_to_put_where(home, name, wanted):
    with pytest.raises(InputError) as caught:
        presets.resolve(name)
    preset = presets.named(name)
    text = str(caught.value)
    assert "onnection refused" in text
    for part in (presets.directory(preset), preset.address):
        assert part in text
    assert f"variable BERT_TF_CACHE names the cache, now {home}/cache" in text
    with pytest.raises(InputError, match=f"Wanted: {wanted}"):
        presets.resolve(name)


def test_files_put_there_by_hand_are_used(home):
    place = home / "cache" / "google" / "2020_02_20" / NAME
    write_by_hand(place)
    assert presets.resolve(NAME) == str(place)
    (place / "vocab.txt").write_bytes(b"other")
    with pytest.raises(InputError, match="vocab.txt has 5 bytes; 6 had arrived"):
        presets.resolve(NAME)


def test_files_put_there_by_hand_must_be_all_and_the_known_ones(home):
    place = home / "cache" / "google" / "2018_10_18" / "uncased_L-12_H-768_A-12"
    write_by_hand(place, {"vocab.txt": b"x"})
    with pytest.raises(InputError, match="not all of uncased_L-12_H-768_A-12: vocab.txt. Wanted:"):
        presets.resolve("uncased_L-12_H-768_A-12")
    for name, data in FILES.items():
        (place / name).write_bytes(data)
    with pytest.raises(InputError, match="is not the known one: its sha256 is"):
        presets.resolve("uncased_L-12_H-768_A-12")


def test_a_corrupted_file_is_found(server):
    path = os.path.join(presets.resolve(NAME), "bert_model.ckpt.data-00000-of-00001")
    with open(path, "r+b") as file:
        file.write(b"!")
    with pytest.raises(InputError, match="bert_model.ckpt.data-00000-of-00001 has changed since"):
        presets.resolve(NAME)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "It is not there. Nearest: .*python -m bert_tf.checkpoints.hub"),
        (401, "It is not there, or private: log in with `hf auth login` or set HF_TOKEN"),
        (403, "Access to it is restricted: .* `hf auth login`"),
    ],
)
def test_a_repository_that_is_not_there(server, status, message):
    server.first["/api/models/google-bert/bert-base-uncasd/revision/main"] = [status]
    with pytest.raises(
        InputError, match=f"not a path here, and not a model of Hugging Face: .*{message}"
    ):
        presets.resolve("google-bert/bert-base-uncasd")


@pytest.mark.parametrize("status", [401, 403])
def test_the_host_s_own_words_about_a_gated_repository_are_passed_on(server, status):
    words = "Access to model owner/model is restricted."
    path = "/api/models/owner/model/revision/main"
    server.headers[path] = {"X-Error-Code": "GatedRepo", "X-Error-Message": words}
    server.first[path] = [status]
    with pytest.raises(InputError, match=rf"status {status} \({words}\).*log in with `hf auth lo"):
        presets.resolve("owner/model")


def test_a_link_into_a_cache_that_was_emptied_is_fetched_again(server, home, monkeypatch):
    path = presets.resolve(NAME)
    elsewhere = home / "elsewhere"
    os.rename(os.path.join(path, "vocab.txt"), elsewhere)
    os.symlink(elsewhere, os.path.join(path, "vocab.txt"))
    assert held(presets.resolve(NAME)) == FILES
    elsewhere.unlink()
    monkeypatch.setenv("BERT_TF_OFFLINE", "1")
    with pytest.raises(InputError, match="is not in the cache"):
        presets.resolve(NAME)
    monkeypatch.delenv("BERT_TF_OFFLINE")
    assert held(presets.resolve(NAME)) == FILES


def test_the_library_is_loaded_only_to_fetch(server):
    code = f"""
import sys
from bert_tf.checkpoints.hub import presets
print("huggingface_hub" in sys.modules)
presets.resolve({NAME!r})
print("huggingface_hub" in sys.modules)
"""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    for expected in (["False", "True"], ["False", "False"]):
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert done.stdout.split() == expected, done.stderr


def test_two_processes_fetch_once(server):
    server.pause.clear()
    code = f"from bert_tf.checkpoints.hub import presets; print(presets.resolve({NAME!r}))"
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    # One of the two waits for the lock and says so; then the other one is answered.
    waiting = threading.Event()
    lines = []

    def listen(process):
        for line in process.stderr:
            lines.append(line)
            if line.startswith("Waiting"):
                waiting.set()

    threads = [threading.Thread(target=listen, args=(process,)) for process in running]
    for thread in threads:
        thread.start()
    assert waiting.wait(30)
    server.pause.set()
    paths = {process.stdout.read().strip() for process in running}
    for process, thread in zip(running, threads, strict=True):
        assert process.wait(30) == 0
        thread.join()
        process.stdout.close()
        process.stderr.close()
    assert lines.count(f"Waiting for another process, which fetches {NAME}.\n") == 1
    assert server.paths == [PATH]
    assert held(paths.pop()) == FILES
    assert not paths


def test_the_record_names_the_archive(server):
    with open(os.path.join(presets.resolve(NAME), "origin.json")) as file:
        values = json.load(file)
    assert values["url"] == f"{server.url}{PATH}"
    assert set(values["files"]) == {*FILES, "conversion.json"}
