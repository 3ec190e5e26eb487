"""manifest.json: what it says, for which files, and what it refuses."""

import dataclasses
import hashlib
import json
import os

import pytest

from bert_tf import __version__
from bert_tf.errors import InputError
from bert_tf.options import PretrainingData
from bert_tf.records import manifest
from bert_tf.records.build.summary import ExampleCounts, TextCounts
from bert_tf.text.vocab import Vocabulary

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = Vocabulary([*SPECIAL, "a", "b"])
# 3 rows of 50 positions hold 110 tokens, 10 of them special; of 20 predictions 15 are masked, 3
# kept and so 2 random; of 3 pairs 1 is random.
EXAMPLES = ExampleCounts(
    num_examples=3,
    num_pairs=3,
    num_label_1=1,
    num_tokens=110,
    num_special=10,
    num_positions=150,
    num_predictions=20,
    num_masked=15,
    num_kept=3,
)
INPUTS = [{"path": "somewhere/a.txt", "format": "text", "bytes": 17, "sha256": "abc"}]


def options(**changes):
    values = {"input_file": "a", "output_file": "o", "vocab_file": "v", "max_seq_length": 50}
    return PretrainingData(**values | changes)


def build(paths, vocabulary=VOCABULARY, content=b"records", examples=EXAMPLES, **changes):
    """Files and their manifest, as a build leaves them."""
    sha256 = hashlib.sha256(content).hexdigest()
    for path in paths:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(content)
    written = [{"records": 1, "bytes": len(content), "sha256": sha256} for _ in paths]
    text = TextCounts(num_documents=7)
    manifest.add(paths, written, options(**changes), vocabulary, INPUTS, text, examples)


def check(paths, **changes):
    values = {"vocabulary": VOCABULARY, "do_lower_case": True, "max_seq_length": 50}
    return manifest.check(paths, **values | changes)


UNMASKED = dataclasses.replace(EXAMPLES, num_predictions=0, num_masked=0, num_kept=0)


@pytest.fixture
def paths(tmp_path):
    return [str(tmp_path / name) for name in ("train-0", "train-1", "dev-0")]


def test_what_it_says(paths, tmp_path):
    build(paths[:2], do_whole_word_mask=True, num_workers=3, scratch_dir=str(tmp_path))
    content = json.loads((tmp_path / "manifest.json").read_text())
    assert content["format"] == 2
    (found,) = content["builds"]
    sha256 = hashlib.sha256(b"records").hexdigest()
    entry = {"records": 1, "bytes": 7, "sha256": sha256}
    assert found["files"] == [{"name": name} | entry for name in ("train-0", "train-1")]
    assert found["vocabulary"] == {"sha256": VOCABULARY.sha256, "size": 7}
    assert found["inputs"] == [{"name": "a.txt", "format": "text", "bytes": 17, "sha256": "abc"}]
    assert (found["text"]["num_documents"], found["examples"]["num_tokens"]) == (7, 110)
    assert found["shares"] == {
        "predictions": 0.2,
        "masked": 0.75,
        "random": 0.1,
        "kept": 0.15,
        "label_1": 0.333333,
        "padding": 0.266667,
    }
    assert (found["do_lower_case"], found["max_seq_length"]) == (True, 50)
    assert (found["example_type"], found["is_padded"]) == ("nsp", True)
    assert found["code_version"] == __version__
    recorded = found["options"]
    # Words as units, so 15 % of 50 and room for longer words.
    assert recorded["mask_granularity"] == "word"
    assert recorded["max_predictions_per_seq"] == found["max_predictions_per_seq"] >= 8
    assert recorded["masked_lm_prob"] == 0.15
    assert str(tmp_path) not in json.dumps(content)
    assert "num_workers" not in recorded


@pytest.mark.parametrize(("old", "new"), [("piece", "token"), ("word", "word")])
def test_a_manifest_of_version_0_1_0_is_read(paths, tmp_path, old, new):
    build(paths[:1], mask_granularity=new)
    wanted = manifest.read(tmp_path)
    content = json.loads((tmp_path / "manifest.json").read_text()) | {"format": 1}
    (entry,) = content["builds"]
    entry["objective"] = entry.pop("example_type")
    made = entry["options"]
    made["objective"] = made.pop("example_type")
    del made["mask_granularity"]
    made["masking"] = old
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    assert manifest.read(tmp_path) == wanted
    build(paths[1:2])  # enters another build, and writes both in the new format
    content = json.loads((tmp_path / "manifest.json").read_text())
    assert content["format"] == 2
    assert [made["options"]["mask_granularity"] for made in content["builds"]] == [new, "token"]


def test_packed_rows_are_not_padded_and_have_no_pairs(paths):
    single = dataclasses.replace(EXAMPLES, num_pairs=0, num_label_1=0)
    build(paths, example_type="packed", examples=single)
    assert manifest.find(paths[0]).shares["label_1"] is None
    assert not manifest.find(paths[0]).is_padded
    assert manifest.unpadded([*paths, "elsewhere"]) == set(paths)


