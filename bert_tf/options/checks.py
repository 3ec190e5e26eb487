"""Checks that several classes of options share."""

import math
from typing import Any

from bert_tf.errors import InputError


def require_positive(options: Any, *names: str) -> None:
    """Refuses values that are not above 0, or not finite; None passes."""
    for name in names:
        value = getattr(options, name)
        if value is not None and not value > 0:  # refuses NaN as well
            raise InputError(f"--{name}={value} must be above 0.")
        _require_finite(name, value)


def require_not_negative(options: Any, *names: str) -> None:
    """Refuses values that are below 0, or not finite."""
    for name in names:
        value = getattr(options, name)
        if not value >= 0:
            raise InputError(f"--{name}={value} must be at least 0.")
        _require_finite(name, value)


def _require_finite(name: str, value: float | None) -> None:
    if value == math.inf:
        raise InputError(f"--{name}={value} must be a finite number.")


def require_or_checkpoint(options: Any, name: str) -> None:
    """Checks a flag that was released as required; a checkpoint has such a file next to it."""
    if not getattr(options, name) and not options.init_checkpoint:
        raise InputError(
            f"--{name} is not given, and there is no --init_checkpoint to take it from."
        )


def require_seed(options: Any) -> None:
    """Refuses a --random_seed that is not in [0, 2**31)."""
    require_not_negative(options, "random_seed")
    if options.random_seed >= 2**31:
        raise InputError(f"--random_seed={options.random_seed} must be below 2**31.")
