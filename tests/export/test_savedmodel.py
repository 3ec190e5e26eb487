"""The export from its flags, and the commands of docs/serving.md as a user types them."""

import dataclasses
import json
import os
import pathlib
import re
import shlex
import signal
import socket
import subprocess
import sys

import numpy as np
import pytest
import requests
import tensorflow as tf

from bert_tf import checkpoints
from bert_tf.checkpoints import ensembles
from bert_tf.checkpoints.model_directory import create, new_model
from bert_tf.errors import DiskFullError, InputError
from export import options, savedmodel
from export.kinds import table
from export.kinds.module import Served
from export.version import report, write

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "serving.md"
QUESTION = "Which rocket carried the astronauts to the Moon?"


def blocks(language):
    """The code blocks of the page in a language, in order."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def commands(port):
    """The shell commands of the page as lists of arguments, for a server on `port`."""
    lines = "".join(blocks("sh")).replace("\\\n", " ").replace("8501", str(port)).splitlines()
    return [shlex.split(line) for line in lines]


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Arguments for subprocess: an empty working directory, `python` runs this project."""
    monkeypatch.chdir(tmp_path)
    path = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}
    return {"env": environment | {"CUDA_VISIBLE_DEVICES": "-1"}, "text": True}


def run_export(command):
    """Runs a command of the page that exports, in this process."""
    python, module, name, *flags = command
    assert (python, module, name) == ("python", "-m", "export.savedmodel")
    pairs = (flag.removeprefix("--").partition("=") for flag in flags)
    savedmodel.run(options.Export(**{name: value or True for name, _, value in pairs}))


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_the_commands_of_the_page_run_in_their_order(cases, shell, capsys):
    case = cases["classify", 1]
    checkpoints.save(case.model, case.directory.weights("best"))
    os.mkdir("out")
    os.symlink(case.directory.path, "out/topics")
    batch = table.make(case.served).ids_of([(QUESTION,)])
    logits = np.asarray(case.model(batch, training=False)["logits"])[0]
    label = case.directory.metadata.labels[logits.argmax()]

    export, run_cli, serve, client, curl, _, vectors = commands(port := free_port())
    printed = subprocess.run(export, **shell, stdout=subprocess.PIPE, check=True).stdout
    assert printed.startswith("Exporting out/topics/last into out/models/topics ...\n")
    assert "Serve it:  python -m serving --model_name=topics --model_base_path=out/mod" in printed
    assert os.listdir("out/models/topics") == ["1"]

    program, _ = blocks("python")
    exec(program, {})
    assert capsys.readouterr().out.startswith(f"{label} {{'zero': ")
    printed = subprocess.run(run_cli, **shell, stdout=subprocess.PIPE, check=True).stdout
    assert f"Result for output key label:\n[b'{label}']" in printed

    serve = [*serve, "--port=0"]  # tests that run at the same time may not share a port
    server = subprocess.Popen(serve, **shell, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        lines = [next(server.stdout) for _ in range(6)]
        assert lines[0] == "Loading topics, version 1, from out/models/topics/1 ...\n"
        assert lines[1].startswith("topics, version 1: 6 warm-up requests in ")
        assert lines[3].startswith("Ready: ")
        ask = f"python -m serving.client --url=localhost:{port} --model_name=topics"
        assert lines[5] == f'Ask it: {ask} "a text"\n'
        answer = requests.post(curl[1], data=curl[-1], timeout=60).json()
        assert_answer(answer, logits, case.directory.metadata.labels)
        printed = subprocess.run(client, **shell, stdout=subprocess.PIPE, check=True).stdout
        assert re.fullmatch(
            rf"{label}: 0\.\d{{3}}, .+: .+, .+: .+\t{re.escape(QUESTION)}\n", printed
        )
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 0
    finally:
        server.kill()
        server.communicate()
    run_export(vectors)
    embed = tf.saved_model.load("out/models/vectors/1").signatures["embed"]
    (vector,) = embed(text=tf.constant([QUESTION]))["embedding"].numpy()
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_the_commands_for_question_answering(question_case, shell, capsys):
    checkpoints.save(question_case.model, question_case.directory.weights("best"))
    os.mkdir("out")
    os.symlink(question_case.directory.path, "out/squad")
    *_, export, _ = commands(port=8501)
    run_export(export)
    assert os.listdir("out/models/squad") == ["1"]
    capsys.readouterr()
    _, program = blocks("python")
    names = {}
    exec(program, names)
    text = names["answer"]["answer"].numpy().decode()
    assert capsys.readouterr().out == f"{text} {text}\n"


def assert_answer(answer, logits, labels):
    """The answer over HTTP is that of the Python path, and the page shows the same fields."""
    (shown,) = json.loads(blocks("json")[0])["predictions"]
    (row,) = answer["predictions"]
    assert row.keys() == shown.keys()
    np.testing.assert_allclose(row["logits"], logits, atol=1e-5)
    assert row["labels"] == list(labels)
    assert row["label"] == row["labels"][np.argmax(row["probabilities"])]


def test_an_ensemble_is_exported_like_one_model(model_directory, tmp_path):
    members = [model_directory("classify", 1) for _ in range(2)]
    models = [new_model(each.config, each.metadata) for each in members]
    for member, model in zip(members, models, strict=True):
        checkpoints.save(model, member.weights("best"))
    first = members[0]
    metadata = dataclasses.replace(first.metadata, settings=ensembles.settings(members))
    path = str(tmp_path / "ensemble")
    ensembles.write(create(path, first.config, first.vocab_file, metadata), members)
    savedmodel.run(options.Export(model_dir=path, export_dir=str(tmp_path / "models")))

    texts = ["the quick fox", "a"]
    answer = tf.saved_model.load(str(tmp_path / "models" / "1"))(texts)
    batch = table.make(Served(model=models[0], directory=first, max_seq_length=31)).ids_of(
        [(text,) for text in texts]
    )
    logits = np.stack([np.asarray(model(batch)["logits"], np.float64) for model in models])
    shares = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    assert np.abs(shares[0] - shares[1]).max() > 0.01
    np.testing.assert_allclose(answer["probabilities"], shares.mean(axis=0), atol=1e-6)


def test_the_length_is_checked_against_the_position_table(model_directory):
    directory = model_directory("classify", 2)
    assert savedmodel.check(directory) == 31
    assert savedmodel.check(directory, 53) == 53
    with pytest.raises(InputError, match="max_seq_length=59 is beyond the model's position table"):
        savedmodel.check(directory, 59)
    with pytest.raises(InputError, match="at least 5"):
        savedmodel.check(directory, 4)


def test_a_vocabulary_of_another_model_is_refused(model_directory):
    directory = model_directory("classify", 1)
    config = dataclasses.replace(directory.config, vocab_size=7)
    with pytest.raises(InputError, match="tokens, the config vocab_size=7: ids 7 to .* would have"):
        savedmodel.check(dataclasses.replace(directory, config=config))


def test_a_version_is_no_base_path(cases, model_directory, tmp_path):
    with pytest.raises(InputError, match="is a SavedModel, so it is a version. Give the directory"):
        savedmodel.check_export_dir(cases["classify", 1].exported.path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file is not a directory; give another one"):
        savedmodel.check_export_dir(str(tmp_path / "file"))
    flags = options.Export(
        model_dir=model_directory("classify", 1).path, export_dir=str(tmp_path / "models")
    )
    with pytest.raises(InputError, match="has no weights: neither best/ nor last/ is there"):
        savedmodel.run(flags)


def test_no_model_directory_is_said(tmp_path):
    flags = options.Export(model_dir=str(tmp_path), export_dir=str(tmp_path / "m"))
    with pytest.raises(InputError, match="is not a model directory"):
        savedmodel.run(flags)
    with pytest.raises(InputError, match="signatures=ids,tags: tags is unknown; known: serving_d"):
        dataclasses.replace(flags, signatures="ids,tags")
    with pytest.raises(InputError, match="chunk_rows=0"):
        dataclasses.replace(flags, chunk_rows=0)


def test_the_report_says_how_to_load_serve_and_ask(cases, capsys):
    case = cases["regress", 2]
    report.print_report(case.exported, case.directory.metadata, 3.21)
    printed = capsys.readouterr().out
    base_path = os.path.dirname(case.exported.path)
    assert re.match(rf"Exported {base_path}/1: [\d.]+ [kM]B in 3\.21 s\.\n", printed)
    signature = "serving_default: text_a string [B], text_b string [B] -> logits float32 [B 1]"
    assert signature in printed
    assert "ids: input_mask int32 [B T], input_type_ids int32 [B T], input_word_ids" in printed
    assert "\n  smallest TensorFlow Serving image: 2.12; of TensorFlow Text it needs " in printed
    assert f"python -m serving --model_name=regress2 --model_base_path={base_path}\n" in printed
    assert 'python -m serving.client --model_name=regress2 --text_a="a text" --text_b=' in printed
    (program,) = re.findall("^In Python: (.*)$", printed, re.MULTILINE)
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
        write.write(case.served, str(tmp_path))
    assert os.listdir(tmp_path) == ["1"]
    message = str(caught.value)
    assert re.match(rf"The disk is full \({tmp_path}/2\)\. The [\d.]+ \wB that are free ", message)
    assert f"Nothing is left of {tmp_path}/2; earlier versions are as they were" in message
    assert "run the same command again." in message