def test_records_without_masks(paths, tmp_path):
    """P is what masks that are drawn later need; it is not compared with the records'."""
    build(paths, mask=False, examples=UNMASKED)
    (found,) = json.loads((tmp_path / "manifest.json").read_text())["builds"]
    assert (found["is_masked"], found["options"]["mask"]) == (False, False)
    assert found["max_predictions_per_seq"] == 8
    assert found["shares"]["predictions"] == 0
    assert [found["shares"][kind] for kind in ("masked", "random", "kept")] == [None] * 3
    (same,) = {each.is_masked for each in check(paths, max_predictions_per_seq=20)}
    assert not same


def test_a_manifest_that_does_not_say_means_masks(paths, tmp_path):
    build(paths)
    content = json.loads((tmp_path / "manifest.json").read_text())
    assert content["builds"][0].pop("is_masked")
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    assert manifest.find(paths[0]).is_masked


def test_equal_builds_give_equal_bytes(tmp_path):
    for folder, workers in (("one", 1), ("two", 2)):
        build([str(tmp_path / folder / "a")], num_workers=workers, output_file=folder)
    one, two = (tmp_path / folder / "manifest.json" for folder in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_builds_of_one_directory_stand_beside_each_other(paths):
    build(paths[:2])
    build(paths[2:], max_seq_length=70)
    lengths = [found.max_seq_length for found in manifest.find_all([*paths, paths[0] + "x"])[:3]]
    assert lengths == [50, 50, 70]
    assert manifest.find(paths[0] + "x") is None


def test_the_order_of_the_builds_does_not_matter(paths, tmp_path):
    found = []
    for order in (1, -1):
        for part in (paths[:2], paths[2:])[::order]:
            build(part, max_seq_length=50 + len(part))
        found.append((tmp_path / "manifest.json").read_bytes())
        os.remove(tmp_path / "manifest.json")
    assert found[0] == found[1]


def test_a_build_takes_the_place_of_the_files_it_overwrites(paths, tmp_path):
    build(paths[:2], max_seq_length=50)
    build(paths[1:], max_seq_length=70)
    first, second, third = manifest.find_all(paths)
    assert (first.max_seq_length, len(first.files), first.num_files) == (50, 1, 2)
    assert second == third
    build(paths[:1], max_seq_length=70)
    assert len(manifest.read(tmp_path)) == 2


def test_files_of_one_build_in_two_directories(tmp_path):
    paths = [str(tmp_path / "one" / "a"), str(tmp_path / "two" / "a")]
    build(paths)
    for path in paths:
        found = manifest.find(path)
        assert (len(found.files), found.num_files) == (1, 2)


def test_accepts_what_fits_and_what_nobody_described(paths, tmp_path):
    foreign = tmp_path / "foreign"
    foreign.write_bytes(b"other")
    build(paths)
    builds = check([*paths, str(foreign)], max_predictions_per_seq=8, example_types=("nsp", "sop"))
    assert [found and found.example_type for found in builds] == ["nsp", "nsp", "nsp", None]


@pytest.mark.parametrize(
    ("made", "wanted", "message"),
    [
        (
            {"vocabulary": Vocabulary([*SPECIAL, "a"])},
            {},
            "another vocabulary.*6 tokens.*given has 7",
        ),
        ({}, {"do_lower_case": False}, "--do_lower_case=true.*is false"),
        ({}, {"max_seq_length": 64}, "--max_seq_length=50.*64 was wanted. Give"),
        ({}, {"max_predictions_per_seq": 20}, "--max_predictions_per_seq=8.*20 was wanted"),
        (
            {"example_type": "packed"},
            {"example_types": ("nsp", "sop")},
            "packed.*nsp or sop was wanted",
        ),
    ],
)
def test_refuses_what_does_not_fit(paths, made, wanted, message):
    build(paths, **made)
    with pytest.raises(InputError, match=message) as error:
        check(paths, **wanted)
    assert paths[0] in str(error.value)


@pytest.mark.parametrize(
    "change",
    [{"example_type": "sop"}, {"max_predictions_per_seq": 11}],
    ids=["example_type", "slots"],
)
def test_refuses_a_mixture(paths, change):
    build(paths[:2])
    build(paths[2:], **change)
    with pytest.raises(InputError, match="Files used together must be alike") as error:
        check(paths)
    assert paths[0] in str(error.value)
    assert paths[2] in str(error.value)


def test_refuses_a_file_of_another_size(paths):
    build(paths)
    with open(paths[1], "ab") as file:
        file.write(b"more")
    with pytest.raises(InputError, match="train-1 has 11 bytes.* says 7"):
        check(paths)
    check(paths[:1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "format None"),
        ('{"format": 3}', "format 3; this version reads 2 and 1"),
        ('{"format": 1}', "does not hold what it should"),
        ('{"format": 1, "builds": [{"files": []}]}', "does not hold what it should"),
    ],
)
def test_refuses_a_damaged_manifest(paths, tmp_path, text, message):
    build(paths)
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InputError, match=message):
        check(paths)
