"""How fast a run is: tokens a second, the share of real ones, use of the hardware, time left."""

import collections
import dataclasses
import itertools
import time

_WINDOW_SECONDS = 60.0


@dataclasses.dataclass(frozen=True)
class Rates:
    """Speeds over the last minute.

    Attributes:
      steps_per_second, examples_per_second: float.
      tokens_per_second: float, tokens that are no padding.
      real_share: float, those among the positions that were computed.
      mfu: float or None, model FLOP utilisation: FLOPs of the positions computed, padding
        included, over what the hardware could do in that time. Its product with `real_share` is
        the share that went into tokens.
      seconds_left: float, to the end of the last phase.
    """

    steps_per_second: float
    examples_per_second: float
    tokens_per_second: float
    real_share: float
    mfu: float | None
    seconds_left: float

    def values(self):
        """Dict for `metrics_log`."""
        values = dataclasses.asdict(self)
        del values["seconds_left"]
        return {name: value for name, value in values.items() if value is not None}

    def note(self):
        """Dict of texts for the progress display."""
        note = {
            "steps/s": f"{self.steps_per_second:.3g}",
            "tokens/s": f"{self.tokens_per_second:.0f}",
            "real": f"{100 * self.real_share:.0f} %",
        }
        if self.mfu is not None:
            note["MFU"] = f"{100 * self.mfu:.1f} %"
        return note | {"left": duration(self.seconds_left)}


# Amounts since the meter was made; `cost` is what the phases plan for the steps.
_Mark = collections.namedtuple("_Mark", "time steps examples tokens positions flops cost")


class Meter:
    """Turns amounts and a clock into rates.

    The first call of a phase traces and compiles: nothing is known until it is over, and it never
    counts.

    Args:
      phases: list of `phases.Phase`, the whole run.
      step: int, updates done before, by an earlier process.
      flops_per_token: a float for each phase, FLOPs of a training step for each position of full
        rows, see `flops.per_token`; or None.
      peak_flops: float, FLOPs per second of all devices together, see `peak`, or None.
      clock: gives seconds.
    """

    def __init__(self, phases, step=0, flops_per_token=None, peak_flops=None, clock=time.monotonic):
        self._phases = list(phases)
        self._ends = list(itertools.accumulate(phase.num_steps for phase in phases))
        self._has_mfu = bool(flops_per_token and peak_flops)
        # Where FLOPs are not known, a position costs the same in every phase.
        self._flops = list(flops_per_token or [1.0] * len(self._phases))
        self._first, self._peak, self._clock = step, peak_flops, clock
        self._marks = collections.deque([_Mark(clock(), 0, 0, 0, 0, 0.0, 0.0)])
        self._phase = None

    def advance(self, num_steps, num_tokens, num_positions):
        """Counts updates, all of one phase, that are done by now.

        Args:
          num_steps: int.
          num_tokens: int, over all replicas, that are no padding.
          num_positions: int, over all replicas, that the model computed.
        """
        last = self._marks[-1]
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
        self._marks.append(_Mark(self._clock(), *sums))
        if index != self._phase:
            self._phase = index
            self._marks = collections.deque([self._marks[-1]])
        while (
            len(self._marks) > 2 and self._marks[1].time <= self._marks[-1].time - _WINDOW_SECONDS
        ):
            self._marks.popleft()

    def rates(self):
        """`Rates`, or None before the second `advance` of a phase."""
        first, last = self._marks[0], self._marks[-1]
        if first is last:
            return None
        done = _Mark(*(new - old for old, new in zip(first, last, strict=True)))
        seconds = max(done.time, 1e-9)
        return Rates(
            steps_per_second=done.steps / seconds,
            examples_per_second=done.examples / seconds,
            tokens_per_second=done.tokens / seconds,
            real_share=done.tokens / max(1, done.positions),
            mfu=done.flops / seconds / self._peak if self._has_mfu else None,
            seconds_left=self._cost_left() * seconds / done.cost if done.cost else 0.0,
        )

    def _phase_at(self, step):
        """Index of the phase of the update after `step`; the last one beyond the end."""
        indices = (index for index, end in enumerate(self._ends) if step < end)
        return next(indices, len(self._ends) - 1)

    def _cost(self, index):
        """FLOPs of an update whose rows are full."""
        phase = self._phases[index]
        return phase.batch_size * phase.max_seq_length * self._flops[index]

    def _cost_left(self):
        step = self._first + self._marks[-1].steps
        return sum(
            min(phase.num_steps, max(0, end - step)) * self._cost(index)
            for index, (phase, end) in enumerate(zip(self._phases, self._ends, strict=True))
        )


def duration(seconds):
    """A time for people, two units at the most: "3 d 4 h", "2 h 5 min", "1 min 30 s"."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    minutes = round(seconds / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(seconds / 3600)
    return f"{hours // 24} d {hours % 24} h"
