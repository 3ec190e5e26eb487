"""What an evaluation found is in the file as plain JSON."""

import json
import math

import numpy as np
import pytest

from bert_tf.tasks.evaluation import Column, Diagram, Evaluation, Part, Table
from bert_tf.tasks.scoring import calibration
from bert_tf.training.monitoring import evaluation_file


def test_everything_of_an_evaluation_is_kept(tmp_path):
    probabilities = np.array([[0.75, 0.25], [0.375, 0.625]], np.float32)
    cell = (Part("Rome [LOC]", "missed"), Part("is far", joins=True))
    columns = [Column("Text"), Column("F1", True)]
    found = Evaluation(
        {"f1": 0.5, "loss": math.nan},
        [[1, 0], [1, 0]],
        calibration.of_labels(probabilities, np.array([0, 0])),
        [Table("Errors", "Why.", columns, [[cell, 0.25], ["é", 3]], Diagram(1, (0,), ((1, "é"),)))],
    )
    evaluation_file.write(str(tmp_path), 7, found)
    read = evaluation_file.read(str(tmp_path))
    assert (read["step"], read["metrics"]) == (7, {"f1": 0.5, "loss": None})
    assert read["confusion"] == [[1, 0], [1, 0]]
    assert read["calibration"]["bins"][6] == pytest.approx([0.6, 0.7, 1, 0.625, 0.0])
    assert read["tables"] == [
        {
            "title": "Errors",
            "note": "Why.",
            "columns": [["Text", False], ["F1", True]],
            "rows": [[[["Rome [LOC]", "missed", False], ["is far", "", True]], 0.25], ["é", 3]],
            "diagram": [1, [0], [[1, "é"]]],
        }
    ]
    json.loads((tmp_path / "evaluation.json").read_text(), parse_constant=pytest.fail)


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}"])
def test_without_a_file_or_with_a_damaged_one_there_is_nothing(tmp_path, text):
    if text is not None:
        (tmp_path / "evaluation.json").write_text(text)
    assert evaluation_file.read(str(tmp_path)) == {}
