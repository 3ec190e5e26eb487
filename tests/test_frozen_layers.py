"""The six rows of table 7 of the paper, for BERT-Base with its twelve layers."""

import pytest

from bert_tf.frozen_layers import FROZEN_LAYERS


@pytest.mark.parametrize(
    ("name", "title", "depths", "is_weighted"),
    [
        ("embeddings", "Embeddings", (0,), False),
        ("second_to_last", "Second-to-Last Hidden", (11,), False),
        ("last", "Last Hidden", (12,), False),
        ("weighted_last_four", "Weighted Sum Last Four Hidden", (9, 10, 11, 12), True),
        ("concat_last_four", "Concat Last Four Hidden", (9, 10, 11, 12), False),
        ("weighted_all", "Weighted Sum All Layers", tuple(range(1, 13)), True),
    ],
)
def test_a_row_of_the_table(name, title, depths, is_weighted):
    row = FROZEN_LAYERS[name]
    assert (row.title, row.depths(12), row.is_weighted) == (title, depths, is_weighted)


def test_encoders_of_few_layers():
    assert FROZEN_LAYERS["concat_last_four"].depths(4) == (1, 2, 3, 4)
    assert FROZEN_LAYERS["second_to_last"].depths(2) == (1,)
    with pytest.raises(ValueError, match="4 layers are wanted; the encoder has 3"):
        FROZEN_LAYERS["weighted_last_four"].depths(3)
