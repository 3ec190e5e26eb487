"""`evaluation.json`: what the best weights of a run reach on the dev set, for its report.

step         updates behind the weights
metrics      by name
confusion    see `evaluation.Evaluation`; [] without one
calibration  {"bins": [[low, high, count, confidence, accuracy], ...]}, or null
tables       [{"title": ..., "note": ..., "columns": [[name, is_share], ...], "rows": ...,
             "diagram": [x, lines, marks] or null}, ...]; see `evaluation.Table` and `Diagram`; a
             cell is a text, a number or a list of [text, mark, joins], see `evaluation.Part`
"""

import dataclasses
import json
import os
from typing import Any

from bert_tf import files
from bert_tf.tasks.evaluation import Evaluation
from bert_tf.training.monitoring import history

NAME = "evaluation.json"


def write(directory: str, step: int, found: Evaluation) -> None:
    """Writes the evaluation of the weights after `step` updates into a model directory."""
    text = history.to_line({"step": step} | dataclasses.asdict(found)).decode()
    files.write_text(os.path.join(directory, NAME), text)


def read(directory: str) -> dict[str, Any]:
    """What the file holds; empty if there is none, or a damaged one: only reports need it."""
    try:
        with open(os.path.join(directory, NAME), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and isinstance(found.get("step"), int) else {}
