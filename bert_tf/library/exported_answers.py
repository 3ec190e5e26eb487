"""What an exported model answers, as the objects that models in Python answer with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from bert_tf.library import texts
from bert_tf.library.masked_lm import Candidate
from bert_tf.library.question_answerer import Answer
from bert_tf.library.text_classifier import classification
from bert_tf.library.word_tagger import Entity, TaggedText, TaggedWord

Outputs = Mapping[str, np.ndarray]


def of_texts(outputs: Outputs, labels: Sequence[str], given: Sequence[texts.Text]) -> Any:
    """The answers of a signature.

    Args:
      outputs: [B ...] each, by name.
      labels: of a classifier.
      given: B texts, the first ones of pairs.

    Returns:
      a list of B answers, or an array [B ...]; see `ExportedModel`.
    """
    if "probabilities" in outputs and labels:
        return [classification(labels, row) for row in outputs["probabilities"]]
    for name, make in _MAKE.items():
        if name in outputs:
            rows = zip(*outputs.values(), strict=True)
            named = (dict(zip(outputs, row, strict=True)) for row in rows)
            return [make(row, texts.decoded(text)) for row, text in zip(named, given, strict=True)]
    return outputs["embedding"] if "embedding" in outputs else outputs["score"]


def _answer(row: Mapping[str, Any], _: str) -> Answer:
    text = row["answer"].decode()
    position = (int(row["start"]), int(row["end"])) if text else (None, None)
    return Answer(text, float(row["score"]), *position)


def _candidates(row: Mapping[str, Any], _: str) -> list[list[Candidate]]:
    """Those for each [MASK]; behind the last one probabilities are 0."""
    return [
        [
            Candidate(token.decode(), float(probability))
            for token, probability in zip(tokens, probabilities, strict=True)
        ]
        for tokens, probabilities in zip(row["tokens"], row["probabilities"], strict=True)
        if probabilities.any()
    ]


def _tagged(row: Mapping[str, Any], source: str) -> TaggedText:
    words = [
        TaggedWord(source[start:end], tag.decode(), float(score), int(start), int(end))
        for start, end, tag, score in _columns(row, "starts", "ends", "tags", "scores")
    ]
    if "entities" not in row:
        return TaggedText(tuple(words), ())
    names = ("entity_starts", "entity_ends", "entity_types", "entity_scores")
    entities = [
        Entity(source[start:end], kind.decode(), float(score), int(start), int(end))
        for start, end, kind, score in _columns(row, *names)
    ]
    return TaggedText(tuple(words), tuple(entities))


def _columns(row: Mapping[str, Any], start: str, *names: str) -> list[tuple[Any, ...]]:
    """The entries of some outputs for a text; behind the last one the start is negative."""
    columns = (row[name] for name in (start, *names))
    return [entry for entry in zip(*columns, strict=True) if entry[0] >= 0]


# From an output that tells a kind of model to what makes an answer of a row.
_MAKE: dict[str, Callable[[Mapping[str, Any], str], Any]] = {
    "answer": _answer,
    "tokens": _candidates,
    "tags": _tagged,
}
