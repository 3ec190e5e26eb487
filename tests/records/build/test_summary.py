"""The summary: counts of rows and texts, shares of them by hand, warnings."""

import dataclasses

import numpy as np
import pytest

from bert_tf.examples.pretraining import row_dtype
from bert_tf.options import PretrainingData
from bert_tf.records.build import summary
from bert_tf.records.build.summary import ExampleCounts, TextCounts
from bert_tf.text.vocab import Vocabulary

VOCABULARY = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"])
UNK, CLS, SEP, MASK, A, B, C = range(1, 8)
LENGTH, NUM_PREDICTIONS = 11, 3


def options(**kwargs):
    return PretrainingData(
        input_file="i", output_file="o", vocab_file="v", **{"max_seq_length": LENGTH} | kwargs
    )


def rows_of(*examples):
    """Rows of (word_ids, positions, labels, pair_label, is_capped)."""
    rows = np.zeros(len(examples), row_dtype(LENGTH, NUM_PREDICTIONS, len(VOCABULARY)))
    for row, (word_ids, positions, labels, pair_label, is_capped) in zip(
        rows, examples, strict=True
    ):
        row["word_ids"][: len(word_ids)] = word_ids
        row["num_tokens"] = len(word_ids)
        row["positions"][: len(positions)] = positions
        row["labels"][: len(labels)] = labels
        row["num_predictions"] = len(positions)
        row["pair_label"] = pair_label
        row["is_capped"] = is_capped
    return rows


# Of three tokens to predict one is masked, one replaced, one kept.
RANDOM_PAIR = ([CLS, MASK, C, SEP, B, SEP], [1, 2, 4], [A, A, B], 1, True)
TRUE_PAIR = ([CLS, A, MASK, SEP, B, C, A, SEP], [2], [C], 0, False)
SINGLE = ([CLS, A, B, SEP, C, SEP], [4], [C], -1, False)
PACKED = ([CLS, A, SEP, CLS, MASK, SEP, CLS, A, SEP], [1, 4], [A, B], -1, False)
NOTHING_TO_PREDICT = ([CLS, UNK, SEP], [], [], -1, False)


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (RANDOM_PAIR, ExampleCounts(1, 1, 1, 1, 6, 3, 11, 3, 1, 1)),
        (TRUE_PAIR, ExampleCounts(1, 1, 0, 0, 8, 3, 11, 1, 1, 0)),
        (SINGLE, ExampleCounts(1, 0, 0, 0, 6, 3, 11, 1, 0, 1)),
        (PACKED, ExampleCounts(1, 0, 0, 0, 9, 6, 11, 2, 1, 1)),
        (NOTHING_TO_PREDICT, ExampleCounts(1, 0, 0, 0, 3, 2, 11, 0, 0, 0)),
    ],
)
def test_counts_of_a_row(example, expected):
    assert summary.count_rows(rows_of(example), VOCABULARY) == expected


def test_counts_of_rows_add_up():
    examples = [RANDOM_PAIR, TRUE_PAIR, SINGLE, PACKED, NOTHING_TO_PREDICT]
    together = summary.count_rows(rows_of(*examples), VOCABULARY)
    assert together == ExampleCounts(5, 2, 1, 1, 32, 17, 55, 7, 3, 3)
    one_by_one = (summary.count_rows(rows_of(each), VOCABULARY) for each in examples)
    assert sum(one_by_one, start=ExampleCounts()) == together
    assert together.num_randomized == 1
    assert summary.count_rows(rows_of(), VOCABULARY) == ExampleCounts()


def test_sums_do_not_overflow():
    """70 000 rows of 11 tokens are more than 16 bits hold."""
    word_ids = [CLS, A, B, C, A, SEP, B, C, A, B, SEP]
    row = rows_of((word_ids, [1, 2, 3], [A, B, C], 0, True))
    counts = summary.count_rows(np.repeat(row, 70_000), VOCABULARY)
    assert counts.num_tokens == counts.num_positions == 770_000
    assert counts.num_predictions == counts.num_kept == 210_000
    assert counts.num_special == 210_000


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (
            RANDOM_PAIR,
            [
                "Example: [CLS] [MASK] c [SEP] b [SEP]",
                "  to predict: 1 a, 2 a, 4 b",
                "  label: 1",
            ],
        ),
        (SINGLE, ["Example: [CLS] a b [SEP] c [SEP]", "  to predict: 4 c"]),
        (NOTHING_TO_PREDICT, ["Example: [CLS] [UNK] [SEP]", "  to predict: "]),
    ],
)
def test_an_example_to_look_at(example, expected):
    (row,) = rows_of(example)
    assert summary.example_text(row, VOCABULARY).split("\n") == expected


@pytest.mark.parametrize("kind", [TextCounts, ExampleCounts])
def test_every_count_adds_up(kind):
    names = [field.name for field in dataclasses.fields(kind)]
    first = kind(**{name: 3 + number for number, name in enumerate(names)})
    second = kind(**{name: 100 * number for number, name in enumerate(names)})
    expected = {name: 3 + 101 * number for number, name in enumerate(names)}
    assert dataclasses.asdict(first + second) == expected
    assert first + kind() == first


