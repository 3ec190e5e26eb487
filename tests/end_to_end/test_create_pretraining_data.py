"""The script as users call it: the released flags, and answers before TensorFlow loads."""

import dataclasses
import os
import pathlib
import random
import subprocess
import sys
import time

import pytest

from bert_tf import options
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED
from bert_tf.records import check, manifest
from bert_tf.records.build import builder

ROOT = pathlib.Path(__file__).parents[2]


def start(*arguments, variables=(), **options):
    return subprocess.Popen(
        [sys.executable, "create_pretraining_data.py", *arguments],
        cwd=ROOT,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"} | dict(variables),
        text=True,
        **({"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL} | options),
    )


def run(*arguments, **options):
    process = start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)
    out, error = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, out, error)


def test_flags_and_defaults_are_the_released_ones():
    """But for the predictions of an example, which follow from the other flags: 20 by default."""
    found = {field.name: field.default for field in dataclasses.fields(options.PretrainingData)}
    released = {
        "input_file": REQUIRED,
        "output_file": REQUIRED,
        "vocab_file": REQUIRED,
        "do_lower_case": True,
        "do_whole_word_mask": False,
        "max_seq_length": 128,
        "max_predictions_per_seq": None,
        "random_seed": 12345,
        "dupe_factor": 10,
        "masked_lm_prob": 0.15,
        "short_seq_prob": 0.1,
    }
    assert found.items() >= released.items()
    new = {field.name: field for field in dataclasses.fields(options.PretrainingData)}
    assert all("(new)" in new[name].metadata["help"] for name in found.keys() - released.keys())


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({}, 20),
        ({"max_seq_length": 512}, 77),  # the README of the release: 20 for 128, 77 for 512
        ({"max_seq_length": 512, "max_predictions_per_seq": 20}, 20),
        ({"masked_lm_prob": 0.4}, 52),
        ({"do_whole_word_mask": True}, 23),
        ({"mask": False}, 20),  # which is what the trainer is told
    ],
)
def test_predictions_follow_from_the_probability(change, wanted):
    made = options.PretrainingData(input_file="i", output_file="o", vocab_file="v", **change)
    assert made.num_predictions == wanted
    assert made.num_slots == (wanted if made.mask else 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_seq_length": 4}, "--max_seq_length=4 must be at least 5"),
        ({"max_predictions_per_seq": 0}, "--max_predictions_per_seq=0"),
        ({"dupe_factor": 0}, "--dupe_factor=0"),
        ({"masked_lm_prob": 0.0}, "--masked_lm_prob=0.0"),
        ({"masked_lm_prob": 15.0}, "--masked_lm_prob=15.0"),
        ({"short_seq_prob": -0.1}, "--short_seq_prob=-0.1"),
        ({"mask_prob": 1.1}, "--mask_prob=1.1 must be in"),
        ({"mask_prob": 0.8, "random_prob": 0.3}, "add up to more than 1"),
        ({"num_workers": 0}, "--num_workers=0"),
        ({"mask_granularity": "span", "do_whole_word_mask": True}, "exclude each other"),
        ({"segmented_text": True}, "needs --mask_granularity=word"),
        (
            {"mask": False, "mask_granularity": "ngram"},
            "--mask_granularity=ngram means nothing with --mask=false",
        ),
        (
            {"mask": False, "mask_granularity": "span"},
            "--mask_granularity=span means nothing .* --mask=true",
        ),
        ({"mask": False, "max_ngram": 2}, "--max_ngram=2 means nothing with --mask=false"),
        (
            {"mask": False, "mask_granularity": "word", "segmented_text": True},
            "--segmented_text=true means nothing",
        ),
        ({"mask": False, "example_type": "packed"}, "--dupe_factor=10 .* Give --dupe_factor=1"),
        (
            {"mask": False, "example_type": "doc_sentences", "dupe_factor": 2},
            "--dupe_factor=2 would",
        ),
    ],
)
def test_refuses_wrong_values(change, message):
    with pytest.raises(InputError, match=message):
        options.PretrainingData(input_file="i", output_file="o", vocab_file="v", **change)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--masking=piece", "--masking is now --mask_granularity; its value piece is now token."),
        ("--objective=sop", "--objective is now --example_type."),
    ],
)
def test_flags_of_version_0_1_0_are_refused_with_the_new_name(flag, message):
    result = run("--input_file=a", "--output_file=b", "--vocab_file=c", flag)
    assert (result.returncode, result.stderr) == (2, f"ERROR: {message}\n")


