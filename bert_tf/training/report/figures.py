"""Curves of a run as SVG elements of an HTML page; colours are the page's."""

import dataclasses
import html
import itertools
import json
import math

import numpy as np

from bert_tf.records.inspect import charts

_WIDTH, _HEIGHT = 560, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 548, 26, 220
_MAX_BUCKETS = 500  # of a curve's width, each drawn from its smallest to its largest value
_MAX_READINGS = 240  # points that the cursor stops at
_SMOOTHING = 100  # the run is so many times as long as what is smoothed over, to either side
_NUM_TICKS = 6


@dataclasses.dataclass(frozen=True)
class Mark:
    """Something that happened after `step` updates.

    Attributes:
      step: int.
      kind: "restart" or "phase".
      label: str, drawn beside the line, short or empty.
      hint: str, shown when pointed at.
    """

    step: int
    kind: str
    label: str
    hint: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Curve:
    """What one figure shows.

    Attributes:
      title: str.
      steps, values: what was logged; NaN where a value was not finite.
      held_out_steps, held_out_values: the same of the evaluations, drawn as points.
      is_share: bool, shown in per cent.
      is_smoothed: bool, whether a smoothed curve is drawn over a faint one of the values.
    """

    title: str
    steps: list
    values: list
    held_out_steps: list
    held_out_values: list
    is_share: bool = False
    is_smoothed: bool = True


def svg(curve, marks, last_step):
    """Draws a figure.

    Args:
      curve: `Curve`.
      marks: list of `Mark`.
      last_step: int > 0, the right end of the axis, the same in all figures of a page.

    Returns:
      str, an `svg` element; the page gives `text`, `.grid`, `.axis`, `.logged`, `.smooth`,
      `.held-out`, `.restart` and `.phase` their colours.
    """
    logged = _good(curve.steps, curve.values)
    held_out = _good(curve.held_out_steps, curve.held_out_values)
    bounds = [mark.step for mark in marks if mark.kind == "phase"]
    smooth = smoothed(*logged, bounds) if curve.is_smoothed else logged[1]
    frame = _Frame(last_step, *value_range(logged[1], smooth, held_out[1]))
    parts = [*_axes(frame, curve.is_share), *_marks(frame, marks)]
    if curve.is_smoothed:
        parts.append(_path(frame, *thinned(*logged), "logged"))
    parts += [
        _path(frame, *thinned(logged[0], smooth), "smooth"),
        *_points(frame, held_out, curve.is_share),
        *_outside(frame, logged[1], len(curve.values) - len(logged[1])),
    ]
    label = html.escape(f"{curve.title} by update", quote=True)
    readings = _readings(frame, logged[0], smooth, curve.is_share)
    return (
        f'<svg class="curve" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}" '
        f"data-readings='{readings}'>\n" + "\n".join(filter(None, parts)) + "\n</svg>"
    )


def smoothed(steps, values, bounds=()):
    """Exponential mean to both sides over a hundredth of the run, over less near its beginning.

    The first updates change more than all others; the width there is an eighth of the way so far.

    Args:
      steps, values: float arrays [n].
      bounds: steps over which nothing is smoothed: what comes after one differs.

    Returns:
      float array [n].
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


def _decaying_sum(values, decays):
    """What each value and those before it add up to, those before multiplied by the decays."""
    found = [float(values[0])]
    for value, decay in zip(values[1:].tolist(), decays.tolist(), strict=True):
        found.append(found[-1] * decay + value)
    return np.array(found)


def thinned(steps, values):
    """Leaves out what a screen cannot show: of a bucket, all but the smallest and largest value.

    Returns:
      (steps, values), at most twice the number of buckets.
    """
    if len(steps) <= 2 * _MAX_BUCKETS:
        return steps, values
    kept = set()
    for rows in np.array_split(np.arange(len(steps)), _MAX_BUCKETS):
        kept |= {rows[values[rows].argmin()], rows[values[rows].argmax()]}
    rows = np.array(sorted(kept))
    return steps[rows], values[rows]


def value_range(logged, smooth, held_out):
    """Bottom and top of a figure.

    Single values far outside of the others, such as a spike of a norm, do not count: they would
    press the curve flat. The smoothed curve and the held-out values are always inside.

    Returns:
      (float, float), the first one smaller.
    """
    if not len(logged) and not len(held_out):
        return 0.0, 1.0
    usual = []
    if len(logged):
        least, most = np.quantile(logged, [0.01, 0.99])
        reach = most - least
        usual = np.clip([logged.min(), logged.max()], least - reach, most + reach)
    everything = np.concatenate([usual, smooth, held_out])
    low, high = float(everything.min()), float(everything.max())
    if low == high:
        margin = abs(low) / 10 or 0.5
        return low - margin, high + margin
    margin = 0.06 * (high - low)
    # Zero is a better bottom than a number that happens to be near it.
    bottom = 0.0 if 0 <= low < 0.4 * high else low - margin
    return bottom, high + margin


def ticks(low, high, count=_NUM_TICKS):
    """Round numbers from `low` to `high`, about `count` of them."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * min(
        (each for each in (1, 2, 2.5, 5, 10) if each * power >= rough * 0.999), default=10
    )
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]


