"""`--phases`: the sequence lengths that one run trains at, one after the other.

Attention costs the square of the length, so the paper trains 90 % of the updates at length 128
and the rest, which learns the later positions, at 512 (appendix A.2).
"""

import dataclasses
import math
import re

from bert_tf.errors import InputError

_EXAMPLES = "--phases=128:900000,512:100000 or --phases=128:900000:256:1e-4,512:100000:64:5e-5"
_SHORTEST = 5  # [CLS], two [SEP] and a token for each of the two texts


@dataclasses.dataclass(frozen=True)
class Phase:
    """Updates at one length.

    Attributes:
      max_seq_length: int, tokens of an example.
      num_steps: int, updates of this phase.
      batch_size: int, examples of an update over all replicas.
      learning_rate: float, peak.
    """

    max_seq_length: int
    num_steps: int
    batch_size: int
    learning_rate: float


def parse(text, options):
    """Reads `--phases`.

    Args:
      text: str, phases parted by commas: LENGTH:STEPS, LENGTH:STEPS:BATCH or
        LENGTH:STEPS:BATCH:RATE. BATCH may be empty. None or empty: one phase.
      options: has what a phase does not say itself: `train_batch_size`, `learning_rate`; and for
        the one phase of no text `max_seq_length` and `num_train_steps`.

    Returns:
      list of `Phase`, at least one.

    Raises:
      InputError: names the part that is wrong.
    """
    if not text:
        return [
            Phase(
                options.max_seq_length,
                options.num_train_steps,
                options.train_batch_size,
                options.learning_rate,
            )
        ]
    return [_phase(part.strip(), options) for part in text.split(",")]


def _phase(part, options):
    fields = [field.strip() for field in part.split(":")]
    if not 2 <= len(fields) <= 4:
        raise InputError(
            f"--phases: {part!r} has {len(fields)} field(s) parted by colons; LENGTH:STEPS, "
            f"LENGTH:STEPS:BATCH or LENGTH:STEPS:BATCH:RATE was wanted, as in {_EXAMPLES}."
        )
    length, steps, batch, rate = fields + [""] * (4 - len(fields))
    return Phase(
        _whole(length, part, "the length", _SHORTEST),
        _whole(steps, part, "the number of steps", 1),
        _whole(batch, part, "the batch size", 1) if batch else options.train_batch_size,
        _rate(rate, part) if rate else options.learning_rate,
    )


def _whole(field, part, what, least):
    if not re.fullmatch(r"[0-9]+", field) or int(field) < least:
        raise InputError(
            f"--phases: {what} in {part!r} is {field!r}; an integer of at least {least} was "
            f"wanted, as in {_EXAMPLES}."
        )
    return int(field)


def _rate(field, part):
    try:
        rate = float(field)
    except ValueError:
        rate = math.nan
    if not 0.0 < rate < math.inf:
        raise InputError(
            f"--phases: the learning rate in {part!r} is {field!r}; a number above 0 was wanted, "
            f"as in {_EXAMPLES}."
        )
    return rate
