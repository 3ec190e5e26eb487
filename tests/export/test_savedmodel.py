"""The three commands as a user types them: export, serve, ask."""

import os
import pathlib
import signal
import socket
import subprocess
import sys

import numpy as np
import requests

from bert_tf import checkpoints
from export import verify

ROOT = pathlib.Path(__file__).parents[2]
PAIRS = [("the quick fox", "jumps over"), ("a dog", "lazy ! lazy lazy lazy dog")]


def command(module, *flags):
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}
    return {"args": [sys.executable, "-m", module, *flags], "cwd": ROOT, "env": environment}


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_export_serve_and_ask(cases, tmp_path):
    case = cases["classify", 2]
    checkpoints.save(case.model, case.directory.weights("best"))
    base_path = tmp_path / "pairs"
    flags = (f"--model_dir={case.directory.path}", f"--export_dir={base_path}")
    result = subprocess.run(
        **command("export.savedmodel", *flags), capture_output=True, text=True, check=True
    )
    assert f"Exported {base_path}/1: " in result.stdout
    assert os.listdir(base_path) == ["1"]

    url = f"http://127.0.0.1:{free_port()}"
    flags = (f"--model_base_path={base_path}", f"--rest_api_port={url.rsplit(':')[-1]}")
    server = subprocess.Popen(
        **command("serving", "--model_name=pairs", *flags),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        lines = [next(server.stdout) for _ in range(3)]
        assert lines[1].startswith("Warm-up: 4 requests in ")
        assert lines[2].startswith("Ready: ")
        assert_answers(case, url)
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 0
    finally:
        server.kill()
        server.communicate()


def assert_answers(case, url):
    """The REST answers are those of the Python path, and the client prints them."""
    batch = verify.python_inputs(case.directory, 31, PAIRS)
    logits = np.asarray(case.model(batch, training=False)["logits"])
    labels = [case.directory.metadata.labels[index] for index in logits.argmax(axis=1)]
    rows = [dict(zip(("text_a", "text_b"), pair, strict=True)) for pair in PAIRS]
    answer = requests.post(f"{url}/v1/models/pairs:predict", json={"instances": rows}, timeout=60)
    predictions = answer.json()["predictions"]
    assert [row["label"] for row in predictions] == labels
    np.testing.assert_allclose([row["logits"] for row in predictions], logits, atol=1e-5)

    client = command("serving.client", "--model_name=pairs", f"--url={url}", *map("\t".join, PAIRS))
    output = subprocess.run(**client, capture_output=True, text=True, check=True).stdout
    printed = [line.split("\t") for line in output.splitlines()]
    assert [(label, a, b) for label, _, a, b in printed] == [
        (label, *pair) for label, pair in zip(labels, PAIRS, strict=True)
    ]
    for (_, probability, *_), row in zip(printed, predictions, strict=True):
        assert abs(float(probability) - max(row["probabilities"])) < 1e-4
