"""The tool shows examples as text, and statistics beside the manifest's figures."""

import json
import os

import pytest

from bert_tf import features
from bert_tf.errors import InputError
from bert_tf.options import InspectRecords, PretrainingData
from bert_tf.records import manifest
from bert_tf.records.build.summary import ExampleCounts, TextCounts
from bert_tf.records.inspect import show, statistics
from bert_tf.text import vocab
from tests.reference import records

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "un", "##aff", "##able", "the", "cat"]
TOKENS += ["sat", "mat", "##"]
VOCABULARY = vocab.Vocabulary(TOKENS)
SIZES = {"T": 13, "P": 4}


def ids(text):
    return [VOCABULARY.ids[token] for token in text.split()]


def example(text, predictions, type_ids=None, sizes=SIZES, **changes):
    """`predictions` is a dict from position to token."""
    labels = ids(" ".join(predictions.values()))
    return records.pretraining_values(
        ids(text), list(predictions), labels, type_ids=type_ids, sizes=sizes, **changes
    )


PAIR = example(
    "[CLS] the [MASK] sat [SEP] un ##able mat the [SEP]",
    {2: "cat", 6: "##aff", 7: "mat"},
    type_ids=[0] * 5 + [1] * 5,
    pair_label=1,
)


@pytest.fixture
def run(tmp_path, capsys):
    """Runs the tool on the files named; returns what it printed."""
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))

    def run(*paths, **changes):
        show.main(InspectRecords(vocab_file=f"{tmp_path}/vocab.txt", **changes), list(paths))
        return capsys.readouterr().out

    return run


def build(paths, values, **changes):
    """Record files with the manifest that a build would have left."""
    for path in paths:
        records.write_file(path, values)
    records.enter(paths, VOCABULARY, max_seq_length=13, max_predictions_per_seq=4, **changes)
    found = statistics.count(paths, VOCABULARY, 13).counts
    written = manifest.find(paths[0]).files
    options = PretrainingData(
        input_file="i",
        output_file="o",
        vocab_file="v",
        max_seq_length=13,
        max_predictions_per_seq=4,
        **changes,
    )
    manifest.add(
        paths, written, options, VOCABULARY, [], TextCounts(), ExampleCounts(**found, num_capped=0)
    )


def texts(values):
    return show.texts(values, VOCABULARY)


def test_a_pair_with_its_masks():
    assert texts(PAIR) == [
        ("text A", "the [MASK:cat] sat"),
        ("text B", "un[##able<-aff] {mat} the"),
    ]


def test_wordpieces_are_joined_and_a_masked_one_stays_in_its_word():
    whole = example("[CLS] the un ##aff ##able cat [SEP]", {})
    assert texts(whole) == [("text", "the unaffable cat")]
    masked = example("[CLS] un [MASK] [MASK] cat [SEP]", {2: "##aff", 3: "##able"})
    assert texts(masked) == [("text", "un[MASK:aff][MASK:able] cat")]
    # A text may be cut in the middle of a word, and "##" alone is a word.
    assert texts(example("[CLS] ##able ## [SEP]", {})) == [("text", "able ##")]


def test_texts_packed_into_a_row():
    packed = example("[CLS] the cat [SEP] sat [SEP] [CLS] mat [SEP]", {}, sizes=None)
    assert texts(packed) == [("text 1", "the cat [SEP] sat"), ("text 2", "mat")]


@pytest.mark.parametrize(
    ("example_type", "label", "meaning"),
    [
        ("nsp", 0, "follows the first"),
        ("nsp", 1, "a random one"),
        ("sop", 0, "in order"),
        ("sop", 1, "swapped"),
    ],
)
def test_the_label_is_named(run, tmp_path, example_type, label, meaning):
    path = str(tmp_path / "a")
    build([path], [PAIR | {features.NEXT_SENTENCE_LABELS: [label]}], example_type=example_type)
    (line,) = [line for line in run(path).splitlines() if line.startswith(f"  label {label}:")]
    assert meaning in line