READ = TextCounts(
    num_documents=200, num_sentences=3_000, num_tokens=41_000, num_bytes=1_234_567, num_unknown=7
)
MADE = ExampleCounts(
    num_examples=1_000,
    num_pairs=1_000,
    num_label_1=497,
    num_tokens=10_000,
    num_special=3_000,
    num_positions=11_000,
    num_predictions=1_400,
    num_masked=1_113,
    num_kept=140,
)


def test_text_of_pairs():
    assert summary.text(READ, MADE, options()).splitlines() == [
        "Read 200 documents, 3,000 sentences, 41,000 tokens, 1.23 MB of text.",
        "Wrote 1,000 examples, 10,000 tokens; 90.9 % of 11 positions hold one.",
        "Tokens to predict: 20.0 % of the text; 79.5 % of them became [MASK], "
        "10.5 % another token, 10.0 % are kept.",
        "Second text from another document: 49.7 %.",
    ]


def test_text_without_masks():
    made = dataclasses.replace(MADE, num_predictions=0, num_masked=0, num_kept=0)
    assert summary.text(READ, made, options(mask=False)).splitlines()[2] == (
        "No masks: run_pretraining.py --dynamic_masking draws them, at most 2 in an example."
    )


def test_an_example_without_masks():
    row = np.zeros((), row_dtype(LENGTH, 0, len(VOCABULARY)))
    row["word_ids"][:3], row["num_tokens"], row["pair_label"] = [CLS, A, SEP], 3, 0
    assert summary.example_text(row, VOCABULARY).split("\n") == [
        "Example: [CLS] a [SEP]",
        "  label: 0",
    ]
    assert summary.count_rows(row[None], VOCABULARY) == ExampleCounts(1, 1, 0, 0, 3, 2, 11)


def test_text_of_other_objectives():
    swapped = summary.text(READ, MADE, options(example_type="sop"))
    assert swapped.splitlines()[-1] == "Texts swapped: 49.7 %."
    single = dataclasses.replace(MADE, num_pairs=0, num_label_1=0)
    for example_type in ("full_sentences", "doc_sentences", "packed"):
        assert len(summary.text(READ, single, options(example_type=example_type)).splitlines()) == 3


def test_nothing_read_and_nothing_made():
    text = summary.text(TextCounts(), ExampleCounts(), options(example_type="packed"))
    assert "WARNING" not in text
    assert "0.0 % of the text" in text


def warnings(example_type="nsp", read=None, made=None, **kwargs):
    """The warnings for some other counts than those of READ and MADE."""
    read = dataclasses.replace(READ, **(read or {}))
    made = dataclasses.replace(MADE, **(made or {}))
    if example_type not in ("nsp", "sop"):
        made = dataclasses.replace(made, num_pairs=0, num_label_1=0)
    lines = summary.text(read, made, options(example_type=example_type, **kwargs)).splitlines()
    return [line for line in lines if line.startswith("WARNING: ")]


@pytest.mark.parametrize("example_type", ["nsp", "sop"])
def test_documents_too_short_for_pairs(example_type):
    (warning,) = warnings(example_type, {"num_short_documents": 30, "num_short_tokens": 4_100})
    assert "30 documents have fewer than two sentences and were left out (10.0 % of" in warning


def test_documents_without_tokens():
    (warning,) = warnings("packed", {"num_short_documents": 3})
    assert warning == "WARNING: 3 documents have no token and were left out."


def test_lines_spans_and_paragraphs_that_were_dropped():
    (warning,) = warnings(read={"num_invalid_lines": 2})
    assert "2 lines are not UTF-8" in warning
    (warning,) = warnings(read={"num_dropped_spans": 5}, mask_granularity="span")
    assert "5 spans cross" in warning
    (warning,) = warnings(read={"num_dropped_paragraphs": 7})
    assert "7 paragraphs hold markup" in warning


def test_many_unknown_tokens():
    assert not warnings(read={"num_unknown": 2_050})  # 5 %
    (warning,) = warnings(read={"num_unknown": 2_051})
    assert "5.0 % of the tokens are [UNK]" in warning
    (warning,) = warnings(read={"num_unknown": 20_500})
    assert "50.0 % of the tokens are [UNK]" in warning


@pytest.mark.parametrize(
    ("example_type", "max_seq_length", "enough"),
    [
        ("nsp", 128, 19),  # 0.15 * 125 = 18.75
        ("sop", 512, 77),  # 0.15 * 509 = 76.35
        ("full_sentences", 128, 19),  # 0.15 * 126 = 18.9: a row of one document has most text
        ("packed", 512, 77),  # 0.15 * 510 = 76.5
    ],
)
def test_predictions_kept_down(example_type, max_seq_length, enough):
    kwargs = {"max_seq_length": max_seq_length, "max_predictions_per_seq": 13}
    assert not warnings(example_type, made={"num_capped": 50}, **kwargs)  # 5 %
    (warning,) = warnings(example_type, made={"num_capped": 600}, **kwargs)
    assert "--max_predictions_per_seq=13 kept 60.0 % of the examples below" in warning
    assert "--masked_lm_prob=0.15" in warning
    assert f"{enough} would be enough for --max_seq_length={max_seq_length}." in warning
