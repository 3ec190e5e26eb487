"""`--grid` and `--restarts`: which options are varied over several runs, and over which values."""

import dataclasses
import difflib
import itertools
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.flagging import option
from bert_tf.options.checks import require_positive

Value: TypeAlias = bool | int | float | str

# Appendix A.3 of the paper: "the following range of possible values to work well across all tasks".
_PAPER: dict[str, tuple[Value, ...]] = {
    "learning_rate": (5e-5, 3e-5, 2e-5),
    "num_train_epochs": (2.0, 3.0, 4.0),
    "train_batch_size": (16, 32),
}
# Options of a single run.
ONE_RUN: dict[str, Any] = {
    "grid": None,
    "restarts": 1,
    "parallel_runs": 1,
    "keep_all_runs": False,
}
_EXAMPLE = '--grid="learning_rate=2e-5,3e-5;train_batch_size=16,32"'

# Options that say how and where a run is made, and not what it learns. They may be others when a
# grid is started again. A run's name has its seed.
HOW_IT_RUNS = frozenset(
    "output_dir do_train do_eval do_predict test_file eval_batch_size predict_batch_size "
    "save_checkpoints_steps iterations_per_loop keep_training_state log_steps random_seed "
    "grid restarts parallel_runs keep_all_runs num_micro_batches distribution_strategy use_tpu "
    "tpu_name tpu_zone gcp_project master num_tpu_cores jit_compile length_buckets "
    "stream_records verbose_logging".split()
)
# Options that say what is learned and measured: runs with different ones cannot be compared.
_WHAT_IS_LEARNED = frozenset(
    "task_name task_type do_lower_case version_2_with_negative max_predict_examples recipe".split()
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GridSearch:
    """Flags of a script that can make several runs and keep the best one."""

    grid: str | None = option(
        None,
        "(new) Make a run for each combination of these values, and keep the one with the best dev "
        f"score: paper, those of its appendix A.3; or a list as in {_EXAMPLE}.",
    )
    restarts: int = option(
        1, "(new) Runs for each combination of --grid, with --random_seed and the seeds after it."
    )
    parallel_runs: int = option(
        1, "(new) Runs side by side; each gets its share of the cores and of the GPUs."
    )
    keep_all_runs: bool = option(
        False, "(new) Keep the weights of every run of --grid; false: only those of the best."
    )

    @property
    def has_grid(self) -> bool:
        """Whether several runs are asked for, or one as a run of a grid."""
        return self.grid is not None or self.restarts > 1


def check(options: Any) -> None:
    """Checks what --grid and --restarts ask for, the options of every run included.

    Args:
      options: of a class that is a `GridSearch` and a `FineTuning`.

    Raises:
      InputError: an option is unknown, cannot be varied, or has a value that is refused.
    """
    require_positive(options, "restarts", "parallel_runs")
    if not options.has_grid:
        _refuse_without_grid(options)
        return
    given = "--grid" if options.grid is not None else "--restarts"
    if not (options.do_train and options.do_eval):
        missing = "--do_eval" if options.do_train else "--do_train"
        raise InputError(
            f"{given} needs --do_train and --do_eval, because the best run is the one with the "
            f"best score on the dev set; {missing} is missing. To use the model of a grid that is "
            f"done, leave out {given}."
        )
    if options.use_tpu and options.parallel_runs > 1:
        raise InputError(
            f"--parallel_runs={options.parallel_runs} is for CPUs and GPUs: a run takes all of a "
            "TPU. Leave it out."
        )
    for values in combinations(searched(options)):
        try:
            dataclasses.replace(options, **values, **ONE_RUN)
        except InputError as error:
            raise InputError(f"--grid={options.grid}: {error}") from None


def _refuse_without_grid(options: Any) -> None:
    if options.parallel_runs > 1 or options.keep_all_runs:
        name = "parallel_runs" if options.parallel_runs > 1 else "keep_all_runs"
        value = flagging.as_text(getattr(options, name))
        raise InputError(
            f"--{name}={value} is for several runs. Give --grid or --restarts, or leave it out."
        )


def combinations(values: Mapping[str, tuple[Value, ...]]) -> Iterator[dict[str, Value]]:
    """Every combination of the values of each option; one empty combination without options."""
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def searched(options: Any) -> dict[str, tuple[Value, ...]]:
    """The options that --grid varies, sorted by name, with their values in the order given.

    Raises:
      InputError: see `check`.
    """
    if options.grid is None:
        return {}
    if options.grid == "paper":
        return dict(_PAPER)
    found: dict[str, tuple[Value, ...]] = {}
    for part in filter(None, (part.strip() for part in options.grid.split(";"))):
        name, separator, texts = (each.strip() for each in part.partition("="))
        if not separator or not all(text.strip() for text in texts.split(",")):
            raise InputError(
                f"--grid: {part!r} is not an option with its values. Separate values by commas and "
                f"options by semicolons, as in {_EXAMPLE}, or give --grid=paper."
            )
        name = name.lstrip("-")
        _check_name(type(options), name)
        if name in found:
            raise InputError(f"--grid names {name} twice. Put all of its values into one list.")
        values = [_parsed(type(options), name, text.strip()) for text in texts.split(",")]
        found[name] = tuple(dict.fromkeys(values))
    if not found:
        raise InputError(f"--grid={options.grid} names no option. Give one, as in {_EXAMPLE}.")
    return dict(sorted(found.items()))


def _check_name(options_class: type, name: str) -> None:
    """Refuses what is no option, and what cannot be varied."""
    names = _searchable(options_class)
    if name in names:
        return
    if name not in {field.name for field in dataclasses.fields(options_class)}:
        nearest = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {nearest[0]}?" if nearest else f" It can vary {', '.join(names)}."
        raise InputError(f"--grid: there is no option {name}.{hint}")
    if name == "random_seed":
        raise InputError("--grid cannot vary random_seed. Give --restarts=NUMBER for more seeds.")
    raise InputError(
        f"--grid cannot vary {name}: only what a training does may differ from run to run, not its "
        f"data, its devices or its files. It can vary {', '.join(names)}."
    )


def _searchable(options_class: type) -> list[str]:
    """Options that --grid can vary: numbers, switches and choices that decide a training."""
    kinds = flagging.flag_types(options_class)
    return sorted(
        field.name
        for field in dataclasses.fields(options_class)
        if (kinds[field.name] is not str or field.metadata["choices"])
        and field.name not in HOW_IT_RUNS | _WHAT_IS_LEARNED
    )


def _parsed(options_class: type, name: str, text: str) -> Value:
    try:
        return flagging.parse_value(options_class, name, text)
    except InputError as error:
        raise InputError(f"--grid: {error}") from None