def test_statistics_beside_those_of_the_manifest(run, tmp_path):
    paths = [str(tmp_path / name) for name in "ab"]
    build(paths, [PAIR] * 3)
    out = run(f"{tmp_path}/[ab]", num_examples=2, picture=f"{tmp_path}/picture.svg")
    assert show.NOTATION in out
    assert out.count("text A: the [MASK:cat] sat") == 2
    rows = {" ".join(line.split()) for line in out.splitlines()}
    # 10 tokens in 13 positions, 3 of 7 tokens of text to predict, one of each kind.
    assert {
        "records 6 6",
        "tokens 60 60",
        "of them padding 23.1 % 23.1 %",
        "of the tokens of the text 42.9 % 42.9 %",
        "replaced by [MASK] 33.3 % 33.3 %",
        "replaced by another token 33.3 % 33.3 %",
        "kept 33.3 % 33.3 %",
        "random or swapped ones 100.0 % 100.0 %",
    } <= rows
    assert "WARNING" not in out
    assert "Note" not in out
    assert (tmp_path / "picture.svg").read_text().startswith("<svg")


def test_without_padding(run, tmp_path):
    path = str(tmp_path / "a")
    single = example("[CLS] the [MASK] [SEP]", {2: "cat"}, sizes=None)
    build([path], [single], example_type="full_sentences", pad_to_max_seq_length=False)
    out = run(path)
    assert "text: the [MASK:cat]" in out
    assert "  label" not in out
    assert "WARNING" not in out


def test_without_masks(run, tmp_path):
    path = str(tmp_path / "a")
    plain = {name: numbers for name, numbers in PAIR.items() if name not in features.MASKED_LM}
    build([path], [plain, plain], mask=False)
    out = run(path, picture=f"{tmp_path}/picture.svg")
    assert "The records hold no masks." in out
    assert "text A: the [MASK] sat" in out  # as it stands
    assert {"tokens to predict 0 0", "kept - -"} <= {
        " ".join(line.split()) for line in out.splitlines()
    }
    assert "by position" not in out
    assert "WARNING" not in out
    assert "Nothing to predict" in (tmp_path / "picture.svg").read_text()


def test_files_of_other_tools(run, tmp_path):
    path = records.write_file(tmp_path / "a", [PAIR])
    out = run(path)
    assert f"no manifest.json describes {path}" in out
    assert "in the manifest" not in out
    assert "WARNING" not in out


def test_some_files_of_a_build_are_not_compared(run, tmp_path):
    paths = [str(tmp_path / name) for name in "ab"]
    build(paths, [PAIR])
    out = run(paths[0])
    assert "whole builds" in out
    assert "in the manifest" not in out


def test_differences_are_reported(run, tmp_path):
    path = str(tmp_path / "a")
    build([path], [PAIR, PAIR])
    content = json.loads((tmp_path / "manifest.json").read_text())
    content["builds"][0]["examples"]["num_masked"] = 1
    content["builds"][0]["files"][0] |= {"records": 3, "sha256": "0" * 64}
    (tmp_path / "manifest.json").write_text(json.dumps(content))
    warnings = [line for line in run(path).splitlines() if line.startswith("WARNING")]
    assert len(warnings) == 3
    assert "2 records; its manifest.json says 3" in warnings[0]
    assert "sha256 differs" in warnings[1]
    assert "num_masked is 2 in the records and 1 in the manifest" in warnings[2]


def test_wrong_input(run, tmp_path):
    with pytest.raises(InputError, match="list of record files is empty"):
        run()
    path = str(tmp_path / "a")
    build([path], [PAIR])
    with open(path, "rb+") as file:
        file.truncate(os.path.getsize(path) - 1)
    with pytest.raises(InputError, match="not a complete TFRecord file"):
        run(path)
    build([path], [PAIR])
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS[:-1]))
    with pytest.raises(InputError, match="another vocabulary"):
        run(path)
    os.remove(tmp_path / "manifest.json")
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS[:9]))
    with pytest.raises(InputError, match="ids from 0 to 11"):
        run(path)
    with pytest.raises(InputError, match="must end in .svg"):
        InspectRecords(vocab_file="v", picture="a.png")
