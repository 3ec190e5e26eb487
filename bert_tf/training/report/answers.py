"""What a report shows of a model's answers on the dev set: calibration, and the task's tables.

It is made from `evaluation.json`; see `evaluation_file`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from bert_tf.tasks.scoring.calibration import Bin, Calibration
from bert_tf.training.report.rendering import number, render

LONG = 25  # rows; a table of more is folded
_MARKS = {"right": "right", "wrong": "answered, and wrong", "missed": "right, and not answered"}
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 306, 14, 214  # of the diagram


def shown(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the template `answers.html`; empty without an evaluation."""
    if not evaluation:
        return {}
    return {
        "step": number(evaluation["step"]),
        "calibration": _calibration(evaluation.get("calibration")),
        "tables": [_table(each) for each in evaluation.get("tables", ())],
    }


def _calibration(found: Mapping[str, Any] | None) -> dict[str, Any]:
    """The reliability diagram (Guo et al. 2017, figure 1) and its numbers."""
    bins = [Bin(*each) for each in found["bins"]] if found else []
    filled = [each for each in bins if each.num_answers]
    if not filled:
        return {}
    error = Calibration(tuple(bins))
    return {
        "expected_error": number(error.expected_error, is_share=True),
        "maximum_error": number(error.maximum_error, is_share=True),
        "svg": _diagram(filled),
        "header": ["Confidence", "Answers", "Mean confidence", "Right"],
        "rows": [
            [
                _range(each),
                f"{each.num_answers:,}",
                number(each.confidence, is_share=True),
                number(each.accuracy, is_share=True),
            ]
            for each in filled
        ],
    }


def _range(each: Bin) -> str:
    return f"{number(each.low, is_share=True)} to {number(each.high, is_share=True)}"


def _diagram(bins: Sequence[Bin]) -> str:
    """Bars of the share of right answers over the confidence; an `svg` element."""

    def x(share: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * share, 1)

    def y(share: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * share, 1)

    ticks = [index / 5 for index in range(6)]
    return render(
        "calibration.svg",
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=_BOTTOM,
        value_ticks=[(y(share), number(share, is_share=True)) for share in ticks],
        confidence_ticks=[(x(share), number(share, is_share=True)) for share in ticks],
        bars=[
            {
                "x": x(each.low),
                "y": y(each.accuracy),
                "width": round(x(each.high) - x(each.low), 1),
                "height": round(_BOTTOM - y(each.accuracy), 1),
                "hint": f"{_range(each)} sure: {each.num_answers:,} answers, "
                f"{number(each.accuracy, is_share=True)} right",
            }
            for each in bins
        ],
        points=[(x(each.confidence), y(each.accuracy)) for each in bins],
    )


def _table(table: Mapping[str, Any]) -> dict[str, Any]:
    shares = [is_share for _, is_share in table["columns"]]
    cells = [cell for row in table["rows"] for cell in row if isinstance(cell, list)]
    marks = {mark for cell in cells for _, mark in cell}
    return {
        "marks": [(mark, text) for mark, text in _MARKS.items() if mark in marks],
        "title": table["title"],
        "note": table["note"],
        "is_long": len(table["rows"]) > LONG,
        "header": [name for name, _ in table["columns"]],
        "rows": [
            [_cell(cell, is_share) for cell, is_share in zip(row, shares, strict=True)]
            for row in table["rows"]
        ],
    }


def _cell(cell: Any, is_share: bool) -> list[tuple[str, str]]:
    """The parts of a cell: texts with their marks."""
    if isinstance(cell, list):
        return [(text, mark) for text, mark in cell]
    if isinstance(cell, str):
        return [(cell, "")]
    return [("" if cell is None else number(cell, is_share), "")]
