"""The axis letters, and the check of a tensor against them."""

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


def check(name, x, spec, **sizes):
    """Returns `x` if its static shape fits `spec`.

    Sizes unknown while tracing pass; a letter used twice must agree with itself.

    Args:
      name: str, how the message calls the tensor.
      x: anything with a `shape`.
      spec: axis letters of `AXES` parted by spaces, e.g. `"B T H"`.
      **sizes: sizes that letters must have, e.g. `H=768`.

    Raises:
      ValueError: names the tensor, the axis, the size wanted and the shape got.
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
    return x
