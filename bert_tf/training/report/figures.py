"""Curves of a run as SVG elements of an HTML page, whose style sheet gives the colours."""

import dataclasses
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bert_tf import formatting
from bert_tf.training.report.rendering import digits_to_tell_apart, number, render

_Floats = npt.NDArray[np.float64]

_MAX_BUCKETS = 500  # of a curve's width, each drawn from its smallest to its largest value
_MAX_READINGS = 240  # points that the cursor stops at
_SMOOTHING = 100  # a run is this many times as long as what is smoothed over, to either side
_NUM_TICKS = 6
_SMALL = 1e-2  # curves below it have exponents throughout
_LEAST_RANGE = 1e-5  # of the values; below it float32 shows noise


@dataclasses.dataclass(frozen=True)
class Mark:
    """Something that happened after `step` updates.

    Attributes:
      kind: "restart" or "phase".
      label: drawn next to the line, short or empty.
      hint: shown when pointed at.
    """

    step: int
    kind: str
    label: str
    hint: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curve:
    """What one figure shows.

    Attributes:
      steps, values: what was logged; NaN where a value was not finite.
      held_out_steps, held_out_values: the same of the evaluations, drawn as points.
      is_share: whether values are shown in per cent.
      is_smoothed: whether a smoothed curve is drawn over a faint one of the values.
    """

    title: str
    steps: Sequence[int]
    values: Sequence[float]
    held_out_steps: Sequence[int]
    held_out_values: Sequence[float]
    is_share: bool = False
    is_smoothed: bool = True

    @property
    def last(self) -> str:
        """The last finite value as text: that of the training, or else of an evaluation."""
        values = self.values or self.held_out_values
        finite = [value for value in values if math.isfinite(value)]
        return f"last {number(finite[-1], self.is_share)}" if finite else "never finite"


def svg(curve: Curve, marks: Sequence[Mark], last_step: int) -> str:
    """Draws a figure.

    Args:
      last_step: above 0, the right end of the axis, the same in all figures of a page.

    Returns:
      An `svg` element.
    """
    logged = _finite(curve.steps, curve.values)
    held_out = _finite(curve.held_out_steps, curve.held_out_values)
    phase_starts = [mark.step for mark in marks if mark.kind == "phase"]
    smooth = smoothed(*logged, phase_starts) if curve.is_smoothed else logged[1]
    frame = Frame(last_step, *value_range(logged[1], smooth, held_out[1]))
    # There is room above a share of 100 %, but no larger share.
    has_end = curve.is_share and frame.low < 1.0
    value_ticks = ticks(frame.low, min(frame.high, 1.0) if has_end else frame.high)
    digits = digits_to_tell_apart(value_ticks, curve.is_share)

    # A learning rate of 0.001 next to 8e-4 would not look like the next tick.
    is_small = not curve.is_share and frame.high < _SMALL

    def text(value: float) -> str:
        if is_small:
            return formatting.number(value, digits, plain_from=_SMALL)
        return number(value, curve.is_share, digits)

    return render(
        "curve.svg",
        title=curve.title,
        frame=frame,
        marks=marks,
        value_ticks=[(frame.y(value), text(value)) for value in value_ticks],
        step_ticks=[(frame.x(step), number(step)) for step in ticks(0, last_step)],
        paths={
            "logged": frame.path(*thinned(*logged)) if curve.is_smoothed else "",
            "smooth": frame.path(*thinned(logged[0], smooth)),
            "held-out": frame.path(*held_out),
        },
        points=[
            (
                frame.x(step),
                frame.y(value),
                f"held-out after {int(step)}: {text(value)}",
            )
            for step, value in zip(*held_out, strict=True)
        ],
        note=", ".join(_left_out(frame, logged[1], len(curve.values) - len(logged[1]))),
        readings=_readings(frame, logged[0], smooth, text),
    )


def smoothed(steps: _Floats, values: _Floats, bounds: Sequence[int] = ()) -> _Floats:
    """Exponential mean to both sides over a hundredth of the run, over less near its beginning.

    The first updates change more than all others; the width there is an eighth of the way so far.

    Args:
      steps, values: [n].
      bounds: steps across which nothing is smoothed, because what comes after one differs.
    """
    if len(steps) < 2:
        return values
    gaps = np.diff(steps)
    widths = np.minimum(steps[1:] / 8, (steps[-1] - steps[0]) / _SMOOTHING)
    decays = np.exp(-gaps / np.maximum(widths, gaps.mean() + 1e-9))
    for bound in bounds:
        decays[(steps[:-1] <= bound) & (bound < steps[1:])] = 0.0
    total, weight = (
        _decaying_sum(each, decays) + _decaying_sum(each[::-1], decays[::-1])[::-1] - each
        for each in (values, np.ones(len(values)))
    )
    return total / weight


