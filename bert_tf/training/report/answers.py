"""What a report shows of a model's answers on the dev set: calibration, and the task's tables.

It is made from `evaluation.json`; see `evaluation_file`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bert_tf.tasks.evaluation import Diagram, Part
from bert_tf.tasks.scoring.calibration import Bin, Calibration
from bert_tf.training.report.rendering import number, render

LONG = 25  # rows; a table of more is folded
_MARKS = {"right": "right", "wrong": "answered, and wrong", "missed": "right, and not answered"}
_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 306, 14, 214  # of a diagram
_SHARES = [index / 5 for index in range(6)]  # at the ticks of its axes


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
        "svg": _reliability(filled),
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


def _x(share: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * share, 1)


def _y(share: float) -> float:
    return round(_BOTTOM - (_BOTTOM - _TOP) * share, 1)


def _diagram(template: str, **values: Any) -> str:
    """An `svg` element whose axes are shares."""
    return render(
        template,
        left=_LEFT,
        right=_RIGHT,
        top=_TOP,
        bottom=_BOTTOM,
        y_ticks=[(_y(share), number(share, is_share=True)) for share in _SHARES],
        x_ticks=[(_x(share), number(share, is_share=True)) for share in _SHARES],
        **values,
    )


def _reliability(bins: Sequence[Bin]) -> str:
    """Bars of the share of right answers over the confidence."""
    return _diagram(
        "calibration.svg",
        bars=[
            {
                "x": _x(each.low),
                "y": _y(each.accuracy),
                "width": round(_x(each.high) - _x(each.low), 1),
                "height": round(_BOTTOM - _y(each.accuracy), 1),
                "hint": f"{_range(each)} sure: {each.num_answers:,} answers, "
                f"{number(each.accuracy, is_share=True)} right",
            }
            for each in bins
        ],
        points=[(_x(each.confidence), _y(each.accuracy)) for each in bins],
    )


def _table(table: Mapping[str, Any]) -> dict[str, Any]:
    shares = [is_share for _, is_share in table["columns"]]
    rows = [
        [_cell(cell, is_share) for cell, is_share in zip(row, shares, strict=True)]
        for row in table["rows"]
    ]
    marks = {part.mark for row in rows for cell in row for part in cell}
    diagram = table.get("diagram")
    return {
        "marks": [(mark, text) for mark, text in _MARKS.items() if mark in marks],
        "title": table["title"],
        "note": table["note"],
        "is_long": len(table["rows"]) > LONG,
        "header": [name for name, _ in table["columns"]],
        "rows": rows,
        "diagram": _lines(table, Diagram(*diagram)) if diagram else {},
    }


def _cell(cell: Any, is_share: bool) -> list[Part]:
    """The parts of a cell."""
    if isinstance(cell, list):
        return [Part(*each) for each in cell]
    if isinstance(cell, str):
        return [Part(cell)]
    return [Part("" if cell is None else number(cell, is_share))]


def _lines(table: Mapping[str, Any], diagram: Diagram) -> dict[str, Any]:
    """The names of the lines, and the `svg` element."""
    names = [name for name, _ in table["columns"]]
    lines = [list(_points(table, diagram.x, column)) for column in diagram.lines]
    return {
        "names": [names[column] for column in diagram.lines],
        "svg": _diagram(
            "lines_of_table.svg",
            title=table["title"],
            x_name=names[diagram.x],
            lines=[
                {
                    "number": index,
                    "path": "L".join(f"{x} {y}" for x, y, _ in line),
                    "points": line,
                }
                for index, line in enumerate(lines, start=1)
                if line
            ],
            marks=[(_x(table["rows"][row][diagram.x]), text) for row, text in diagram.marks],
        ),
    }


def _points(table: Mapping[str, Any], x: int, y: int) -> Iterator[tuple[float, float, str]]:
    """Coordinates and hint of each row that has a number in both columns."""
    names = [name for name, _ in table["columns"]]
    for row in table["rows"]:
        if isinstance(row[x], int | float) and isinstance(row[y], int | float):
            values = [f"{names[i]} {number(row[i], is_share=True)}" for i in (y, x)]
            yield _x(row[x]), _y(row[y]), ", ".join(values)
