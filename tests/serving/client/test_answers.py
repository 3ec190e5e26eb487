"""The client's lines for people, for each kind of model."""

import pytest

from serving.client import answers


def tagged(entities):
    """Outputs for entities, padded by one as those of a text with fewer than others."""
    columns = list(zip(*entities, ("", "", 0.0), strict=True))
    return dict(zip(("entities", "entity_types", "entity_scores"), columns, strict=True))


@pytest.mark.parametrize(
    ("prediction", "line"),
    [
        ({"label": "b", "labels": ["a", "b"], "probabilities": [0.25, 0.75]}, "b: 0.750, a: 0.250"),
        ({"labels": ["a", "b"], "probabilities": [0.5, 0.75]}, "b: 0.750, a: 0.500"),
        ({"label": "b", "probabilities": [0.25, 0.75]}, "b: 0.750"),
        ({"answer": "peace", "score": 0.5, "has_answer": True}, "peace: 0.500"),
        ({"answer": "", "score": 0.5, "has_answer": False}, "(no answer): 0.500"),
        ({"score": 1.5, "logits": [1.5]}, "1.500"),
        (
            tagged([("Neil Armstrong", "PER", 0.98765), ("Moon", "LOC", 0.5)]),
            "Neil Armstrong: PER 0.988, Moon: LOC 0.500",
        ),
        (tagged([]), "(no entities)"),
        ({"words": ["It", "rains", ""], "tags": ["PRON", "VERB", ""]}, "It/PRON rains/VERB"),
        ({"words": [""], "tags": [""]}, "(no words)"),
        (
            {
                "tokens": [["cat", "dog", "a"], ["the", "a", "one"], ["", "", ""]],
                "probabilities": [[0.5, 0.25, 0.125], [0.75, 0.125, 0.0625], [0, 0, 0]],
            },
            "cat: 0.500, dog: 0.250 | the: 0.750, a: 0.125",
        ),
        ({"tokens": [], "probabilities": []}, "(no [MASK])"),
        (
            {"embedding": [0.5, -0.25, 1, 2, 3, 4]},
            "[0.500, -0.250, 1.000, 2.000, 3.000, ...]: 6 numbers",
        ),
        ([0.5, -0.25, 1, 2, 3, 4], "[0.500, -0.250, 1.000, 2.000, 3.000, ...]: 6 numbers"),
        ([1, 2], "[1, 2]"),
        ({"x": "é"}, '{"x": "é"}'),
        ("é", '"é"'),
    ],
)
def test_a_line_for_each_kind(prediction, line):
    assert answers.shown(prediction, ["a text"], top_k=2) == line


def test_choices_are_named_and_ranked():
    prediction = {"choice": 1, "probabilities": [0.25, 0.625, 0.125, 0.0], "logits": [0, 1, -1, -9]}
    texts = ["He sat", "on it.", "down.", "up."]
    assert answers.shown(prediction, texts, top_k=2) == "down.: 0.625, on it.: 0.250"
    assert answers.shown(prediction, texts, 0) == "down.: 0.625, on it.: 0.250, up.: 0.125"
