"""The files of a model directory, whichever exist."""

import dataclasses
import json

import pytest

from bert_tf.errors import InputError
from bert_tf.records import manifest
from bert_tf.training.report import run_files

BUILD = manifest.Build(
    files=[
        {"name": "a.tfrecord", "records": 1300, "bytes": 3, "sha256": "aa"},
        {"name": "b.tfrecord", "records": 17, "bytes": 3, "sha256": "bb"},
    ],
    num_files=2,
    vocabulary={"sha256": "0123456789abcdef0123", "size": 30522},
    do_lower_case=True,
    max_seq_length=128,
    max_predictions_per_seq=20,
    example_type="nsp",
    is_padded=True,
    options={"mask_granularity": "word", "dupe_factor": 5},
    inputs=[{"name": f"{i}.txt", "format": "text", "bytes": 1, "sha256": "c"} for i in range(6)],
    text={"num_documents": 23, "num_sentences": 290, "num_tokens": 31000},
    examples={"num_examples": 1317, "num_tokens": 140000, "num_predictions": 21000},
    shares={"predictions": 0.15, "padding": 0.169, "label_1": None},
    code_version="7.8.9",
)


def write_build(directory, build):
    directory.mkdir(exist_ok=True)
    for entry in build.files:
        (directory / entry["name"]).write_bytes(b"x" * entry["bytes"])
    content = {"format": manifest.FORMAT, "builds": [dataclasses.asdict(build)]}
    (directory / manifest.NAME).write_text(json.dumps(content))


def test_a_directory_of_no_run_is_refused(tmp_path):
    with pytest.raises(InputError, match="neither metrics.jsonl nor flags.txt"):
        run_files.read(tmp_path)


def test_a_run_that_has_only_begun(tmp_path):
    (tmp_path / "flags.txt").write_text(
        "--train_batch_size=7\n--init_checkpoint=\n--do_eval=true\n"
    )
    run = run_files.read(tmp_path)
    assert run.flags == {"train_batch_size": "7", "init_checkpoint": "", "do_eval": "true"}
    assert (run.config, run.metadata, run.results, run.records) == ({}, {}, {}, [])
    assert run.history.lines == []


def test_a_whole_run(tmp_path):
    (tmp_path / "flags.txt").write_text("--a=b=c\n")
    (tmp_path / "bert_config.json").write_text('{"hidden_size": 12}')
    (tmp_path / "model.json").write_text('{"kind": "pretrain"}')
    (tmp_path / "eval_results.txt").write_text("global_step = 9\nloss = 2.5\n")
    (tmp_path / "metrics.jsonl").write_text('{"step": 9, "time": 1.0, "loss": 2.0}\n')
    run = run_files.read(tmp_path)
    assert run.flags == {"a": "b=c"}
    assert (run.config, run.metadata) == ({"hidden_size": 12}, {"kind": "pretrain"})
    assert run.results == {"global_step": "9", "loss": "2.5"}
    assert run.history.series("loss") == ([9], [2.0])


def test_records_with_a_manifest(tmp_path):
    write_build(tmp_path / "data", BUILD)
    (tmp_path / "flags.txt").write_text(f"--input_file={tmp_path}/data/*.tfrecord\n")
    (found,) = run_files.read(tmp_path).records
    described = run_files.describe(found)
    wanted = {
        "Files": "a.tfrecord, b.tfrecord",
        "Records in them": "1,317",
        "Tokens of the build": "140,000",
        "Documents read": "23",
        "Tokens read": "31,000",
        "Share: padding": "16.9 %",
        "Vocabulary": "30,522 tokens, lower-cased, SHA-256 0123456789abcdef",
        "Made from": "0.txt, 1.txt, 2.txt, 3.txt and 2 more",
        "Made by": "bert_tf 7.8.9",
        "--mask_granularity": "word",
        "--dupe_factor": "5",
    }
    assert wanted.items() <= described.items()
    assert "Share: label 1" not in described


def test_one_build_in_two_directories_is_one(tmp_path):
    for name, entry in zip(("one", "two"), BUILD.files, strict=True):
        write_build(tmp_path / name, dataclasses.replace(BUILD, files=[entry]))
    patterns = f"{tmp_path}/one/*.tfrecord,{tmp_path}/two/*.tfrecord"
    (tmp_path / "flags.txt").write_text(f"--input_file={patterns}\n")
    (found,) = run_files.read(tmp_path).records
    assert run_files.describe(found)["Records in them"] == "1,317"


def test_records_without_a_manifest_and_records_that_are_gone(tmp_path):
    (tmp_path / "c.tfrecord").write_bytes(b"x")
    (tmp_path / "flags.txt").write_text(
        f"--input_file={tmp_path}/c.tfrecord\n--eval_input_file={tmp_path}/gone\n"
    )
    training, evaluation = run_files.read(tmp_path).records
    assert training.use == "Training"
    assert run_files.describe(training) == {"Files": "c.tfrecord", "Manifest": "none next to them"}
    assert evaluation.use == "Evaluation"
    assert run_files.describe(evaluation) == {
        "Not described": f"{tmp_path}/gone is no longer there."
    }


def test_records_that_changed_since_they_were_made(tmp_path):
    write_build(tmp_path / "data", BUILD)
    (tmp_path / "data" / "a.tfrecord").write_bytes(b"longer")
    (tmp_path / "flags.txt").write_text(f"--input_file={tmp_path}/data/*.tfrecord\n")
    (found,) = run_files.read(tmp_path).records
    assert "has 6 bytes" in run_files.describe(found)["Not described"]
