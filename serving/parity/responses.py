"""Responses as arrays, and made of arrays, whoever answered."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from serving.client import messages, tensor_messages
from serving.client.results import Scored

Outputs = dict[str, np.ndarray]


def arrays(kind: str, response: Any) -> Outputs:
    """The outputs of a response by name; strings are bytes in arrays of objects.

    Args:
      kind: such as "predict_log".
    """
    if kind == "predict_log":
        return {name: tensor_messages.read(each) for name, each in sorted(response.outputs.items())}
    if kind == "regress_log":
        return {"value": np.array([each.value for each in response.result.regressions])}
    rows = [
        [(each.label.encode(), each.score) for each in row.classes]
        for row in response.result.classifications
    ]
    count = max(map(len, rows), default=0)
    labels, scores = np.full((len(rows), count), b"", object), np.full((len(rows), count), np.nan)
    for row, pairs in enumerate(rows):
        for column, (label, score) in enumerate(pairs):
            labels[row, column], scores[row, column] = label, score
    return {"classes": labels, "scores": scores}


def predicted(outputs: Outputs) -> Any:
    """A PredictResponse of arrays in the types of their tensors."""
    response = messages.new("PredictResponse")
    for name, array in outputs.items():
        tensor_messages.write(array, response.outputs[name])
    return response


def classified(rows: Sequence[Scored]) -> Any:
    """A ClassificationResponse."""
    response = messages.new("ClassificationResponse")
    for pairs in rows:
        row = response.result.classifications.add()
        for label, score in pairs:
            row.classes.add(label=label, score=score)
    return response


def regressed(values: Sequence[float]) -> Any:
    """A RegressionResponse."""
    response = messages.new("RegressionResponse")
    for value in values:
        response.result.regressions.add(value=value)
    return response