def test_from_little_text_to_records_without_tensorflow(tmp_path):
    (tmp_path / "before" / "tensorflow").mkdir(parents=True)
    (tmp_path / "before" / "tensorflow" / "__init__.py").write_text("raise SystemExit('loaded')")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\nc\n")
    (tmp_path / "text.txt").write_text("a b.\nb c.\nc a b.\n\nc c.\na c.\nb a.\n")
    result = run(
        f"--input_file={tmp_path}/*.txt",
        f"--output_file={tmp_path}/a.tfrecord,{tmp_path}/b.tfrecord",
        f"--vocab_file={tmp_path}/vocab.txt",
        "--max_seq_length=11",
        "--dupe_factor=5",
        "--num_workers=2",
        variables={"PYTHONPATH": str(tmp_path / "before")},
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("Example:") == 2
    sizes = [check.num_records(str(tmp_path / f"{name}.tfrecord")) for name in "ab"]
    assert f"Wrote {sum(sizes)} examples" in result.stdout


def lists(path):
    """Of each record a dict from the name of a feature to its numbers."""
    for example in check.first_examples(path, check.num_records(path)):
        found = example.features.feature.items()
        yield {name: list(getattr(value, value.WhichOneof("kind")).value) for name, value in found}


def unmasked(record):
    """A record without masks, of one with masks."""
    slots = [record.pop(f"masked_lm_{name}") for name in ("positions", "ids", "weights")]
    for place, label, weight in zip(*slots, strict=True):
        if weight:
            record["input_ids"][place] = label
    return record


@pytest.mark.parametrize("pad", ["true", "false"])
def test_without_masks_the_examples_are_the_same(tmp_path, capsys, pad):
    """As they were before masking, in their order."""
    words = [f"w{number}" for number in range(53)]
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]) + "\n"
    )
    rng = random.Random(1)
    sentences = [" ".join(rng.choices(words, k=rng.randint(3, 11))) for _ in range(60)]
    text = "\n\n".join("\n".join(sentences[start : start + 6]) for start in range(0, 60, 6))
    (tmp_path / "text.txt").write_text(text + "\n")
    flags = {
        "input_file": str(tmp_path / "text.txt"),
        "vocab_file": str(tmp_path / "vocab.txt"),
        "max_seq_length": 23,
        "num_workers": 1,
        "pad_to_max_seq_length": pad == "true",
    }
    for name, mask in (("masked", True), ("plain", False)):
        builder.run(options.PretrainingData(output_file=str(tmp_path / name), mask=mask, **flags))
    assert "--dynamic_masking draws them, at most 4 in an example" in capsys.readouterr().out
    plain = list(lists(str(tmp_path / "plain")))
    assert plain == [unmasked(record) for record in lists(str(tmp_path / "masked"))]
    # Ten passes over little text: most of their pairs differ.
    assert len({str(record) for record in plain}) > 0.7 * len(plain) > 70
    entry = manifest.find(str(tmp_path / "plain"))
    assert (entry.is_masked, entry.max_predictions_per_seq) == (False, 4)


def test_wrong_input_is_one_message():
    result = run("--input_file=none.txt", "--output_file=o", "--vocab_file=v")
    assert result.returncode == 2
    assert "ERROR: --input_file: 'none.txt' matches no file" in result.stderr
    assert "Traceback" not in result.stderr


def test_killed_and_started_again_it_makes_the_same_bytes(tmp_path):
    """Killed in the middle of the second and of the third stage, by the look of the disk."""
    rng = random.Random(5)
    words = [f"w{number}" for number in range(97)]
    (tmp_path / "vocab.txt").write_text(
        "\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words])
    )
    text = "\n\n".join(
        "\n".join(" ".join(rng.choices(words, k=rng.randint(3, 23))) for _ in range(31))
        for _ in range(1009)
    )
    (tmp_path / "text.txt").write_text(text)
    flags = [f"--input_file={tmp_path}/text.txt", f"--vocab_file={tmp_path}/vocab.txt"]
    flags += ["--num_workers=2", "--dupe_factor=3"]
    done = run(*flags, f"--output_file={tmp_path}/whole/a@3")
    assert done.returncode == 0, done.stderr
    scratch = tmp_path / "killed" / ".a-00000-of-00003.unfinished"
    for folder in ("rows", "buckets"):
        process = start(*flags, f"--output_file={tmp_path}/killed/a@3")
        while process.poll() is None and not list(scratch.glob(f"{folder}/*")):
            time.sleep(0.01)
        process.kill()
        process.wait()
        assert scratch.is_dir()
    done = run(*flags, f"--output_file={tmp_path}/killed/a@3")
    assert done.returncode == 0, done.stderr
    names = sorted(os.listdir(tmp_path / "whole"))
    assert sorted(os.listdir(tmp_path / "killed")) == names
    assert len(names) == 4
    for name in names:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
