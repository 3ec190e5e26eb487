"""The export from its flags, and the three commands as a user types them: export, serve, ask."""

import dataclasses
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
import requests
import tensorflow as tf

from bert_tf import checkpoints
from bert_tf.errors import DiskFullError, InputError
from export import options, savedmodel, verify, version

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
    weights = case.directory.weights("best")
    assert result.stdout.startswith(f"Exporting {weights} into {base_path} ...\n")
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
        lines = [next(server.stdout) for _ in range(5)]
        assert lines[0] == f"Loading pairs, version 1, from {base_path}/1 ...\n"
        assert lines[2].startswith("Warm-up: 4 requests in ")
        assert lines[3].startswith("Ready: ")
        assert lines[4].endswith('--model_name=pairs --text_a="a text" --text_b="another"\n')
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
    for line, row, pair in zip(output.splitlines(), predictions, PAIRS, strict=True):
        best = sorted(zip(row["probabilities"], row["labels"], strict=True), reverse=True)[:3]
        answer = ", ".join(f"{label}: {probability:.3f}" for probability, label in best)
        assert line == "\t".join([answer, *pair])
        assert row["labels"] == list(case.directory.metadata.labels)
        assert best[0][1] == row["label"]


def test_other_kinds_are_refused_with_what_can_be_exported(model_directory):
    with pytest.raises(InputError, match="kind 'span'.*exportable kinds: classify, regress"):
        savedmodel.check(model_directory("span", 2))


def test_the_length_is_checked_against_the_position_table(model_directory):
    directory = model_directory("classify", 2)
    assert savedmodel.check(directory) == 31
    assert savedmodel.check(directory, 53) == 53
    with pytest.raises(InputError, match="max_seq_length=59 is beyond the model's position table"):
        savedmodel.check(directory, 59)
    with pytest.raises(InputError, match="at least 5"):
        savedmodel.check(directory, 4)


def test_no_model_directory_is_said(tmp_path):
    flags = options.Export(model_dir=str(tmp_path), export_dir=str(tmp_path / "m"))
    with pytest.raises(InputError, match="is not a model directory"):
        savedmodel.run(flags)
    with pytest.raises(InputError, match="chunk_rows=0"):
        dataclasses.replace(flags, chunk_rows=0)


def test_the_report_says_how_to_load_serve_and_ask(cases, capsys):
    case = cases["regress", 2]
    version.report(case.exported, case.directory.metadata, 3.21)
    report = capsys.readouterr().out
    base_path = os.path.dirname(case.exported.path)
    assert re.match(rf"Exported {base_path}/1: [\d.]+ [kM]B in 3\.21 s\.\n", report)
    assert "serving_default: text_a string [B], text_b string [B] -> logits float32 [B 1]" in report
    assert "ids: input_mask int32 [B T], input_type_ids int32 [B T], input_word_ids" in report
    assert "of TensorFlow Text, which every TensorFlow Serving image since 2.15 has\n" in report
    assert f"python -m serving --model_name=regress2 --model_base_path={base_path}\n" in report
    assert 'python -m serving.client --model_name=regress2 --text_a="a text" --text_b=' in report
    (program,) = re.findall("^In Python: (.*)$", report, re.MULTILINE)
    assert program.index("tensorflow_text") < program.index("saved_model")
    names = {}
    exec(program.replace("model([", "answer = model(["), names)
    assert names["answer"]["score"].shape == (1,)


def test_a_full_disk_leaves_nothing_of_the_version_and_says_what_to_do(
    cases, monkeypatch, tmp_path
):
    def fill(module, path, **_):
        os.makedirs(os.path.join(path, "variables"))
        raise tf.errors.ResourceExhaustedError(
            None, None, f"{path}/variables/part; No space left on device"
        )

    case = cases["classify", 1]
    monkeypatch.setattr(tf.saved_model, "save", fill)
    (tmp_path / "1").mkdir()
    with pytest.raises(DiskFullError) as caught:
        version.write(case.model, case.directory, str(tmp_path), 31, chunk_rows=5)
    assert os.listdir(tmp_path) == ["1"]
    message = str(caught.value)
    assert re.match(rf"The disk is full \({tmp_path}/2\)\. The [\d.]+ \wB that are free ", message)
    assert f"Nothing is left of {tmp_path}/2; earlier versions are as they were" in message
    assert "run the same command again." in message
