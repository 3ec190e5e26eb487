"""The table of example types, and the settings of masks."""

import pytest

from bert_tf.examples.choices import (
    DYNAMIC_GRANULARITIES,
    EXAMPLE_TYPES,
    GRANULARITIES,
    MaskSettings,
)


@pytest.mark.parametrize(
    ("example_type", "max_seq_length", "expected"),
    [
        ("nsp", 128, 62),  # (128 - [CLS] - 2 [SEP]) / 2, rounded down
        ("sop", 5, 1),
        ("sop", 512, 254),
        ("full_sentences", 128, 126),
        ("doc_sentences", 3, 1),
        ("packed", 512, 510),
    ],
)
def test_longest_sentence(example_type, max_seq_length, expected):
    assert EXAMPLE_TYPES[example_type].longest_sentence(max_seq_length) == expected


def test_what_types_have():
    def with_property(name):
        return [key for key, each in EXAMPLE_TYPES.items() if getattr(each, name)]

    assert list(EXAMPLE_TYPES) == ["nsp", "sop", "full_sentences", "doc_sentences", "packed"]
    assert with_property("has_pair") == ["nsp", "sop"]
    assert with_property("has_random_texts") == ["nsp"]
    assert with_property("is_packed") == ["packed"]
    assert with_property("is_alike_in_every_pass") == ["doc_sentences", "packed"]
    assert [each.num_special_tokens for each in EXAMPLE_TYPES.values()] == [3, 3, 2, 2, 2]
    assert [each.min_sentences for each in EXAMPLE_TYPES.values()] == [2, 2, 1, 1, 1]
    assert [each.min_documents for each in EXAMPLE_TYPES.values()] == [2, 1, 1, 1, 1]


def test_granularities():
    assert set(DYNAMIC_GRANULARITIES) < set(GRANULARITIES)
    for granularity in GRANULARITIES:
        settings = MaskSettings(max_predictions_per_seq=20, granularity=granularity)
        assert settings.granularity == granularity
    with pytest.raises(ValueError, match="token, word, ngram, span"):
        MaskSettings(max_predictions_per_seq=20, granularity="sentence")
