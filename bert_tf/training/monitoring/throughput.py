"""How fast a run is: tokens per second, their real share, hardware utilisation, time left."""

import collections
import dataclasses
import itertools
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from bert_tf import formatting
from bert_tf.training.phases import Phase

_WINDOW_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Rates:
    """Speeds over the last minute.

    Attributes:
      tokens_per_second: without padding.
      real_share: share of the computed positions that are not padding.
      mfu: model FLOP utilisation: FLOPs of the computed positions, padding included, divided by
        what the hardware could do in that time; None: not known, or above 1, which says that the
        hardware was measured too low. Its product with `real_share` is the share that went into
        tokens.
      seconds_left: to the end of the last phase.
    """

    steps_per_second: float
    examples_per_second: float
    tokens_per_second: float
    real_share: float
    mfu: float | None
    seconds_left: float

    def values(self) -> dict[str, float]:
        """For `MetricsLog.add`."""
        values = dataclasses.asdict(self)
        del values["seconds_left"]
        return {name: value for name, value in values.items() if value is not None}

    def note(self) -> dict[str, str]:
        """For the progress display, the most important ones first."""
        note = {
            "steps/s": formatting.number(self.steps_per_second, 3),
            "tokens/s": formatting.number(self.tokens_per_second, 3),
        }
        if self.mfu is not None:
            note["MFU"] = formatting.percent(self.mfu, 2)
        return note | {"not padding": formatting.percent(self.real_share, 2)}


class _Reading(NamedTuple):
    """Amounts since the meter was created; `cost` is what the phases plan for the steps."""

    time: float
    steps: int = 0
    examples: int = 0
    tokens: int = 0
    positions: int = 0
    flops: float = 0.0
    cost: float = 0.0


class Meter:
    """Turns amounts and a clock into rates.

    The first call of a phase traces and compiles, so it does not count.

    Args:
      phases: all of the run.
      step: updates that an earlier process has done.
      flops_per_token: for each phase, FLOPs of an update per position of full rows, see
        `flops.per_token`; None: not known.
      peak_flops: FLOPs per second of all devices together, see `peak`; None: not known.
      clock: gives seconds.
    """

    def __init__(
        self,
        phases: Sequence[Phase],
        step: int = 0,
        flops_per_token: Sequence[float] | None = None,
        peak_flops: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._phases = list(phases)
        self._ends = list(itertools.accumulate(phase.num_steps for phase in phases))
        self._peak = peak_flops if flops_per_token else None
        # Where FLOPs are not known, a position costs the same in every phase.
        self._flops = list(flops_per_token or [1.0] * len(self._phases))
        self._first, self._clock = step, clock
        self._readings = collections.deque([_Reading(clock())])
        self._phase: int | None = None

    def advance(self, num_steps: int, num_tokens: int, num_positions: int) -> None:
        """Counts updates, all of one phase, that are done by now.

        Args:
          num_tokens: over all replicas, without padding.
          num_positions: over all replicas, computed by the model.
        """
        last = self._readings[-1]
        index = self._phase_at(self._first + last.steps)
        amounts = (
            num_steps,
            num_steps * self._phases[index].batch_size,
            num_tokens,
            num_positions,
            num_positions * self._flops[index],
            num_steps * self._cost(index),
        )
        sums = (old + new for old, new in zip(last[1:], amounts, strict=True))
        self._readings.append(_Reading._make((self._clock(), *sums)))
        if index != self._phase:
            self._phase = index
            self._readings = collections.deque([self._readings[-1]])
        start = self._readings[-1].time - _WINDOW_SECONDS
        while len(self._readings) > 2 and self._readings[1].time <= start:
            self._readings.popleft()

    def rates(self) -> Rates | None:
        """None before the second `advance` of a phase."""
        first, last = self._readings[0], self._readings[-1]
        if first is last:
            return None
        done = _Reading._make(new - old for old, new in zip(first, last, strict=True))
        seconds = max(done.time, 1e-9)
        mfu = done.flops / seconds / self._peak if self._peak else None
        return Rates(
            steps_per_second=done.steps / seconds,
            examples_per_second=done.examples / seconds,
            tokens_per_second=done.tokens / seconds,
            real_share=done.tokens / max(1, done.positions),
            mfu=mfu if mfu is not None and mfu <= 1.0 else None,
            seconds_left=self._cost_left() * seconds / done.cost if done.cost else 0.0,
        )

    def _phase_at(self, step: int) -> int:
        """Index of the phase of the update after `step`; the last one beyond the end."""
        indices = (index for index, end in enumerate(self._ends) if step < end)
        return next(indices, len(self._ends) - 1)

    def _cost(self, index: int) -> float:
        """FLOPs of an update whose rows are full."""
        phase = self._phases[index]
        return phase.batch_size * phase.max_seq_length * self._flops[index]

    def _cost_left(self) -> float:
        step = self._first + self._readings[-1].steps
        return sum(
            min(phase.num_steps, max(0, end - step)) * self._cost(index)
            for index, (phase, end) in enumerate(zip(self._phases, self._ends, strict=True))
        )
