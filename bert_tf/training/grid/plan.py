"""The runs of a grid: their names, their options, and what the grid of a directory is.

A point is a combination of values of the searched options. A run is a point and a seed; it has a
model directory of its own, `runs/learning_rate=3e-5+train_batch_size=16+seed=12345` in that of the
grid. Files next to `runs`:

    grid.json                           what all runs have in common
    grid_results.json, grid_results.tsv the scores of every run
"""

import dataclasses
import decimal
import os
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from bert_tf import flagging
from bert_tf import identity as run_identity
from bert_tf.errors import InputError
from bert_tf.options.finetuning import grid
from bert_tf.options.finetuning.grid import Value

RUNS = "runs"
_FILE = "grid.json"
_SEED = "seed"
_SMALL, _LARGE = 1e-3, 1e15  # numbers between them have no exponent, as in `formatting`

Options = TypeVar("Options")


@dataclasses.dataclass(frozen=True)
class PlannedRun:
    """A run of a grid.

    Attributes:
      values: of the searched options, sorted by name.
    """

    values: Mapping[str, Value]
    seed: int

    @property
    def name(self) -> str:
        """Its directory in `runs`."""
        return named({**self.values, _SEED: self.seed})


def named(values: Mapping[str, Value]) -> str:
    """Values as a file may be named: "learning_rate=3e-5+train_batch_size=16".

    Without commas, which separate paths in flags.
    """
    return "+".join(f"{name}={as_text(value)}" for name, value in values.items())


def as_text(value: Value) -> str:
    """A value in few characters, with all its digits: "3e-5", "0.1", "3", "true"."""
    if not isinstance(value, float):
        return flagging.as_text(value)
    if value == 0 or _SMALL <= abs(value) < _LARGE:
        return repr(value).removesuffix(".0")
    return f"{decimal.Decimal(repr(value)):e}".replace("e+", "e")


def runs(options: Any) -> list[PlannedRun]:
    """The runs that the options ask for: every point with the first seed, then with the next."""
    points = list(grid.combinations(grid.searched(options)))
    seeds = range(options.random_seed, options.random_seed + options.restarts)
    return [PlannedRun(point, seed) for seed in seeds for point in points]


def options_of(options: Options, run: PlannedRun) -> Options:
    """The options of a run: it trains and evaluates in a directory of its own."""
    given: Any = options
    changes = grid.ONE_RUN | dict(run.values) | {"random_seed": run.seed, "do_predict": False}
    path = os.path.join(given.output_dir, RUNS, run.name)
    return dataclasses.replace(given, **changes, output_dir=path)


def claim(options: Any, command: str) -> None:
    """Takes the directory for this grid, unless it is another one's.

    Args:
      command: of `bert_tf.commands`, which the runs are of.

    Raises:
      InputError: the directory holds another grid, or a run that is of none.
    """
    path = os.path.join(options.output_dir, _FILE)
    identity = _identity(options, command)
    if differences := run_identity.differences(path, identity):
        raise InputError(
            f"--output_dir={options.output_dir} holds another grid: {'; '.join(differences)}. More "
            "values and more restarts may be added to it; for anything else, give a new "
            "--output_dir."
        )
    if not os.path.exists(path) and _holds_other_run(options.output_dir):
        raise InputError(
            f"--output_dir={options.output_dir} holds a run that is not of a grid. Give a new "
            "--output_dir."
        )


def keep(options: Any, command: str) -> None:
    """Writes down what the grid of the directory is."""
    os.makedirs(options.output_dir, exist_ok=True)
    run_identity.keep(os.path.join(options.output_dir, _FILE), _identity(options, command))


def _holds_other_run(directory: str) -> bool:
    names = ("model.json", os.path.join("training", "identity.json"))
    return any(os.path.exists(os.path.join(directory, name)) for name in names)


def refuse_single_run(directory: str) -> None:
    """Refuses the directory of a grid to a training that is not of it.

    Raises:
      InputError: the directory is a grid's.
    """
    if os.path.exists(os.path.join(directory, _FILE)):
        raise InputError(
            f"--output_dir={directory} holds the runs of a grid. Give --grid and --restarts as in "
            "its flags.txt to go on with it, or a new --output_dir."
        )


def _identity(options: Any, command: str) -> dict[str, Any]:
    """What all runs of a grid have in common; options with their defaults are left out."""
    names = list(grid.searched(options))
    free = grid.HOW_IT_RUNS.union(names)
    common = {
        field.name: getattr(options, field.name)
        for field in dataclasses.fields(options)
        if field.name not in free and getattr(options, field.name) != field.default
    }
    return common | {"command": command, "searched options": names}


def others(known: Iterable[str], planned: Iterable[PlannedRun]) -> list[str]:
    """Names of the runs that earlier starts of the grid made and this one does not ask for."""
    asked = {run.name for run in planned}
    return [name for name in known if name not in asked]
