"""Calibration and tables of a model's answers, as the page has them."""

import numpy as np
import pytest

from bert_tf.tasks.evaluation import Column, Diagram, Evaluation, Part, Table
from bert_tf.tasks.scoring import calibration
from bert_tf.training.monitoring import evaluation_file
from bert_tf.training.report import answers, page
from tests.reference.html_page import Page

NASTY = "<script>alert('1')</script> & \"co\""


@pytest.fixture
def evaluation(tmp_path):
    """What the report reads of an evaluation, in a model directory with nothing else to show."""
    probabilities = np.array([[0.75, 0.25], [0.375, 0.625], [0.72, 0.28], [0.1, 0.9]])
    references = np.array([0, 0, 1, 1])
    sentence = (Part("Rome [LOC]", "missed"), Part(NASTY), Part("Ann [PER]", "wrong"))
    tables = [
        Table("Scores by label", "Note.", [Column("Label"), Column("F1", True)], [["a", 0.4375]]),
        Table("Errors", NASTY, [Column("Text"), Column("Value")], [[sentence, 2.5], [NASTY, 1234]]),
        Table("Long", "", [Column("Number")], [[number] for number in range(40)]),
    ]
    found = Evaluation(
        {"accuracy": 0.5},
        calibration=calibration.of_labels(probabilities, references),
        tables=tables,
    )
    evaluation_file.write(str(tmp_path), 1234, found)
    (tmp_path / "flags.txt").write_text("--a=1\n")
    return evaluation_file.read(str(tmp_path))


@pytest.fixture
def written(evaluation, tmp_path):
    return Page.of(page.write(str(tmp_path)))


def test_the_expected_calibration_error(evaluation):
    """Bins of 0.1: 0.625, wrong; 0.735 in the mean of two, one right; 0.9, right."""
    found = answers.shown(evaluation)["calibration"]
    wanted = (1 * 0.625 + 2 * abs(0.735 - 0.5) + 1 * 0.1) / 4
    assert found["expected_error"] == f"{100 * wanted:.3g} %"
    assert found["maximum_error"] == "62.5 %"
    assert found["rows"][1] == ["70 % to 80 %", "2", "73.5 %", "50 %"]


def test_a_bar_is_as_high_as_its_share_of_right_answers(written):
    bars = [each for tag, each in written.tags if tag == "rect"]
    assert [float(bar["height"]) for bar in bars] == [0.0, 100.0, 200.0]
    assert "70 % to 80 % sure: 2 answers, 50 % right" in written.texts_in("title")


def test_cells_are_shares_numbers_and_marked_texts(written):
    cells = written.texts_in("td")
    assert "43.8 %" in cells and "2.5" in cells and "1,234" in cells
    marks = [each["class"] for tag, each in written.tags if tag == "mark"]
    legend = [("wrong", "answered, and wrong"), ("missed", "right, and not answered")]
    cells = [("missed", "Rome [LOC]"), ("wrong", "Ann [PER]")]
    assert list(zip(marks, written.texts_in("mark"), strict=True)) == legend + cells


def test_texts_are_text(written):
    assert [tag for tag, _ in written.tags].count("script") == 1
    assert any(NASTY in text for text in written.texts_in("td"))
    assert NASTY in written.texts_in("p")


def test_long_tables_are_folded(written):
    assert written.texts_in("summary") == ["40 rows"]
    assert written.texts_in("h2")[:4] == ["Calibration", "Scores by label", "Errors", "Long"]


def test_a_run_without_an_evaluation_has_no_answers():
    assert answers.shown({}) == {}
    assert answers.shown({"step": 3})["calibration"] == {}


def written_tables(directory, *tables):
    """The page of an evaluation with these tables."""
    evaluation_file.write(str(directory), 1, Evaluation({"f1": 50.0}, tables=tables))
    (directory / "flags.txt").write_text("--a=1\n")
    return Page.of(page.write(str(directory)))


def test_columns_are_drawn_as_lines(tmp_path):
    """The diagram has 46 to 306 to the right, and 214 up to 14."""
    columns = [Column("Threshold"), *(Column(name, True) for name in ("Answered", "F1", NASTY))]
    rows = [["none", 0.0, 0.25, ""], [-1.5, 0.5, 0.75, 1.0], [2.0, 1.0, 0.5, 0.125]]
    diagram = Diagram(1, (2, 3), ((0, "best"), (1, NASTY)))
    found = written_tables(tmp_path, Table("Scores", "", columns, rows, diagram))
    paths = [each["d"] for tag, each in found.tags if tag == "path"]
    assert "M46.0 164.0L176.0 64.0L306.0 114.0" in paths
    assert "M176.0 14.0L306.0 189.0" in paths  # the empty cell is left out
    assert "F1 75 %, Answered 50 %" in found.texts_in("title")
    assert f"{NASTY} 12.5 %, Answered 100 %" in found.texts_in("title")
    (drawn,) = [each for tag, each in found.tags if tag == "svg" and each.get("role")]
    assert drawn["aria-label"] == "Scores"
    texts = found.texts_in("text")
    assert "best" in texts and NASTY in texts and "answered" in texts
    assert found.texts_in("span")[-2:] == ["F1", NASTY]  # the legend
    assert {"M46.0 10V214", "M176.0 10V214"} <= {*paths}
    # A table under a diagram is not folded, and has the same numbers.
    assert "-1.5" in found.texts_in("td") and found.texts_in("summary") == []


def test_a_diagram_without_points(tmp_path):
    columns = [Column("Answered", True), Column("F1", True)]
    table = Table("Scores", "", columns, [], Diagram(0, (1,)))
    found = written_tables(tmp_path, table)
    assert "circle" not in [tag for tag, _ in found.tags]


def test_parts_that_join_have_no_space_between_them(tmp_path):
    joined = (Part("(", joins=True), Part("Oslo", "right", joins=True), Part(")"))
    row = [joined, (Part("Ann", "wrong"), Part("met"))]
    written_tables(tmp_path, Table("Passages", "", [Column("A"), Column("B")], [row]))
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '(<mark class="right" title="right">Oslo</mark>)</td>' in text
    assert '<mark class="wrong" title="wrong">Ann</mark> met</td>' in text


def test_tables_of_an_older_evaluation():
    """Cells and tables without what newer ones have."""
    table = {"title": "T", "note": "", "columns": [["A", False]], "rows": [[[["Ann", "wrong"]]]]}
    (shown,) = answers.shown({"step": 3, "tables": [table]})["tables"]
    assert shown["rows"] == [[[Part("Ann", "wrong")]]] and shown["diagram"] == {}


def test_texts_from_right_to_left_begin_at_their_side(tmp_path):
    arabic = "أين تقع أوسلو؟ \U0001f469\u200d\U0001f467"
    row = [arabic, (Part(arabic, "right", joins=True),)]
    columns = [Column("A"), Column("B")]
    found = written_tables(tmp_path, Table("Questions", "", columns, [row]))
    assert [each for tag, each in found.tags if tag == "td" and "dir" in each] == [
        {"dir": "auto"}
    ] * 2
    assert arabic in found.texts_in("td") and arabic in found.texts_in("mark")