def _decaying_sum(values: _Floats, decays: _Floats) -> _Floats:
    """Sums of each value and those before it, which decay from value to value."""
    sums = [float(values[0])]
    for value, decay in zip(values[1:].tolist(), decays.tolist(), strict=True):
        sums.append(sums[-1] * decay + value)
    return np.array(sums)


def thinned(steps: _Floats, values: _Floats) -> tuple[_Floats, _Floats]:
    """Leaves out what a screen cannot show: of a bucket, all but the smallest and largest value."""
    if len(steps) <= 2 * _MAX_BUCKETS:
        return steps, values
    buckets = np.array_split(np.arange(len(steps)), _MAX_BUCKETS)
    extremes = [(rows[values[rows].argmin()], rows[values[rows].argmax()]) for rows in buckets]
    kept = np.unique(extremes)
    return steps[kept], values[kept]


def value_range(logged: _Floats, smooth: _Floats, held_out: _Floats) -> tuple[float, float]:
    """Bottom and top of a figure.

    Single values far outside of the others, such as a spike of a norm, do not count: they would
    press the curve flat. The smoothed curve and the held-out values are always inside.
    """
    if not len(logged) and not len(held_out):
        return 0.0, 1.0
    usual = np.array([])
    if len(logged):
        least, most = np.quantile(logged, [0.01, 0.99])
        reach = most - least
        usual = np.clip([logged.min(), logged.max()], least - reach, most + reach)
    everything = np.concatenate([usual, smooth, held_out])
    low, high = float(everything.min()), float(everything.max())
    if low == high:
        margin = abs(low) / 10 or 0.5
        return low - margin, high + margin
    margin = max(0.06 * (high - low), _LEAST_RANGE / 2 * max(abs(low), abs(high)))
    # Zero is a better bottom than a number that happens to be near it.
    bottom = 0.0 if 0 <= low < 0.4 * high else low - margin
    return bottom, high + margin


def ticks(low: float, high: float) -> list[float]:
    """A few round numbers from `low` to `high`."""
    rough = (high - low) / _NUM_TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * min(
        (each for each in (1, 2, 2.5, 5, 10) if each * power >= rough * 0.999), default=10
    )
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


@dataclasses.dataclass(frozen=True)
class Frame:
    """From steps and values, numbers or arrays, to coordinates that a screen can show."""

    last_step: float
    low: float
    high: float
    left, right, top, bottom = 58, 548, 26, 220  # its corners

    def x(self, step: Any) -> Any:
        return np.round(self.left + (self.right - self.left) * step / self.last_step, 1)

    def y(self, value: Any) -> Any:
        """Inside the frame, or just above or below it."""
        height = (self.bottom - self.top) * (value - self.low) / (self.high - self.low)
        return np.round(np.clip(self.bottom - height, self.top - 3, self.bottom + 3), 1)

    def path(self, steps: _Floats, values: _Floats) -> str:
        """The `d` of a line through points."""
        points = zip(self.x(steps).tolist(), self.y(values).tolist(), strict=True)
        line = "L".join(f"{x} {y}" for x, y in points)
        # A single point is a line of no length, which round ends make visible.
        return f"M{line}{'h0' if len(steps) == 1 else ''}" if line else ""


def _finite(steps: Sequence[int], values: Sequence[float]) -> tuple[_Floats, _Floats]:
    is_finite = np.isfinite(np.array(values, dtype=np.float64))
    return (
        np.array(steps, dtype=np.float64)[is_finite],
        np.array(values, dtype=np.float64)[is_finite],
    )


def _left_out(frame: Frame, logged: _Floats, num_not_finite: int) -> Iterator[str]:
    """Says what the frame does not show."""
    if num_outside := int(((logged < frame.low) | (logged > frame.high)).sum()):
        yield f"{num_outside} outside of the frame"
    if num_not_finite:
        yield f"{num_not_finite} not finite"


def _readings(frame: Frame, steps: _Floats, values: _Floats, text: Callable[[float], str]) -> str:
    """JSON of [x, y, step, text] for the cursor."""
    if not len(steps):
        return "[]"
    rows = np.unique(np.linspace(0, len(steps) - 1, _MAX_READINGS).astype(int))
    readings = [
        [float(frame.x(step)), float(frame.y(value)), int(step), text(value)]
        for step, value in zip(steps[rows].tolist(), values[rows].tolist(), strict=True)
    ]
    return json.dumps(readings, separators=(",", ":"))
