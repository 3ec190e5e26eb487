"""A cache, a home and hosts of their own; nothing leaves this machine."""

import socket

import huggingface_hub.constants
import pytest

from bert_tf.checkpoints.hub import download
from tests.reference import file_server

VARIABLES = ("HF_TOKEN", "BERT_TF_OFFLINE", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A directory with an empty cache and an empty working directory; the hosts are down."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(download, "WAITS", (0.0,) * len(download.WAITS))
    # huggingface_hub reads its environment variables once, when it is imported.
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_TELEMETRY", True)
    for name, path in (("HF_HUB_CACHE", "hugging_face/hub"), ("HF_TOKEN_PATH", "token")):
        monkeypatch.setattr(huggingface_hub.constants, name, str(tmp_path / path))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("BERT_TF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BERT_TF_GOOGLE_URL", f"{nowhere}/bert_models")
    monkeypatch.setenv("HF_ENDPOINT", nowhere)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path


@pytest.fixture
def server(home, monkeypatch):
    """A `FileServer` that both hosts are on."""
    with file_server.running() as server:
        monkeypatch.setenv("BERT_TF_GOOGLE_URL", f"{server.url}/bert_models/")
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield server


@pytest.fixture
def place(home):
    """An empty directory in an empty one."""
    (home / "outer" / "place").mkdir(parents=True)
    return home / "outer" / "place"
