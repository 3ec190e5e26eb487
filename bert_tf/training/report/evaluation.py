"""What a report says about held-out data: metrics by update, those of the last and best weights."""

from collections.abc import Iterable
from typing import Any

from bert_tf.training.monitoring.history import History
from bert_tf.training.report.rendering import number, shown, words
from bert_tf.training.report.run_files import Run

Table = dict[str, Any]  # "header": list of str, "rows": list of lists; empty: nothing to show

_MAX_EVALUATIONS = 20
_PREFIX, _BEST = "eval_", "best_"  # of names in eval_results.txt
_STEP = "global_step"


def by_update(history: History) -> Table:
    """The metrics of the last evaluations, a row for each."""
    evaluations = history.evaluations()
    steps = sorted(evaluations)[-_MAX_EVALUATIONS:]
    lines = [
        (step, {name: shown(name, value) for name, value in evaluations[step].items()})
        for step in steps
    ]
    return table("After update", lines)


def table(first: str, lines: Iterable[tuple[int, dict[str, Any]]]) -> Table:
    """A row for each step and a column for each name; empty without lines."""
    lines = list(lines)
    names = list(dict.fromkeys(name for _, values in lines for name in values))
    rows = [[f"{step:,}", *(values.get(name, "") for name in names)] for step, values in lines]
    return {"header": [first, *map(words, names)], "rows": rows} if lines else {}


def last_and_best(results: dict[str, str]) -> Table:
    """The metrics of the last and of the best weights side by side.

    Args:
      results: what eval_results.txt holds; without best weights there is nothing to compare.
    """
    best = {name.removeprefix(_BEST): x for name, x in results.items() if name.startswith(_BEST)}
    last = {name: x for name, x in results.items() if not name.startswith(_BEST)}
    names = [name for name in last if name in best and name != _STEP]
    if _STEP not in best or _STEP not in last or not names:
        return {}
    header = ["Metric"]
    for which, values in (("Last", last), ("Best", best)):
        header.append(f"{which} weights, after update {number(int(values.pop(_STEP)))}")
    return {
        "header": header,
        "rows": [
            [words(_bare(name)), *(shown(_bare(name), float(each[name])) for each in (last, best))]
            for name in names
        ],
    }


def _bare(name: str) -> str:
    return name.removeprefix(_PREFIX)


def confusion(run: Run) -> Table:
    """How often each label got each answer, of the best weights or else the last ones.

    A row of the table is a label. Its first cells are the share of its examples that got it as
    answer (recall), and the share of the answers with it that are right (precision).
    """
    labels = run.metadata.get("labels", [])
    by_step = {line["step"]: line.get("confusion") for line in run.history.events("evaluation")}
    if run.evaluation:
        by_step[run.evaluation["step"]] = run.evaluation.get("confusion")
    step = int(run.results.get(_BEST + _STEP, max(by_step, default=0)))
    counts = by_step.get(step)
    if not counts or len(counts) != len(labels):
        return {}
    answered = [sum(column) for column in zip(*counts, strict=True)]
    return {
        "step": number(step),
        "header": ["Label", "Recall", "Precision", *(f"answered {label}" for label in labels)],
        "rows": [
            [label, _share(row[i], sum(row)), _share(row[i], answered[i]), *map(number, row)]
            for i, (label, row) in enumerate(zip(labels, counts, strict=True))
        ],
    }


def _share(part: int, whole: int) -> str:
    return number(part / whole, is_share=True) if whole else ""
