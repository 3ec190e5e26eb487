"""Remembers that a run is complete, so that its training states need not be kept.

`training/complete.json` has the number of updates and, of a run that ended early, the reason. It
is written once the last weights are on disk, and before the states are removed: a run that is
killed in between has the one or the other.
"""

import json
import os
from typing import Any

from bert_tf import files
from bert_tf.training.monitoring import history
from bert_tf.training.resume import state_files

NAME = "complete.json"


def num_updates(directory: str) -> int | None:
    """Updates behind the last weights of a model directory; None: there are none, or not known.

    Version 0.1.0 wrote no `NAME`; there the log says after which update the run ended.
    """
    if not _has_last_weights(directory):
        return None
    ends = history.read(os.path.join(directory, history.NAME)).events("end")
    return _marked(directory) or (ends[-1]["step"] if ends else None)


def is_complete(directory: str, step: int) -> bool:
    """Whether the run in a model directory has made `step` updates and left its last weights.

    Without the mark, because it is of version 0.1.0 or was killed, a state of that update says so.
    """
    saved = state_files.listed(os.path.dirname(_path(directory)))
    is_last_state = _has_last_weights(directory) and step in [each.step for each in saved]
    return is_last_state or is_marked(directory, step)


def is_marked(directory: str, step: int) -> bool:
    """Whether the run in a model directory was marked as complete after `step` updates."""
    return _has_last_weights(directory) and _marked(directory) == step


def early_end(directory: str) -> int | None:
    """Updates of a complete run that ended early; None: the run in the directory is none."""
    step = _marked(directory) if _has_last_weights(directory) else None
    return step if _mark(directory).get("ended_early") else None


def _has_last_weights(directory: str) -> bool:
    return os.path.isdir(os.path.join(directory, "last"))


def _marked(directory: str) -> int | None:
    """The number in the mark; None without one that can be read."""
    try:
        return int(_mark(directory)["step"])
    except (ValueError, KeyError, TypeError):
        return None


def _mark(directory: str) -> dict[str, Any]:
    """The mark; empty without one that can be read."""
    try:
        with open(_path(directory), encoding="utf-8") as file:
            mark = json.load(file)
    except (OSError, ValueError):
        return {}
    return mark if isinstance(mark, dict) else {}


def message(directory: str, step: int) -> str:
    """What a complete run says when it is started again."""
    reason = _mark(directory).get("ended_early")
    why = f"; it ended early, because {reason}" if reason else ""
    return (
        f"The training is complete after step {step:,}{why}. {os.path.join(directory, 'last')} has "
        "its weights. Nothing is trained again."
    )


def finish(directory: str, step: int, *, keeps_states: bool, ended_early: str = "") -> None:
    """Marks the run in a model directory as complete, after which its states may go.

    Args:
      step: updates of the run, whose weights are in `last/`.
      keeps_states: whether the states stay all the same.
      ended_early: why these are not all the updates that its flags asked for; "": they are.
    """
    if _marked(directory) != step:
        mark = {"step": step} | ({"ended_early": ended_early} if ended_early else {})
        files.write_text(_path(directory), json.dumps(mark) + "\n")
    if not keeps_states:
        state_files.remove_all(os.path.dirname(_path(directory)))


def _path(directory: str) -> str:
    return os.path.join(directory, "training", NAME)
