"""Draws the curves of a pre-training run: `python -m benchmarks.pretraining_curve --run=DIR`.

Reads the TensorBoard scalars and eval_results.txt of a model directory of run_pretraining.py and
writes a PNG. Needs matplotlib (requirements-benchmarks.txt).
"""

import argparse
import os
import pathlib

import matplotlib
import numpy as np
from tensorboard.backend.event_processing.event_accumulator import TENSORS, EventAccumulator
from tensorboard.util import tensor_util

from bert_tf import files

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402  after the choice of a backend without a screen

_LOSSES = (("masked_lm_loss", "masked LM"), ("next_sentence_loss", "next sentence"))
_ACCURACIES = (("masked_lm_accuracy", "masked LM"), ("next_sentence_accuracy", "next sentence"))
_WINDOW = 25  # points in the running mean


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", required=True, help="model directory of run_pretraining.py")
    parser.add_argument("--output", default="docs/pretraining.png")
    parser.add_argument("--title", default="")
    arguments = parser.parse_args()
    events = EventAccumulator(
        os.path.join(arguments.run, "tensorboard"), size_guidance={TENSORS: 0}
    ).Reload()
    held_out = _held_out(arguments.run)
    figure, panels = pyplot.subplots(1, 2, figsize=(11, 4))
    for panel, names, label in (
        (panels[0], _LOSSES, "loss (nats)"),
        (panels[1], _ACCURACIES, "accuracy"),
    ):
        for name, shown in names:
            steps, values = _series(events, name)
            (line,) = panel.plot(steps, _running_mean(values), label=f"{shown}, training")
            if name in held_out:
                panel.plot(steps[-1], held_out[name], "o", color=line.get_color())
                panel.annotate(
                    f"{held_out[name]:.3f} held out",
                    (steps[-1], held_out[name]),
                    xytext=(0, 7),
                    textcoords="offset points",
                    horizontalalignment="right",
                )
        panel.set_xlabel("updates")
        panel.set_ylabel(label)
        panel.legend(loc="center right")
    figure.suptitle(arguments.title)
    figure.tight_layout()
    with files.replacing(arguments.output) as temporary:
        figure.savefig(temporary, format="png", dpi=110)


def _series(events, name):
    found = events.Tensors(name)
    values = [float(tensor_util.make_ndarray(event.tensor_proto)) for event in found]
    return np.array([event.step for event in found]), np.array(values)


def _running_mean(values):
    width = min(_WINDOW, len(values))
    padded = np.concatenate([np.full(width - 1, values[0]), values])
    return np.convolve(padded, np.full(width, 1 / width), "valid")


def _held_out(run):
    path = pathlib.Path(run, "eval_results.txt")
    if not path.exists():
        return {}
    lines = (line.split(" = ") for line in path.read_text().splitlines())
    return {name: float(value) for name, value in lines}


if __name__ == "__main__":
    main()
