"""Values of flags: what a text stands for, and what was wanted in its place."""

import math
from collections.abc import Sequence
from typing import Any

_WANTED = {int: "a whole number", float: "a number", bool: "true or false"}
_TRUTHS = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}  # as absl's


def parse(kind: type, choices: Sequence[str] | None, text: str) -> Any:
    """The value that a text stands for on the command line.

    Args:
      kind: int, float, bool or str.
      choices: the values that the flag may have; None: any of its type.

    Raises:
      ValueError: the text stands for none; the message says what was wanted.
    """
    try:
        value = _TRUTHS[text.lower()] if kind is bool else kind(text)
        is_good = not isinstance(value, float) or math.isfinite(value)
    except (ValueError, KeyError):
        is_good = False
    if not is_good or (choices and value not in choices):
        raise ValueError(f"{text} is not {wanted(kind, choices)}")
    return value


def wanted(kind: type, choices: Sequence[str] | None) -> str:
    """The values that a flag takes, in words."""
    return f"one of {', '.join(choices)}" if choices else _WANTED.get(kind, "another value")
