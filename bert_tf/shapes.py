"""The axis letters, and the check of a tensor's shape against them."""

from typing import Any

AXES = {
    "B": "batch",
    "T": "tokens",
    "S": "tokens attended to",
    "H": "hidden",
    "A": "heads",
    "D": "size per head, H / A",
    "I": "intermediate",
    "L": "layers",
    "P": "prediction slots",
    "V": "vocabulary",
    "C": "classes",
    "W": "windows or choices",
}


def check(name: str, x: Any, spec: str, **sizes: int | None) -> None:
    """Checks the static shape of a tensor.

    Sizes that are unknown while tracing pass. All axes with the same letter must have one size.

    Args:
      name: what the message calls the tensor.
      x: anything with a `shape`.
      spec: axis letters of `AXES` separated by spaces, e.g. `"B T H"`.
      **sizes: sizes that letters must have, e.g. `H=768`; None: any.

    Raises:
      ValueError: names the tensor, the axis, the size wanted and the shape.
    """
    letters, shape = spec.split(), tuple(x.shape)
    if len(shape) != len(letters):
        raise ValueError(f"{name}: want [{spec}] (rank {len(letters)}), got shape {shape}.")
    for letter, size in zip(letters, shape, strict=True):
        if size is None:
            continue
        want = sizes.setdefault(letter, size)
        if want is not None and want != size:
            raise ValueError(
                f"{name}: axis {letter} ({AXES[letter]}) must be {want}, "
                f"got {size} in shape {shape} for [{spec}]."
            )
