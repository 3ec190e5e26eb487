"""`--grid` and `--restarts`: makes the runs, compares them and keeps the best one (appendix A.3).

A grid that was killed goes on where it was: runs that are complete are not made again, and a run
that was broken off resumes from its own state. A failed run does not end the others; the same
command tries it again.
"""

import dataclasses
import functools
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bert_tf import files, flagging
from bert_tf.errors import InputError, UnfinishedError
from bert_tf.formatting import duration, number, percent
from bert_tf.progress import Progress
from bert_tf.training.grid import best_model, children, plan, results
from bert_tf.training.grid.children import Child
from bert_tf.training.grid.plan import PlannedRun
from bert_tf.training.grid.results import Result, Results
from bert_tf.training.monitoring import history
from bert_tf.training.monitoring.scores import Scores
from bert_tf.training.report import page
from bert_tf.training.resume.directory_lock import DirectoryLock
from bert_tf.training.resume.interrupt import Interrupt, Interrupted

_SECONDS_BETWEEN_LOOKS = 2.0


@dataclasses.dataclass(frozen=True)
class Script:
    """The script that makes the runs.

    Attributes:
      command: of `bert_tf.commands`.
      check: reads and checks everything that the options of a run name, and gives the name of the
        metric that decides. It loads no TensorFlow.
      start: runs what options ask for in this process.
    """

    command: str
    check: Callable[[Any], str]
    start: Callable[[Any], None]


def run(options: Any, script: Script) -> None:
    """Makes the runs that --grid and --restarts ask for, and leaves the best one's model.

    Raises:
      InputError: wrong input, or the directory is another run's.
      UnfinishedError: some of the runs failed.
      Interrupted: the process was told to end; every run has saved its state.
    """
    _refuse_cluster(os.environ.get("TF_CONFIG", ""))
    files.require_writable_directory(options.output_dir, "--output_dir")
    plan.claim(options, script.command)
    planned = plan.runs(options)
    found = results.read(options.output_dir)
    complete = {each.name for each in found.complete} if found else set()
    todo = [each for each in planned if each.name not in complete]
    if todo:
        metric = script.check(plan.options_of(options, todo[0]))
        found = dataclasses.replace(found or Results(metric), main_metric=metric)
    assert found  # without it there is something to do
    lock = DirectoryLock(os.path.join(options.output_dir, plan.RUNS))
    try:
        _start(options, script, planned, len(todo))
        _tell_of_others(found, planned)
        found = _Search(options, script.command, planned, found).make(todo)
        _finish(options, script, found)
    finally:
        lock.release()


