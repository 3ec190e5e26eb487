"""`--phases`: the sequence lengths that one run trains at, one after the other.

Attention costs the square of the length, so the paper trains 90 % of the updates at length 128
and the rest, which learns the later positions, at 512 (appendix A.2).
"""

import dataclasses
import math
import re
from typing import Protocol

from bert_tf.errors import InputError

_EXAMPLES = "--phases=128:900000,512:100000 or --phases=128:900000:256:1e-4,512:100000:64:5e-5"
_SHORTEST = 5  # [CLS], two [SEP] and a token for each of the two texts


@dataclasses.dataclass(frozen=True)
class Phase:
    """Updates at one length.

    Attributes:
      max_seq_length: tokens of an example.
      num_steps: updates of this phase.
      batch_size: examples of an update over all replicas.
      learning_rate: peak.
    """

    max_seq_length: int
    num_steps: int
    batch_size: int
    learning_rate: float


class Options(Protocol):
    """The options that say what phases are, those of run_pretraining.py or of a plan.

    `phases` is a list separated by commas: LENGTH:STEPS, LENGTH:STEPS:BATCH or
    LENGTH:STEPS:BATCH:RATE. BATCH may be empty. Without it there is a single phase.
    """

    @property
    def phases(self) -> str | None: ...
    @property
    def max_seq_length(self) -> int: ...
    @property
    def num_train_steps(self) -> int: ...
    @property
    def train_batch_size(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...


def parse(options: Options) -> list[Phase]:
    """Reads `--phases`.

    Returns:
      at least one phase.

    Raises:
      InputError: names the part that is wrong.
    """
    if not options.phases:
        return [
            Phase(
                options.max_seq_length,
                options.num_train_steps,
                options.train_batch_size,
                options.learning_rate,
            )
        ]
    return [_phase(part.strip(), options) for part in options.phases.split(",")]


def _phase(part: str, options: Options) -> Phase:
    fields = [field.strip() for field in part.split(":")]
    if not 2 <= len(fields) <= 4:
        raise InputError(
            f"--phases: {part!r} has {len(fields)} field(s) separated by colons. Wanted: "
            f"LENGTH:STEPS, LENGTH:STEPS:BATCH or LENGTH:STEPS:BATCH:RATE, as in {_EXAMPLES}."
        )
    length, steps, batch, rate = fields + [""] * (4 - len(fields))
    return Phase(
        _whole(length, part, "the length", _SHORTEST),
        _whole(steps, part, "the number of steps", 1),
        _whole(batch, part, "the batch size", 1) if batch else options.train_batch_size,
        _rate(rate, part) if rate else options.learning_rate,
    )


def _whole(field: str, part: str, what: str, least: int) -> int:
    if not re.fullmatch(r"[0-9]+", field) or int(field) < least:
        raise InputError(
            f"--phases: {what} in {part!r} is {field!r}; an integer of at least {least} was "
            f"wanted, as in {_EXAMPLES}."
        )
    return int(field)


def _rate(field: str, part: str) -> float:
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
