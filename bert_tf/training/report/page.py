"""The report of a run: one HTML file with its curves, results, configuration, data and machine.

python -m bert_tf.training.report --directory=output_dir

It is made from the files of the model directory, at the end of training or at any time before,
and needs nothing else to be looked at.
"""

import dataclasses
import itertools
import math
import os
import statistics
import time
from collections.abc import Iterator
from typing import Any

from bert_tf import files
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.formatting import abbreviated, duration
from bert_tf.training.grid import results
from bert_tf.training.monitoring.history import History
from bert_tf.training.report import answers, evaluation, grid_page, run_files
from bert_tf.training.report.figures import Curve, Mark, svg
from bert_tf.training.report.rendering import is_share, meaning, number, render, shown, words

NAME = "report.html"
# Endings of the values' names, in the order of their figures; others come last.
_ORDER = (
    *("loss", "accuracy", "exact_spans", "f1", "exact_match", "exact", "matthews", "pearson"),
    *("spearman", "mismatched", "learning_rate", "_norm", "loss_scale"),
    *("tokens_per_second", "real_share", "mfu", "_per_second"),
)
# Of evaluations alone: metrics for the head of the page, and counts, which have no figure.
_METRICS = ("f1", "exact_match", "exact", "matthews", "pearson", "spearman")
_COUNT = "total"
# What follows from the step alone has nothing to smooth.
_NOT_SMOOTHED = ("learning_rate", "loss_scale")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Flags of `python -m bert_tf.training.report`."""

    directory: str = option(REQUIRED, "The --output_dir of a training run.", is_path=True)


def main(options: ReportOptions) -> None:
    """Writes the report of a model directory."""
    if not os.path.isdir(options.directory):
        raise InputError(
            f"--directory={options.directory} is not a directory; name the --output_dir of a run."
        )
    print(f"Wrote {write(options.directory)}.")


def write(directory: str) -> str:
    """Writes `report.html` into a model directory; returns its path.

    That of a grid shows its runs side by side.

    Raises:
      InputError: the directory holds neither `metrics.jsonl` nor `flags.txt`.
    """
    path = os.path.join(directory, NAME)
    if runs := results.read(directory):
        text = grid_page.page(directory, runs, _title(run_files.read(directory).metadata))
    else:
        text = page(run_files.read(directory))
    files.write_text(path, text)
    return path


def page(run: run_files.Run) -> str:
    """The report as HTML."""
    starts = run.history.events("start")
    settings = {
        "Configuration (bert_config.json)": run.config,
        "Flags (flags.txt)": run.flags,
        "Environment of the last start": starts[-1].get("environment") if starts else None,
        "Model (model.json)": run.metadata,
    }
    return render(
        "run.html",
        run=run,
        title=_title(run.metadata),
        subtitle=_subtitle(run.config),
        ending=_ending(run.history),
        tiles=[*_amounts(run.history), *_speeds(run.history), *_last_evaluation(run.history)],
        figures=list(_figures(run.history)),
        evaluations=evaluation.by_update(run.history),
        compared=evaluation.last_and_best(run.results),
        confusion=evaluation.confusion(run),
        answers=answers.shown(run.evaluation),
        starts=[_start(line) for line in starts],
        phases=_phases(run.history.phases()),
        settings=[(title, _texts(values)) for title, values in settings.items() if values],
        records=[(f"{each.use} records", run_files.describe(each)) for each in run.records],
    )


def _title(metadata: dict[str, Any]) -> str:
    kind = KINDS.get(metadata.get("kind", ""))
    title = kind.title if kind else "Training"
    return f"{title}: {metadata['task']}" if metadata.get("task") else title


def _texts(values: dict[str, Any]) -> dict[str, Any]:
    """Lists without the brackets of Python."""
    return {
        name: ", ".join(map(str, value)) if isinstance(value, list) else value
        for name, value in values.items()
    }


def _subtitle(config: dict[str, Any]) -> str:
    names = {
        "num_hidden_layers": "layers",
        "hidden_size": "numbers per vector",
        "num_attention_heads": "attention heads",
        "vocab_size": "tokens in the vocabulary",
    }
    shown = ((config[name], word) for name, word in names.items() if name in config)
    return ", ".join(f"{n:,} {word.removesuffix('s') if n == 1 else word}" for n, word in shown)


def _ending(history: History) -> str:
    """Why a training ended before its last update; "" if it did not."""
    end = (history.events("end") or [{}])[-1]
    if not end.get("early_stopping") or history.state != "complete":
        return ""
    of = f" of {number(end['num_steps'])}" if end.get("num_steps") else ""
    return f"Early stopping after update {number(end['step'])}{of}: {end['early_stopping']}."


def _amounts(history: History) -> Iterator[tuple[str, str]]:
    yield "updates", f"{history.last_step:,}"
    yield "time of training", duration(history.seconds)
    for start in history.events("start")[-1:]:
        for name, value in start.get("sizes", {}).items():
            yield name, number(value) if isinstance(value, int | float) else str(value)


def _speeds(history: History) -> Iterator[tuple[str, str]]:
    for name in ("tokens_per_second", "real_share", "mfu"):
        values = [value for value in history.series(name)[1] if math.isfinite(value)]
        if values:
            peak = _peak(history) if name == "mfu" else ""
            yield f"{words(name)}, median{peak}", shown(name, statistics.median(values))


def _peak(history: History) -> str:
    """What the utilisation is relative to, where the run has measured it."""
    peaks = [line.get("flops_per_second") for line in history.events("peak")]
    return f", of {abbreviated(peaks[-1], 'FLOP/s')}" if peaks and peaks[-1] else ""


def _last_evaluation(history: History) -> Iterator[tuple[str, str]]:
    evaluations = history.evaluations()
    last = evaluations[max(evaluations)] if evaluations else {}
    for index, (name, value) in enumerate(last.items()):
        # The first one is what decides which weights are the best.
        if index == 0 or name.endswith(("loss", "accuracy")) or name in _METRICS:
            yield f"{words(name)}, held-out", shown(name, value)


def _figures(history: History) -> Iterator[dict[str, str]]:
    last_step, evaluations = max(1, history.last_step), history.evaluations()
    marks = [*_restarts(history), *_phase_starts(history)]
    names = dict.fromkeys(itertools.chain(history.names(), *evaluations.values()))
    for name in sorted((name for name in names if not name.endswith(_COUNT)), key=_rank):
        held_out = {step: each[name] for step, each in evaluations.items() if name in each}
        steps, values = history.series(name)
        curve = Curve(
            title=words(name),
            steps=steps,
            values=values,
            held_out_steps=sorted(held_out),
            held_out_values=[held_out[step] for step in sorted(held_out)],
            is_share=is_share(name),
            is_smoothed=name not in _NOT_SMOOTHED,
        )
        yield {
            "title": curve.title,
            "meaning": meaning(name),
            "last": curve.last,
            "svg": svg(curve, marks, last_step),
        }


def _rank(name: str) -> int:
    ranks = (rank for rank, ending in enumerate(_ORDER) if name.endswith(ending))
    return next(ranks, len(_ORDER))


def _restarts(history: History) -> Iterator[Mark]:
    for line in history.events("start")[1:]:
        again = line["last_step"] - line["step"]
        hint = f"start {line['number']}: goes on after update {line['step']:,}"
        hint += f", {again:,} updates run again" if again else ""
        yield Mark(line["step"], "restart", "", hint)


def _phase_starts(history: History) -> Iterator[Mark]:
    for line in history.phases()[1:]:
        length = line["sizes"].get("max_seq_length")
        sizes = ", ".join(f"{name} {value}" for name, value in line["sizes"].items())
        label = f"length {length}" if length else "phase"
        yield Mark(line["step"], "phase", label, f"after update {line['step']:,}: {sizes}")


def _phases(lines: list[dict[str, Any]]) -> evaluation.Table:
    return evaluation.table("After update", [(line["step"], line["sizes"]) for line in lines])


def _start(line: dict[str, Any]) -> list[str]:
    environment = line.get("environment", {})
    return [
        str(line["number"]),
        time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(line["time"])),
        f"{line['step']:,}",
        f"{line['last_step'] - line['step']:,}",
        environment.get("Strategy", ""),
        environment.get("Replicas", ""),
    ]
