"""Sets of labels to vectors, and back from logits to sets."""

import numpy as np
import pytest

from bert_tf.examples.labelled import TextExample
from bert_tf.examples.readers import Columns, TextLayout
from bert_tf.examples.rows import Rows
from bert_tf.tasks.kinds.multi_label import MultiLabel

COLUMNS = Columns(text_a="text", label="topics")
TASK = MultiLabel(
    name="own",
    summary="",
    layout=TextLayout(columns=COLUMNS, test_columns=Columns(text_a="text")),
    is_own_data=True,
)
EXAMPLES = [
    TextExample("0", "x", None, ("sport", "art")),
    TextExample("1", "y", None, ()),
    TextExample("2", "z", None, ("film",)),
]


def test_labels_are_those_of_all_sets():
    task = TASK.with_labels_of(EXAMPLES, "train")
    assert task.labels == ("art", "film", "sport")
    vectors = task.label_features(EXAMPLES)["label_vectors"]
    assert vectors.tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0]]
    assert vectors.dtype == np.float32
    assert task.read_label("sport, film") == ("sport", "film")
    with pytest.raises(ValueError, match="label 'jazz' is unknown; known: art, film, sport"):
        task.read_label("sport,jazz")


def test_scores_of_sets():
    task = TASK.with_labels_of(EXAMPLES, "train")
    rows = Rows([[2, 3]] * 3, [[0, 0]] * 3, task.label_features(EXAMPLES))
    # art and sport of the first are found, nothing of the others; art of the third is wrong.
    logits = [np.array(row, np.float32) for row in ([3, -2, 1], [-1, -1, -1], [2, -2, -9])]
    metrics = task.evaluate(EXAMPLES, rows, logits).metrics
    assert metrics["micro_f1"] == pytest.approx(2 * 2 / (3 + 3))
    assert metrics["exact_match"] == pytest.approx(2 / 3)
    signs = np.array([[1, -1, 1], [-1, -1, -1], [-1, 1, -1]])  # of the right answers
    assert metrics["loss"] == pytest.approx(np.log1p(np.exp(-signs * np.stack(logits))).mean())
