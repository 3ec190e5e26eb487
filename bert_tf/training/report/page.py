"""The report of a run: one HTML file with its curves, results, configuration, data and machine.

python -m bert_tf.training.report --directory=output_dir

It is made from what the model directory holds, at the end of training or at any time before, and
needs nothing else to be looked at.
"""

import dataclasses
import html
import math
import os
import statistics
import time

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.training.monitoring import history, throughput
from bert_tf.training.report import figures, run_files, style

NAME = "report.html"
_MAX_EVALUATIONS = 20
_TITLES = {
    "pretrain": "Pre-training",
    "classify": "Classification",
    "regress": "Regression",
    "span": "Question answering",
}
# Endings of the values' names, in the order of their figures; others come last.
_ORDER = ("loss", "accuracy", "exact_spans", "learning_rate", "_norm", "loss_scale")
_ORDER += ("tokens_per_second", "real_share", "mfu", "_per_second")
_SHARES = ("accuracy", "exact_spans", "share", "mfu")
# What follows from the step alone has nothing to smooth.
_NOT_SMOOTHED = ("learning_rate", "loss_scale")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Flags of `python -m bert_tf.training.report`."""

    directory: str = option(REQUIRED, "The --output_dir of a training run.")


def main(options):
    """Writes the report of a model directory.

    Args:
      options: `ReportOptions`.
    """
    if not os.path.isdir(options.directory):
        raise InputError(
            f"--directory={options.directory} is no directory; name the --output_dir of a run."
        )
    print(f"Wrote {write(options.directory)}.")


def write(directory):
    """Writes `report.html` into a model directory; returns its path.

    Raises:
      InputError: the directory holds neither `metrics.jsonl` nor `flags.txt`.
    """
    path = os.path.join(directory, NAME)
    files.write_text(path, page(run_files.read(directory)))
    return path


def page(run):
    """The report as HTML.

    Args:
      run: `run_files.Run`.

    Returns:
      str.
    """
    title, state = _title(run.card), run.history.state
    body = [
        f'<h1>{_text(title)}<span class="state {state}">{state}</span></h1>',
        f'<p class="muted">{_text(_subtitle(run.config))}</p>',
        _tiles(run),
        *_curves(run.history),
        *_evaluations(run),
        *_course(run.history),
        *_settings(run),
        *_data(run.records),
        f"<footer>Made by bert_tf from {_text(history.NAME)} and the other files of the model "
        "directory.</footer>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{style.STYLE}</style>\n</head>\n<body>\n"
        "<main>\n" + "\n".join(body) + f"\n</main>\n<script>{style.SCRIPT}</script>\n"
        "</body>\n</html>\n"
    )


def _title(card):
    kind = _TITLES.get(card.get("kind"), "Training")
    return f"{kind}: {card['task']}" if card.get("task") else kind


def _subtitle(config):
    names = (
        ("num_hidden_layers", "layers"),
        ("hidden_size", "wide"),
        ("num_attention_heads", "heads"),
        ("vocab_size", "tokens in the vocabulary"),
    )
    return ", ".join(f"{config[name]:,} {word}" for name, word in names if name in config)


def _tiles(run):
    found = run.history
    tiles = [("updates", f"{found.last_step:,}"), ("time", throughput.duration(found.seconds))]
    details = found.events("start")[-1] if found.events("start") else {}
    for name, value in details.get("sizes", {}).items():
        shown = figures.number(value) if isinstance(value, int | float) else str(value)
        tiles.append((name, shown))
    for name in ("tokens_per_second", "real_share", "mfu"):
        values = [value for value in found.series(name)[1] if math.isfinite(value)]
        if values:
            shown = figures.number(statistics.median(values), name.endswith(_SHARES))
            tiles.append((f"{run_files.words(name)}, median", shown))
    evaluations = found.evaluations()
    if evaluations:
        last = evaluations[max(evaluations)]
        for name, value in last.items():
            if name.endswith(("loss", "accuracy")):
                shown = figures.number(value, name.endswith(_SHARES))
                tiles.append((f"{run_files.words(name)}, held-out", shown))
    cells = (f"<div><b>{_text(value)}</b><span>{_text(name)}</span></div>" for name, value in tiles)
    return f'<div class="tiles">{"".join(cells)}</div>'


def _curves(found):
    last_step, evaluations, marks = max(1, found.last_step), found.evaluations(), _marks(found)
    drawn = []
    for name in sorted(found.names(), key=_place):
        held_out = {step: each[name] for step, each in evaluations.items() if name in each}
        steps, values = found.series(name)
        curve = figures.Curve(
            title=run_files.words(name),
            steps=steps,
            values=values,
            held_out_steps=sorted(held_out),
            held_out_values=[held_out[step] for step in sorted(held_out)],
            is_share=name.endswith(_SHARES),
            is_smoothed=name not in _NOT_SMOOTHED,
        )
        drawn.append(_figure(curve, marks, last_step))
    if drawn:
        yield f'{_LEGEND}\n<div class="figures">\n' + "\n".join(drawn) + "\n</div>"


def _place(name):
    places = (place for place, ending in enumerate(_ORDER) if name.endswith(ending))
    return next(places, len(_ORDER))


def _figure(curve, marks, last_step):
    good = [value for value in curve.values if math.isfinite(value)]
    last = f"last {figures.number(good[-1], curve.is_share)}" if good else "never finite"
    return (
        f"<figure><figcaption><b>{_text(curve.title)}</b>"
        f'<span class="reading">{last}</span></figcaption>\n'
        f"{figures.svg(curve, marks, last_step)}</figure>"
    )


def _legend_entry(kind, path, words):
    return (
        f'<span><svg class="{kind}" viewBox="0 0 26 12" aria-hidden="true">{path}</svg>'
        f"{words}</span>"
    )


_LEGEND = (
    '<h2>Curves</h2>\n<div class="legend">'
    + _legend_entry("", '<path class="smooth" d="M1 6H25"/>', "training, smoothed")
    + _legend_entry("", '<path class="logged" d="M1 9L7 3L13 9L19 3L25 9"/>', "as logged")
    + _legend_entry("", '<circle class="held-out" cx="13" cy="6" r="4"/>', "held-out")
    + _legend_entry("restart", '<path d="M13 0V12"/>', "restart")
    + _legend_entry("phase", '<path d="M13 0V12"/>', "a phase begins")
    + "<span>The axis counts updates.</span></div>"
)


def _marks(found):
    marks = []
    for line in found.events("start")[1:]:
        again = line["last_step"] - line["step"]
        hint = f"start {line['number']}: goes on after update {line['step']:,}"
        hint += f", {again:,} updates run again" if again else ""
        marks.append(figures.Mark(line["step"], "restart", "", hint))
    for line in found.phases()[1:]:
        length = line["sizes"].get("max_seq_length")
        sizes = ", ".join(f"{name} {value}" for name, value in line["sizes"].items())
        hint = f"after update {line['step']:,}: {sizes}"
        label = f"length {length}" if length else "phase"
        marks.append(figures.Mark(line["step"], "phase", label, hint))
    return marks


def _evaluations(run):
    evaluations = run.history.evaluations()
    if not evaluations and not run.results:
        return
    yield "<h2>Evaluation</h2>"
    if evaluations:
        steps = sorted(evaluations)[-_MAX_EVALUATIONS:]
        names = list(dict.fromkeys(name for step in steps for name in evaluations[step]))
        rows = [
            [f"{step:,}"]
            + [
                figures.number(evaluations[step][name], name.endswith(_SHARES))
                if name in evaluations[step]
                else ""
                for name in names
            ]
            for step in steps
        ]
        table = _table(rows, header=["Update", *map(run_files.words, names)])
        yield f'<div class="card wide">{table}</div>'
    if run.results:
        yield _card("eval_results.txt", run.results)


def _course(found):
    starts = found.events("start")
    if starts:
        rows = [
            [
                str(line["number"]),
                time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(line["time"])),
                f"{line['step']:,}",
                f"{line['last_step'] - line['step']:,}",
                line.get("environment", {}).get("Strategy", ""),
                line.get("environment", {}).get("Replicas", ""),
            ]
            for line in starts
        ]
        header = ["Start", "Time", "After update", "Updates run again", "Strategy", "Replicas"]
        yield f'<h2>Starts</h2>\n<div class="card wide">{_table(rows, header)}</div>'
    if found.num_damaged:
        words = f"{found.num_damaged} damaged line(s) of {history.NAME} are left out."
        yield f'<p class="muted">{words}</p>'
    if phases := found.phases():
        names = list(dict.fromkeys(name for line in phases for name in line["sizes"]))
        rows = [
            [f"{line['step']:,}", *(str(line["sizes"].get(name, "")) for name in names)]
            for line in phases
        ]
        table = _table(rows, header=["After update", *map(run_files.words, names)])
        yield f'<h2>Phases</h2>\n<div class="card wide">{table}</div>'


def _settings(run):
    starts = run.history.events("start")
    environment = starts[-1].get("environment", {}) if starts else {}
    cards = [
        _card(title, values)
        for title, values in (
            ("Configuration (bert_config.json)", run.config),
            ("Flags (flags.txt)", run.flags),
            ("Environment of the last start", environment),
            ("Model (model.json)", run.card),
        )
        if values
    ]
    if cards:
        yield '<h2>Settings</h2>\n<div class="tables">\n' + "\n".join(cards) + "\n</div>"


def _data(records):
    if records:
        yield '<h2>Data</h2>\n<div class="tables">'
        for each in records:
            yield _card(f"{each.use} records", run_files.describe(each))
        yield "</div>"


def _card(title, values):
    rows = [[name, value] for name, value in values.items()]
    return f'<div class="card"><h3>{_text(title)}</h3>{_table(rows, names_first=True)}</div>'


def _table(rows, header=None, names_first=False):
    parts = ["<table>"]
    if header:
        cells = "".join(f'<th scope="col">{_text(cell)}</th>' for cell in header)
        parts.append(f"<thead><tr>{cells}</tr></thead>")
    parts.append("<tbody>")
    for first, *others in rows:
        tag = '<th scope="row">{}</th>' if names_first else "<td>{}</td>"
        cells = tag.format(_text(first)) + "".join(f"<td>{_text(cell)}</td>" for cell in others)
        parts.append(f"<tr>{cells}</tr>")
    return "".join([*parts, "</tbody></table>"])


def _text(value):
    return html.escape(str(value))