def _refuse_cluster(tf_config: str) -> None:
    """Refuses several processes that train together: each of them would make the grid."""
    try:
        cluster = json.loads(tf_config or "{}")["cluster"]
        num_workers = sum(len(cluster.get(kind, ())) for kind in ("chief", "worker"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return  # none, or a wrong one, which the runs refuse
    if num_workers > 1:
        raise InputError(
            "--grid and --restarts work on one machine, and the environment variable TF_CONFIG "
            f"names {num_workers}. Unset it; --parallel_runs uses several GPUs of a machine."
        )


def _start(options: Any, script: Script, planned: Sequence[PlannedRun], num_todo: int) -> None:
    """Writes what the grid is, and says what is to do."""
    plan.keep(options, script.command)
    path = os.path.join(options.output_dir, "flags.txt")
    files.write_text(path, flagging.to_flagfile(options))
    flagging.announce(options, path)
    points = len({plan.named(each.values) for each in planned})
    print(
        f"Grid: points {points}, seeds {options.restarts}, runs {len(planned)}; to do {num_todo}, "
        f"{options.parallel_runs} at a time",
        flush=True,
    )


def _tell_of_others(found: Results, planned: Sequence[PlannedRun]) -> None:
    if others := plan.others([each.name for each in found.complete], planned):
        print(f"Runs of earlier starts, which count too: {len(others)}", flush=True)


class _Search:
    """The runs at work, and what the terminal shows of them."""

    def __init__(
        self, options: Any, command: str, planned: Sequence[PlannedRun], found: Results
    ) -> None:
        self._options, self._command, self._found = options, command, found
        self._numbers = {each.name: number for number, each in enumerate(planned, start=1)}

    def make(self, todo: Sequence[PlannedRun]) -> Results:
        """Makes runs; returns all results.

        Raises:
          Interrupted: the process was told to end.
        """
        if not todo:
            return self._found
        total = len(self._numbers)
        starts = [functools.partial(self._start, each) for each in todo]
        environments = children.of_this_machine(min(self._options.parallel_runs, len(todo)))
        options = [plan.options_of(self._options, each) for each in todo]
        work = _Work([each.num_train_epochs for each in options])
        with (
            Interrupt(bool) as interrupt,
            Progress("grid", total, "runs", done=total - len(todo), has_speed=False) as progress,
        ):

            def look(at_work: Mapping[int, Child]) -> bool:
                if work.update(at_work):
                    progress.advance(0, seconds_left=work.seconds_left, **self._note(work))
                return not interrupt.asked()

            def ended(index: int, child: Child) -> None:
                self._add(todo[index], child)
                work.end(index)
                progress.advance(1, seconds_left=work.seconds_left, **self._note(work))

            if children.run_all(starts, environments, ended, look):
                return self._found
        print(
            "The grid was interrupted; its runs have saved their states. The same command goes on.",
            file=sys.stderr,
            flush=True,
        )
        raise Interrupted

    def _start(self, planned: PlannedRun, environment: Mapping[str, str]) -> Child:
        return Child(self._command, plan.options_of(self._options, planned), environment)

    def _add(self, planned: PlannedRun, child: Child) -> None:
        """Keeps and prints the result of a run that has ended."""
        result = _result(planned, child, self._found.main_metric)
        self._found = self._found.with_run(result)
        results.write(self._options.output_dir, self._found)
        text = f"Run {self._numbers[result.name]} of {len(self._numbers)}, {result.name}: "
        if result.is_complete:
            score = number(self._found.score(result))
            text += f"{self._found.main_metric} {score}, {duration(result.seconds)}"
            text += " (best so far)" if result is self._found.best else ""
            if not self._options.keep_all_runs:
                best_model.remove_others(self._options.output_dir, self._found)
        else:
            text += f"failed: {result.error} ({os.path.join(child.directory, children.LOG)})"
        print(text, flush=True)

    def _note(self, work: "_Work") -> dict[str, str]:
        best = self._found.best
        note = {"best": number(self._found.score(best))} if best else {}
        return note | {"at work": ", ".join(percent(share, 2) for share in work.shares) or "none"}


class _Work:
    """How much of the runs is done, and how long the rest will take.

    Args:
      epochs: of each run; what a run costs is taken to grow with them.
    """

    def __init__(self, epochs: Sequence[float]) -> None:
        self._epochs = list(epochs)
        self._shares = [0.0] * len(self._epochs)
        self._before: dict[int, float] = {}  # what earlier starts had done of a run
        self._start = time.monotonic()
        self._last_look = -_SECONDS_BETWEEN_LOOKS
        self._at_work: list[int] = []

    def update(self, at_work: Mapping[int, Child]) -> bool:
        """Looks at the logs of the runs at work, unless it has done so just now."""
        if time.monotonic() - self._last_look < _SECONDS_BETWEEN_LOOKS:
            return False
        self._last_look = time.monotonic()
        self._at_work = list(at_work)
        for index, child in at_work.items():
            self._shares[index] = child.share_done
            self._before.setdefault(index, self._shares[index])
        return True

    def end(self, index: int) -> None:
        """Counts a run as done."""
        self._shares[index] = 1.0
        self._at_work = [each for each in self._at_work if each != index]

    @property
    def shares(self) -> list[float]:
        """How much is done of each run at work."""
        return [self._shares[index] for index in self._at_work]

    @property
    def seconds_left(self) -> float | None:
        """None while it is not known."""
        done = sum(
            epochs * (share - self._before.get(index, 0.0))
            for index, (epochs, share) in enumerate(zip(self._epochs, self._shares, strict=True))
        )
        left = sum(
            epochs * (1.0 - share) for epochs, share in zip(self._epochs, self._shares, strict=True)
        )
        return (time.monotonic() - self._start) * left / done if done > 0 else None


def _result(planned: PlannedRun, child: Child, main_metric: str) -> Result:
    """The result of a run that has ended."""
    seconds = history.read(os.path.join(child.directory, history.NAME)).seconds
    if error := child.error:
        return Result.of(planned, seconds=seconds, error=error)
    best = Scores(child.directory, main_metric).best
    if best is None:
        return Result.of(planned, seconds=seconds, error="it has left no scores.jsonl")
    metrics = {name: value for name, value in best.items() if name != "step"}
    return Result.of(planned, metrics=metrics, step=best["step"], seconds=seconds)


def _finish(options: Any, script: Script, found: Results) -> None:
    """Leaves the model of the best run, table and report; predicts if that is asked for."""
    directory, best = options.output_dir, found.best
    if best:
        best_model.place(directory, best.name)
        if not options.keep_all_runs:
            best_model.remove_others(directory, found)
        print(f"Results, {found.main_metric} on the dev set, the best mean first:")
        print(results.table(found))
        print(
            f"Best run: {best.name}, {found.main_metric} {number(found.score(best))} after step "
            f"{best.step:,}; {os.path.join(directory, 'best')} has its weights."
        )
    print(f"All runs: {os.path.join(directory, results.TSV_NAME)}")
    print(f"Report: {page.write(directory)}", flush=True)
    if best and options.do_predict:
        script.start(_to_predict(options, best))
    if found.failed:
        names = ", ".join(each.name for each in found.failed)
        raise UnfinishedError(
            f"{len(found.failed)} of {len(found.runs)} runs failed: {names}. "
            f"{os.path.join(directory, plan.RUNS)} has the {children.LOG} of each; the same "
            "command tries them again."
        )


def _to_predict(options: Any, best: Result) -> Any:
    """Options with which the model of the grid predicts."""
    planned = PlannedRun(best.values, best.seed)
    return dataclasses.replace(
        plan.options_of(options, planned),
        output_dir=options.output_dir,
        do_train=False,
        do_eval=False,
        do_predict=True,
    )
