"""AX: the tasks with a training set are in test_registry."""

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks import registry


def test_ax_has_a_test_set_alone_and_the_labels_of_mnli(tmp_path):
    path = tmp_path / "diagnostic.tsv"
    path.write_text("index\tsentence1\tsentence2\n0\tIt rained.\tIt did not rain.\n7\tA.\tB.\n")
    task = registry.get("AX")
    ((name, examples),) = task.read("test", str(tmp_path))
    assert name == "" and [(e.guid, e.text_b, e.label) for e in examples] == [
        ("0", "It did not rain.", None),
        ("7", "B.", None),
    ]
    assert task.with_labels(registry.get("mnli").labels, num_texts=2) is task
    with pytest.raises(InputError, match="Task ax has no train set; it has: test"):
        task.read("train", str(tmp_path))
