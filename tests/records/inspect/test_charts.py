"""The picture holds a bar for every figure, as high as the figure is."""

import dataclasses
from xml.etree import ElementTree

import numpy as np
import pytest

from bert_tf.records.inspect import charts
from bert_tf.records.inspect.statistics import COUNTED, Statistics

COUNTS = dict.fromkeys(COUNTED, 0) | {
    "num_examples": 20,
    "num_pairs": 20,
    "num_label_1": 5,
    "num_tokens": 100,
    "num_predictions": 10,
    "num_masked": 7,
    "num_kept": 1,
}
STATISTICS = Statistics(
    num_records={"a": 20},
    counts=COUNTS,
    lengths=np.array([0, 0, 5, 15]),
    predictions=np.array([10, 10]),
    predicted=np.array([0, 4, 6]),
    num_sequences=0,
)
WANTED = {"predictions": 0.5, "masked": 0.8, "random": 0.1, "kept": 0.1}


def bars(document):
    """What each bar stands for, and its height."""
    found = {}
    for element in ElementTree.fromstring(document).findall(".//{*}rect"):
        title = element.find("{*}title")
        if title is not None:
            found[title.text] = float(element.attrib["height"])
    return found


def test_bars():
    found = bars(charts.svg(STATISTICS, "a < b & c"))
    highest = max(found.values())
    # 4 of 20 records with a second token predict it, 6 of 15 the third.
    assert {text: round(height / highest, 3) for text, height in found.items()} == {
        "0: 0": 0.0,
        "1: 0": 0.0,
        "2: 5": pytest.approx(0.333, abs=0.002),
        "3: 15": 1.0,
        "0: 0.0 %": 0.0,
        "1: 20.0 %": 0.5,
        "2: 40.0 %": 1.0,
        "[MASK]: 70.0 %": 1.0,
        "another token: 20.0 %": pytest.approx(0.286, abs=0.002),
        "the token itself: 10.0 %": pytest.approx(0.143, abs=0.002),
        "0: next, or in order: 75.0 %": 1.0,
        "1: random, or swapped: 25.0 %": pytest.approx(0.333, abs=0.002),
    }


def test_what_was_asked_for_is_a_line_for_each_bar():
    def lines(wanted):
        document = ElementTree.fromstring(charts.svg(STATISTICS, "title", wanted))
        return len(document.findall(".//{*}path"))

    assert lines(WANTED) == lines(None) + 3 + 3 + 2


def test_no_pairs_no_chart_of_them():
    single = dataclasses.replace(STATISTICS, counts=COUNTS | {"num_pairs": 0, "num_label_1": 0})
    assert "No second texts" in charts.svg(single, "title", WANTED)


def test_no_predictions_no_charts_of_them():
    none = COUNTS | {"num_predictions": 0, "num_masked": 0, "num_kept": 0}
    plain = dataclasses.replace(
        STATISTICS, counts=none, predictions=np.array([20]), predicted=np.zeros(3, int)
    )
    document = charts.svg(plain, "title", WANTED)
    assert "Nothing to predict" in document
    assert not any("token" in name for name in bars(document))


def test_bins():
    starts, sums = charts.bins(np.arange(7), most=3)
    assert (starts, sums.tolist()) == ([0, 3, 6], [3, 12, 6])
    starts, sums = charts.bins(np.arange(3), most=3)
    assert (starts, sums.tolist()) == ([0, 1, 2], [0, 1, 2])
