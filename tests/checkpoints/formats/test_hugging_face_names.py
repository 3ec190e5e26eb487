import pytest

from bert_tf.checkpoints.formats import hugging_face_names, tf1_names
from tests.modeling import harness


@pytest.mark.parametrize(
    ("name", "canonical"),
    [
        ("bert.pooler.dense.weight", "bert.pooler.dense.weight"),
        ("pooler.dense.weight", "bert.pooler.dense.weight"),
        ("encoder.layer.3.output.dense.bias", "bert.encoder.layer.3.output.dense.bias"),
        ("embeddings.LayerNorm.gamma", "bert.embeddings.LayerNorm.weight"),
        (
            "bert.encoder.layer.0.output.LayerNorm.beta",
            "bert.encoder.layer.0.output.LayerNorm.bias",
        ),
        ("cls.predictions.transform.LayerNorm.gamma", "cls.predictions.transform.LayerNorm.weight"),
        ("classifier.weight", "classifier.weight"),
    ],
)
def test_older_spellings(name, canonical):
    assert hugging_face_names.canonical(name) == canonical


def test_both_tables_fill_the_same_variables():
    ours, theirs = (
        t.table(harness.config(num_hidden_layers=12)) for t in (hugging_face_names, tf1_names)
    )
    assert [row.path for row in ours] == [row.path for row in theirs]
    assert [len(row.names) for row in ours] == [len(row.names) for row in theirs]


def test_heads():
    found = {
        row.path: row.names[0]
        for row in hugging_face_names.table(harness.config(num_hidden_layers=1))
    }
    assert found["masked_lm/output_bias"] == "cls.predictions.bias"
    assert found["next_sentence/kernel"] == "cls.seq_relationship.weight"
    assert found["classifier/kernel"] == "classifier.weight"
    assert found["span/bias"] == "qa_outputs.bias"
