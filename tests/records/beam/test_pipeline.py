"""A build as a Beam pipeline makes what `build` makes."""

import dataclasses
import gzip
import json
import pathlib
import random

import pytest
import tensorflow as tf

from bert_tf.errors import InputError
from bert_tf.options import PretrainingData
from bert_tf.records.build import builder, recipe

pytest.importorskip(
    "apache_beam", reason="Apache Beam has an environment of its own: make test-beam"
)
beam_pipeline = pytest.importorskip("bert_tf.records.beam.pipeline")

ROOT = pathlib.Path(__file__).parents[3]
IN_ONE_PROCESS = ["--runner=FnApiRunner"]
WORDS = [f"w{number}" for number in range(53)]
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "##s", "."]
UNIT_BYTES, POOL_TOKENS = 1009, 701


def sentence(rng):
    words = (rng.choice(WORDS) + rng.choice(["", "", "s"]) for _ in range(rng.randint(2, 13)))
    return " ".join(words) + "."


def documents(seed, count):
    rng = random.Random(seed)
    return [[sentence(rng) for _ in range(rng.randint(1, 11))] for _ in range(count)]


def lines(found):
    return "\n\n".join("\n".join(each) for each in found) + "\n"


@pytest.fixture
def options(tmp_path):
    """Three files of three kinds, several units and pools, several buckets a shard."""
    folder = tmp_path / "text"
    folder.mkdir()
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (folder / "one.txt").write_text(lines(documents(1, 29)))
    (folder / "two.txt.gz").write_bytes(gzip.compress(lines(documents(2, 31)).encode()))
    records = [json.dumps({"text": each}) for each in documents(3, 11)]
    (folder / "three.jsonl").write_text("\n".join(records) + "\n")
    return PretrainingData(
        input_file=str(folder),
        output_file=str(tmp_path / "expected" / "records@3"),
        vocab_file=str(tmp_path / "vocab.txt"),
        max_seq_length=37,
        dupe_factor=3,
        num_workers=1,
    )


@pytest.fixture
def small_parts(monkeypatch):
    """Makes `build` cut small too; returns the pools of every plan that is made."""
    monkeypatch.setattr(builder, "UNIT_BYTES", UNIT_BYTES)
    monkeypatch.setattr(builder, "POOL_TOKENS", POOL_TOKENS)
    monkeypatch.setattr(recipe, "_BUCKET_BYTES", 2**14)
    made, assign_pools = [], recipe.assign_pools

    def kept(*arguments):
        made.append(assign_pools(*arguments))
        return made[-1]

    monkeypatch.setattr(recipe, "assign_pools", kept)
    return made


def run_both(options, tmp_path, arguments, **sizes):
    """The folders that `build` and the pipeline wrote, and the counts of both."""
    expected = builder.run(options)
    (name,) = {pathlib.Path(options.output_file).name}
    other = dataclasses.replace(options, output_file=str(tmp_path / "found" / name))
    found = beam_pipeline.run(other, arguments, **sizes)
    return tmp_path / "expected", tmp_path / "found", expected, found


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def examples(folder):
    """All serialized examples, sorted."""
    paths = [str(path) for path in folder.glob("records*")]
    return sorted(record.numpy() for record in tf.data.TFRecordDataset(paths))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"example_type": "sop"},
        {"example_type": "full_sentences"},
        {"example_type": "doc_sentences", "mask_granularity": "ngram"},
        {"example_type": "packed"},
        {"mask_granularity": "word", "pad_to_max_seq_length": False},
        {"segmented_text": True, "do_whole_word_mask": True},
        {"mask_granularity": "span", "random_seed": 7},
        {"mask": False},
        {"mask": False, "example_type": "packed", "dupe_factor": 1, "max_seq_length": 17},
    ],
    ids=str,
)
def test_the_same_examples_files_and_manifest(options, tmp_path, small_parts, changes):
    options = dataclasses.replace(options, **changes)
    expected, found, expected_counts, counts = run_both(
        options, tmp_path, IN_ONE_PROCESS, unit_bytes=UNIT_BYTES, pool_tokens=POOL_TOKENS
    )
    assert small_parts[0] == small_parts[1]
    assert len(small_parts[0]) >= 5 and max(map(len, small_parts[0])) > 1
    assert len({number for pool in small_parts[0] for number, _ in pool}) == 3
    assert examples(found) == examples(expected)
    assert len(examples(found)) == counts[1].num_examples > 100
    assert counts == expected_counts
    assert contents(found) == contents(expected)
    assert sorted(contents(found)) == [
        "manifest.json",
        *(f"records-0000{i}-of-00003" for i in "012"),
    ]


def test_the_same_from_two_processes(options, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    arguments = [*IN_ONE_PROCESS, "--direct_num_workers=2"]
    arguments.append("--direct_running_mode=multi_processing")
    expected, found, expected_counts, counts = run_both(options, tmp_path, arguments)
    assert examples(found) == examples(expected)
    assert contents(found) == contents(expected)
    assert counts == expected_counts


def test_replaces_files_and_keeps_other_builds(options, tmp_path):
    folder = tmp_path / "found"
    for name in ("a", "b", "a"):
        changed = dataclasses.replace(options, output_file=f"{folder}/{name}", dupe_factor=1)
        beam_pipeline.run(changed, IN_ONE_PROCESS)
    assert sorted(contents(folder)) == ["a", "b", "manifest.json"]
    entries = json.loads((folder / "manifest.json").read_text())["builds"]
    assert [entry["files"][0]["name"] for entry in entries] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        (b"w1 w2.\nw3.\n", {}, r"^The input has 1 document\(s\)"),
        ("Bücher\n".encode("latin-1") * 40, {}, "is not UTF-8"),
        (gzip.compress(random.Random(1).randbytes(999), mtime=0)[:500], {}, "cut short"),
        (b"w1.\nw2.\n\nw3.\nw4.\n", {"output_file": "{dir}/x@77"}, "fewer than the 77 files"),
        (b"w1.\nw2.\n\nw3.\nw4.\n", {"scratch_dir": "hdfs://x/y"}, "same file system|cannot use"),
        (b"w1.\nw2.\n\nw3.\nw4.\n", {"output_file": "{dir}/text.txt"}, "names the input"),
    ],
)
def test_wrong_input_is_an_input_error_and_leaves_nothing(
    options, tmp_path, text, changes, message
):
    path = tmp_path / "text.txt"
    path.write_bytes(text)
    changes = {name: value.format(dir=tmp_path) for name, value in changes.items()}
    options = dataclasses.replace(options, input_file=str(path), output_file=f"{tmp_path}/out/x")
    with pytest.raises(InputError, match=message):
        beam_pipeline.run(dataclasses.replace(options, **changes), IN_ONE_PROCESS)
    assert sorted(each.name for each in tmp_path.iterdir() if each.is_file()) == [
        "text.txt",
        "vocab.txt",
    ]
    assert list(tmp_path.glob("**/*unfinished*")) == []


def test_beam_flags():
    found = beam_pipeline.pipeline_options(["--runner", "X", "--", "--of_the_cluster=3"], 5)
    assert found.get_all_options(retain_unknown_options=True)["num_workers"] == 5
    assert found.get_all_options()["runner"] == "X"
    assert found._flags[-1] == "--of_the_cluster=3"
    with pytest.raises(InputError, match="has the flag --dupe_facter=3"):
        beam_pipeline.pipeline_options(["--runner=X", "--dupe_facter=3"])
