"""Statistics of records as a picture: four charts in one SVG file."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from xml.sax import saxutils

import numpy as np
import numpy.typing as npt

from bert_tf.records.inspect.statistics import Statistics

_WIDTH, _HEIGHT = 960, 640
_PANEL_WIDTH, _PANEL_HEIGHT = 400, 200
_LEFT, _TOP, _COLUMN, _ROW = 60, 90, 470, 290  # of the first panel, and from panel to panel
_MAX_BARS = 64
_BAR, _LINE, _TEXT = "#4c78a8", "#e45756", "#333333"


def svg(statistics: Statistics, title: str, wanted: Mapping[str, float] | None = None) -> str:
    """Draws statistics.

    Args:
      statistics: of some record files.
      title: of the picture.
      wanted: the shares that the build was asked for, drawn as lines: "predictions" of all tokens,
        and "masked", "random" and "kept" of the predictions. None: no lines.

    Returns:
      A complete SVG document.
    """
    wanted, shares = wanted or {}, statistics.shares
    parts = [text(_LEFT, 40, title, size=18)]
    if wanted:
        parts.append(text(_LEFT + _COLUMN, 40, "Lines: what was asked for"))
    starts, lengths = bins(statistics.lengths)
    parts += _panel(0, "Records by number of tokens", starts, lengths)
    if shares["masked"] is None:
        parts.append(text(_LEFT + _COLUMN, _TOP - 14, "Nothing to predict", size=14))
    else:
        parts += _masks(statistics, wanted)
    if shares["label_1"] is None:
        parts.append(text(_LEFT + _COLUMN, _TOP + _ROW - 14, "No second texts", size=14))
    else:
        balance = np.array([1 - shares["label_1"], shares["label_1"]])
        labels = ["0: next, or in order", "1: random, or swapped"]
        line = [0.5, 0.5] if wanted else None
        parts += _panel(3, "Label of the second text", labels, balance, line, is_share=True)
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif">\n'
        f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>\n'
    )


def _masks(statistics: Statistics, wanted: Mapping[str, float]) -> Iterator[str]:
    """Yields the elements of the two charts of the tokens to predict."""
    starts, predicted = bins(statistics.predicted)
    present = np.maximum(1, bins(statistics.present)[1])
    line = [wanted["predictions"]] * len(starts) if wanted else None
    title = "Share of the tokens to predict, by position"
    yield from _panel(1, title, starts, predicted / present, line, is_share=True)
    kinds = ("masked", "random", "kept")
    yield from _panel(
        2,
        "What replaces a token to predict",
        ["[MASK]", "another token", "the token itself"],
        np.array([statistics.shares[kind] for kind in kinds]),
        [wanted[kind] for kind in kinds] if wanted else None,
        is_share=True,
    )


def bins(counts: npt.NDArray, most: int = _MAX_BARS) -> tuple[list[int], npt.NDArray]:
    """Adds neighbors of [n] up to at most `most` bins.

    Returns:
      The first index of each bin; the sums.
    """
    size = -(-len(counts) // most)
    starts = list(range(0, len(counts), size))
    return starts, np.add.reduceat(counts, starts)


def _panel(
    number: int,
    title: str,
    labels: Sequence[Any],
    values: npt.NDArray,
    line: list[float] | None = None,
    is_share: bool = False,
) -> Iterator[str]:
    """Yields the elements of one chart: bars, a label for some of them, the largest value."""
    left, top = _LEFT + number % 2 * _COLUMN, _TOP + number // 2 * _ROW
    bottom = top + _PANEL_HEIGHT
    highest = max([float(values.max()), *(line or []), 1e-9])
    yield text(left, top - 14, title, size=14)
    yield text(left - 6, top + 4, _number(highest, is_share), anchor="end")
    yield text(left - 6, bottom + 4, "0", anchor="end")
    step = _PANEL_WIDTH / len(values)
    few = len(values) <= 4
    for index, (label, value) in enumerate(zip(labels, values.tolist(), strict=True)):
        height = _PANEL_HEIGHT * value / highest
        start = left + index * step
        hint = saxutils.escape(f"{label}: {_number(value, is_share)}")
        yield (
            f'<rect x="{start + 0.1 * step:.1f}" y="{bottom - height:.1f}" '
            f'width="{0.8 * step:.1f}" height="{height:.1f}" fill="{_BAR}">'
            f"<title>{hint}</title></rect>"
        )
        if line:
            y = bottom - _PANEL_HEIGHT * line[index] / highest
            yield horizontal(start, start + step, y, _LINE)
        if few or index % 8 == 0:
            middle = start + step / 2
            words = f"{label} ({_number(value, is_share)})" if few else str(label)
            yield text(middle, bottom + 18, words, anchor="middle")
    yield horizontal(left, left + _PANEL_WIDTH, bottom)


def horizontal(start: float, end: float, y: float, color: str = _TEXT) -> str:
    """A horizontal line; a style sheet may give another colour."""
    return f'<path d="M{start:.1f} {y:.1f}H{end:.1f}" stroke="{color}" stroke-width="1.5"/>'


def _number(value: float, is_share: bool) -> str:
    return f"{100 * value:.1f} %" if is_share else str(int(value))


def text(x: float, y: float, words: str, size: int = 11, anchor: str = "start") -> str:
    """A text whose start, middle or end is at `x`; a style sheet may give another colour."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{_TEXT}" '
        f'text-anchor="{anchor}">{saxutils.escape(words)}</text>'
    )