def number(value, is_share=False):
    """A value in few characters: 4.217, 1.5 M, 1e-4, 43.2 %."""
    if is_share:
        return f"{100 * value:.3g} %"
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if letter == "k" else size
            return f"{value / unit:.4g} {letter}"
    if value and abs(value) < 1e-3:
        digits, power = f"{value:.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{value:.4g}"


@dataclasses.dataclass(frozen=True)
class _Frame:
    """From steps and values to places in the picture."""

    last_step: int
    low: float
    high: float

    def x(self, step):
        return _LEFT + (_RIGHT - _LEFT) * step / self.last_step

    def y(self, value):
        """Inside of the frame, or just above or below it."""
        height = _BOTTOM - (_BOTTOM - _TOP) * (value - self.low) / (self.high - self.low)
        return np.clip(height, _TOP - 3, _BOTTOM + 3)


def _good(steps, values):
    steps, values = np.array(steps, dtype=np.float64), np.array(values, dtype=np.float64)
    return steps[np.isfinite(values)], values[np.isfinite(values)]


def _axes(frame, is_share):
    yield '<g class="grid">'
    for value in ticks(frame.low, frame.high):
        yield charts.horizontal(_LEFT, _RIGHT, frame.y(value))
    yield "</g>"
    for value in ticks(frame.low, frame.high):
        yield charts.text(_LEFT - 8, frame.y(value) + 4, number(value, is_share), anchor="end")
    for step in ticks(0, frame.last_step):
        anchor = "end" if frame.x(step) > _RIGHT - 12 else "middle"
        yield charts.text(frame.x(step), _BOTTOM + 18, number(step), anchor=anchor)
    yield f'<g class="axis">{charts.horizontal(_LEFT, _RIGHT, _BOTTOM)}</g>'


def _marks(frame, marks):
    for mark in marks:
        x = frame.x(mark.step)
        hint = html.escape(mark.hint)
        # The wide invisible line is what a pointer can hit.
        yield (
            f'<g class="{mark.kind}"><title>{hint}</title>'
            f'<path class="hit" d="M{x:.1f} {_TOP}V{_BOTTOM}"/>'
            f'<path d="M{x:.1f} {_TOP - 4}V{_BOTTOM}"/>'
        )
        if mark.label:
            anchor = "start" if x < (_LEFT + _RIGHT) / 2 else "end"
            shift = 5 if anchor == "start" else -5
            yield charts.text(x + shift, _TOP + 4, mark.label, anchor=anchor)
        yield "</g>"


def _path(frame, steps, values, kind):
    if not len(steps):
        return ""
    places = zip(frame.x(steps).tolist(), frame.y(values).tolist(), strict=True)
    line = "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
    # A single point is a line of no length, which round ends make visible.
    return f'<path class="{kind}" d="M{line}{"h0" if len(steps) == 1 else ""}"/>'


def _points(frame, held_out, is_share):
    places = [(float(step), float(value)) for step, value in zip(*held_out, strict=True)]
    for (step, value), (next_step, next_value) in itertools.pairwise(places):
        yield (
            f'<path class="held-out" d="M{frame.x(step):.1f} {frame.y(value):.1f}'
            f'L{frame.x(next_step):.1f} {frame.y(next_value):.1f}"/>'
        )
    for step, value in places:
        hint = f"held-out after {int(step)}: {number(value, is_share)}"
        yield (
            f'<circle class="held-out" cx="{frame.x(step):.1f}" cy="{frame.y(value):.1f}" r="4">'
            f"<title>{hint}</title></circle>"
        )


def _outside(frame, logged, num_bad):
    """Says what the frame does not show."""
    num_outside = int(((logged < frame.low) | (logged > frame.high)).sum())
    notes = [f"{num_outside} outside of the frame"] if num_outside else []
    notes += [f"{num_bad} not finite"] if num_bad else []
    if notes:
        yield charts.text(_RIGHT, _TOP - 12, ", ".join(notes), anchor="end")


def _readings(frame, steps, values, is_share):
    """JSON of [x, y, step, text] for the cursor."""
    if not len(steps):
        return "[]"
    rows = np.unique(np.linspace(0, len(steps) - 1, _MAX_READINGS).astype(int))
    readings = [
        [round(frame.x(step), 1), round(float(frame.y(value)), 1), int(step), text]
        for step, value in zip(steps[rows].tolist(), values[rows].tolist(), strict=True)
        for text in [number(value, is_share)]
    ]
    return html.escape(json.dumps(readings, separators=(",", ":")), quote=True)
