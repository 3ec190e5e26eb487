"""What the client prints of an answer for people: a line for each kind of model."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_NUM_SHOWN = 5  # of the numbers of a vector


def shown(prediction: Any, texts: Sequence[str], top_k: int) -> str:
    """One line for a row of predictions.

    Args:
      prediction: a dict from output name to value, or the value of a model with one output.
      texts: that were asked about; for a model of choices, the context and the choices.
      top_k: labels, choices or tokens to show; 0: all of them.
    """
    if isinstance(prediction, Mapping):
        for names, show in _SHOW.items():
            if prediction.keys() >= set(names):
                return show(prediction, texts, top_k)
    elif _is_vector(prediction):
        return _vector(prediction)
    return json.dumps(prediction, ensure_ascii=False)


def is_known(prediction: Mapping[str, Any]) -> bool:
    """Whether the names of the outputs tell the kind of model."""
    return any(prediction.keys() >= set(names) for names in _SHOW)


def _labels(prediction: Mapping[str, Any], texts: Sequence[str], top_k: int) -> str:
    """Every label with its probability; exports of version 0.1.0 name only the best one."""
    if "labels" not in prediction:
        return _ranked([(prediction["label"], max(prediction["probabilities"]))], top_k)
    return _ranked(zip(prediction["labels"], prediction["probabilities"], strict=True), top_k)


def _answer(prediction: Mapping[str, Any], texts: Sequence[str], top_k: int) -> str:
    answer = prediction["answer"] if prediction["has_answer"] else "(no answer)"
    return f"{answer}: {prediction['score']:.3f}"


def _choices(prediction: Mapping[str, Any], texts: Sequence[str], top_k: int) -> str:
    # There may be more probabilities than choices: those of a row that has more.
    return _ranked(zip(texts[1:], prediction["probabilities"], strict=False), top_k)


def _entities(prediction: Mapping[str, Any], texts: Sequence[str], top_k: int) -> str:
    columns = (prediction[name] for name in ("entities", "entity_types", "entity_scores"))
    found = [
        f"{entity}: {kind} {score:.3f}"
        for entity, kind, score in zip(*columns, strict=True)
        if kind
    ]
    return ", ".join(found) or "(no entities)"


def _tags(prediction: Mapping[str, Any], texts: Sequence[str], top_k: int) -> str:
    pairs = zip(prediction["words"], prediction["tags"], strict=True)
    return " ".join(f"{word}/{tag}" for word, tag in pairs if tag) or "(no words)"


def _tokens(prediction: Mapping[str, Any], texts: Sequence[str], top_k: int) -> str:
    """The tokens for each [MASK]; rows with fewer of them than others are filled up."""
    masks = zip(prediction["tokens"], prediction["probabilities"], strict=True)
    found = [
        _ranked(zip(tokens, probabilities, strict=True), top_k)
        for tokens, probabilities in masks
        if any(probabilities)
    ]
    return " | ".join(found) or "(no [MASK])"


def _score(prediction: Mapping[str, Any], texts: Sequence[str], top_k: int) -> str:
    return f"{prediction['score']:.3f}"


def _embedding(prediction: Mapping[str, Any], texts: Sequence[str], top_k: int) -> str:
    return _vector(prediction["embedding"])


def _ranked(pairs: Iterable[tuple[str, float]], top_k: int) -> str:
    best = sorted(pairs, key=lambda pair: -pair[1])
    return ", ".join(f"{name}: {share:.3f}" for name, share in best[: top_k or None])


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) > _NUM_SHOWN
        and all(isinstance(number, int | float) for number in value)
    )


def _vector(numbers: Sequence[float]) -> str:
    head = ", ".join(f"{number:.3f}" for number in numbers[:_NUM_SHOWN])
    return f"[{head}, ...]: {len(numbers)} numbers"


# From outputs that tell a kind of model to what shows its answer; the first one counts.
_SHOW = {
    ("label", "probabilities"): _labels,
    ("labels", "probabilities"): _labels,  # several labels may hold
    ("answer", "score", "has_answer"): _answer,
    ("choice", "probabilities"): _choices,
    ("entities", "entity_types", "entity_scores"): _entities,
    ("words", "tags"): _tags,
    ("tokens", "probabilities"): _tokens,
    ("embedding",): _embedding,
    ("score",): _score,
}
