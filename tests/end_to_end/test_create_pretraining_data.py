"""The script as users call it: the released flags, and answers before TensorFlow loads."""

import dataclasses
import os
import pathlib
import subprocess
import sys

import pytest

from bert_tf import options
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED
from bert_tf.records import check

ROOT = pathlib.Path(__file__).parents[2]


def run(*arguments):
    return subprocess.run(
        [sys.executable, "create_pretraining_data.py", *arguments],
        cwd=ROOT,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
    )


def test_flags_and_defaults_are_the_released_ones():
    found = {field.name: field.default for field in dataclasses.fields(options.PretrainingData)}
    assert found == {
        "input_file": REQUIRED,
        "output_file": REQUIRED,
        "vocab_file": REQUIRED,
        "do_lower_case": True,
        "do_whole_word_mask": False,
        "max_seq_length": 128,
        "max_predictions_per_seq": 20,
        "random_seed": 12345,
        "dupe_factor": 10,
        "masked_lm_prob": 0.15,
        "short_seq_prob": 0.1,
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_seq_length": 4}, "--max_seq_length=4 must be at least 5"),
        ({"max_predictions_per_seq": 0}, "--max_predictions_per_seq=0"),
        ({"dupe_factor": 0}, "--dupe_factor=0"),
        ({"masked_lm_prob": 0.0}, "--masked_lm_prob=0.0"),
        ({"masked_lm_prob": 15.0}, "--masked_lm_prob=15.0"),
        ({"short_seq_prob": -0.1}, "--short_seq_prob=-0.1"),
    ],
)
def test_refuses_wrong_values(change, message):
    with pytest.raises(InputError, match=message):
        options.PretrainingData(input_file="i", output_file="o", vocab_file="v", **change)


def test_from_text_to_records(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n")
    (tmp_path / "text.txt").write_text("a b.\nb c.\nc a b.\n\nc c.\na c.\nb a.\n")
    result = run(
        f"--input_file={tmp_path}/*.txt",
        f"--output_file={tmp_path}/a.tfrecord,{tmp_path}/b.tfrecord",
        f"--vocab_file={tmp_path}/vocab.txt",
        "--max_seq_length=11",
        "--dupe_factor=5",
    )
    assert result.returncode == 0, result.stderr
    assert "Example:" in result.stdout
    sizes = [check.num_records(str(tmp_path / f"{name}.tfrecord")) for name in "ab"]
    assert f"Wrote {sum(sizes)} examples" in result.stdout


def test_wrong_input_is_one_message():
    result = run("--input_file=none.txt", "--output_file=o", "--vocab_file=v")
    assert result.returncode == 2
    assert "ERROR: --input_file: 'none.txt' matches no file" in result.stderr
    assert "Traceback" not in result.stderr
