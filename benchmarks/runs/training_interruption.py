"""A run of two phases that is killed again and again ends as the one that nothing interrupts.

python -m benchmarks.runs.training_interruption [--text=data/corpus/train.txt]

run_pretraining.py with dropout 0.1 and two lengths, killed at seeded random moments, one in each
part of the run, some of them while a state is being saved, and started again with the same
command. Compared with the uninterrupted run, bit for bit: loss, accuracies, norms and learning
rate of every update, weights, the optimizer's moments, the evaluation, the curves of the report.
Restarts on another number of replicas round differently; there the differences are shown.
"""

import dataclasses
import os
import pathlib
import random
import re
import signal
import tempfile
import time

import numpy as np

from benchmarks.runs import training_runs
from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.flagging import option
from bert_tf.training.report import page as report
from bert_tf.training.report.rendering import words
from bert_tf.training.resume import interrupt

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "training_interruption.json"
PHASES, NUM_STEPS, SAVE_STEPS = "32:22:16,64:18:8:5e-4", 40, 4
BUCKETS = ("--length_buckets=16,32,48", "--gradient_accumulation_steps=2")
YES_NO = {True: "yes", False: "no", None: "-"}
UNFINISHED = r"\.step-(\d+)\..*"  # name of a state that is being saved
_OF_SPEED = re.compile(r"_per_second|mfu|real_share")  # of the last minute


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    text: str = option("data/corpus/train.txt", "Sentences to make records of.")
    seed: int = option(1, "Of the moments.")
    scenarios: str = option(
        "", "Those to run, by a part of the name; the results of the others stay."
    )


@dataclasses.dataclass(frozen=True)
class Scenario:
    """How a run is interrupted.

    Attributes:
      name: str.
      num_kills: int.
      flags: tuple of str.
      num_devices: tuple of int, replicas of its starts in turn; of the uninterrupted run the first.
      num_processes: int.
      signal: int, what it is killed with.
      is_exact: bool, whether it is to be the uninterrupted run bit for bit.
      straight_flags: tuple of str, those of the uninterrupted run; None: the same.
    """

    name: str
    num_kills: int
    flags: tuple = ()
    num_devices: tuple = (1,)
    num_processes: int = 1
    signal: int = signal.SIGKILL
    is_exact: bool = True
    straight_flags: tuple | None = None


SCENARIOS = (
    Scenario("one device", 5),
    Scenario("one device, tf.data", 5, (*BUCKETS, "--iterations_per_loop=1")),
    Scenario("one device, XLA", 2, (*BUCKETS, "--iterations_per_loop=1", "--jit_compile")),
    Scenario("2 replicas", 3, num_devices=(2,)),
    Scenario("2 processes", 2, num_processes=2),
    Scenario("one device, SIGTERM", 3, signal=signal.SIGTERM),
    # Where a call begins moves with the restart, and with it what is logged.
    Scenario(
        "one device, tf.data, 3 updates a call, SIGTERM",
        3,
        (*BUCKETS, "--iterations_per_loop=3"),
        signal=signal.SIGTERM,
        straight_flags=(*BUCKETS, "--iterations_per_loop=1"),
    ),
    Scenario("1, 2, 4 replicas in turn", 3, num_devices=(1, 2, 4), is_exact=False),
)


@dataclasses.dataclass(frozen=True)
class Moment:
    """When to kill: once `step` is logged, or while a state of it or a later one is saved.

    `delay` is how many seconds later.
    """

    step: int
    in_save: bool
    delay: float


def moments(scenario, options):
    """A moment in each part of the run, of every second or third of them in a save."""
    rng = random.Random(f"{options.seed} {scenario.name}")
    in_save = [number % 5 in (1, 3) for number in range(scenario.num_kills)]
    if scenario.signal == signal.SIGTERM:  # it never ends a save
        in_save = [False] * scenario.num_kills
    rng.shuffle(in_save)
    part = (NUM_STEPS - 6) / scenario.num_kills  # what is signalled can still stop
    return [
        Moment(rng.randint(int(n * part) + 1, int((n + 1) * part)), saves, rng.uniform(0, 0.02))
        for n, saves in enumerate(in_save)
    ]


class Run:
    """One output directory, and the starts that lead to its end."""

    def __init__(self, scenario, flags, directory):
        self.directory = directory
        self._scenario, self._flags = scenario, [*flags, f"--output_dir={directory}"]
        self._log_file = directory.with_name(f"{directory.name}.txt")
        self._num_starts = 0

    def start(self):
        """Starts it; returns its processes."""
        turns = self._scenario.num_devices
        num_devices = turns[self._num_starts % len(turns)]
        self._num_starts += 1
        if self._scenario.num_processes > 1:
            return training_runs.start_several(
                self._flags, self._log_file, self._scenario.num_processes
            )
        return [training_runs.start(self._flags, self._log_file, num_devices)]

    def finish(self):
        training_runs.finish(self.start(), self._log_file)

    def kill_at(self, moment):
        """Starts it and kills it; returns what was found then."""
        processes = self.start()
        while not self._is_due(moment):
            if any(process.poll() is not None for process in processes):
                raise InputError(f"A run ended before step {moment.step}; see {self._log_file}.")
            time.sleep(0.002)
        time.sleep(moment.delay)
        for process in processes:
            process.send_signal(self._scenario.signal)
        statuses = [process.wait() for process in processes]
        names = os.listdir(self.directory / "training")
        return {
            "wanted_step": moment.step,
            "wanted_in_save": moment.in_save,
            "statuses": statuses,
            "last_logged": training_runs.course(self.directory).last_step,
            "newest_state": max(_steps(names, r"step-(\d+)"), default=0),
            "unfinished_state": max(_steps(names, UNFINISHED), default=None),
        }

    def _is_due(self, moment):
        """Whether the start in hand has come to a moment."""
        found = training_runs.course(self.directory)
        starts = found.events("start")
        if not starts or starts[-1]["number"] < self._num_starts:
            return False
        after = found.lines[found.lines.index(starts[-1]) :]
        step = max(line["step"] for line in after)
        saved = max(_steps(os.listdir(self.directory / "training"), UNFINISHED), default=0)
        if moment.in_save:
            return saved >= min(moment.step, NUM_STEPS - SAVE_STEPS)
        return not saved and len(after) > 2 and step >= moment.step


def _steps(names, pattern):
    return [int(match[1]) for name in names if (match := re.fullmatch(pattern, name))]


def moments_of_optimizer(directory):
    """Dict from name to array of the last state."""
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(directory / "training" / f"step-{NUM_STEPS}" / "state"))
    names = reader.get_variable_to_dtype_map()
    return {name: reader.get_tensor(name) for name in names if name.startswith("optimizer")}


def curves_of_report(directory, names):
    """Dict from title to the lines drawn of some values."""
    titles = set(map(words, names))
    page = (directory / report.NAME).read_text(encoding="utf-8")
    figures = re.findall(r"<figure><figcaption><b>(.*?)</b>(.*?)</figure>", page, re.DOTALL)
    lines = r'<path class="(?:logged|smooth)" d="[^"]*"'
    return {title: re.findall(lines, drawn) for title, drawn in figures if title in titles}


def num_different(found, wanted):
    """How many bytes of two dicts of arrays differ."""
    if found.keys() != wanted.keys():
        raise InputError(f"Not the same variables: {sorted(found.keys() ^ wanted.keys())}")

    def content(array):
        return np.frombuffer(np.asarray(array).tobytes(), np.uint8)

    return sum(int((content(found[name]) != content(wanted[name])).sum()) for name in wanted)


def compared(found, wanted, is_logged_alike):
    """What differs between the directories of two runs."""
    histories = [training_runs.course(directory) for directory in (found, wanted)]
    names = [name for name in histories[1].names() if not _OF_SPEED.search(name)]
    curves = [{name: training_runs.curve(each, name) for name in names} for each in histories]
    losses, wanted_losses = (each["loss"] for each in curves)
    weights = [training_runs.weights(directory) for directory in (found, wanted)]
    optimizers = [moments_of_optimizer(directory) for directory in (found, wanted)]
    reports = [curves_of_report(directory, names) for directory in (found, wanted)]
    results = [(directory / "eval_results.txt").read_text() for directory in (found, wanted)]
    return {
        "updates_logged": len(losses),
        "values_logged": sum(map(len, curves[0].values())),
        "logged_values_different": sum(
            value != curves[1][name].get(step)
            for name in names
            for step, value in curves[0][name].items()
        ),
        "loss_difference": max(abs(loss - wanted_losses[step]) for step, loss in losses.items()),
        "weight_bytes_different": num_different(*weights),
        "weight_difference": training_runs.largest_difference(*weights)[0],
        "optimizer_bytes_different": num_different(*optimizers),
        "same_evaluation": results[0] == results[1],
        # With fewer points they are other curves.
        "same_curves_in_report": reports[0] == reports[1] if is_logged_alike else None,
        "starts": len(histories[0].events("start")),
        "state": histories[0].state,
    }


def is_as_wanted(scenario, row):
    """Whether a row is what the scenario promises."""
    status = {signal.SIGKILL: -signal.SIGKILL, signal.SIGTERM: interrupt.STATUS}[scenario.signal]
    is_killed = all(set(kill["statuses"]) == {status} for kill in row["kills"])
    if not is_killed or row["state"] != "complete" or row["starts"] != len(row["kills"]) + 1:
        return False
    if not scenario.is_exact:
        return row["weight_difference"] <= 1e-6
    is_same = not row["logged_values_different"] and not row["weight_bytes_different"]
    is_same = is_same and not row["optimizer_bytes_different"] and row["same_evaluation"]
    return is_same and row["same_curves_in_report"] is not False


def shown(kill):
    """A moment in words."""
    text = f"update {kill['last_logged']}"
    if kill["unfinished_state"] is not None:
        text += f" in the save of {kill['unfinished_state']}"
    return f"{text} (newest state {kill['newest_state']})"


def run_scenario(scenario, flags, options, directory, straight):
    """A row of the table; `straight` holds the uninterrupted runs made so far."""
    own = scenario.flags if scenario.straight_flags is None else scenario.straight_flags
    key = (own, scenario.num_devices[0], scenario.num_processes)
    if key not in straight:
        run = Run(scenario, [*flags, *own], directory / f"straight-{len(straight)}")
        run.finish()
        straight[key] = run.directory
    run = Run(scenario, [*flags, *scenario.flags], directory / scenario.name.replace(" ", "-"))
    kills = [run.kill_at(moment) for moment in moments(scenario, options)]
    run.finish()
    row = {"scenario": scenario.name, "kills": kills} | compared(
        run.directory, straight[key], is_logged_alike=scenario.straight_flags is None
    )
    row["is_as_wanted"] = is_as_wanted(scenario, row)
    print(
        f"{scenario.name:48}{row['logged_values_different']:7} of {row['values_logged']:4}"
        f"{row['weight_bytes_different']:9}{row['weight_difference']:9.1e}"
        f"{row['optimizer_bytes_different']:9}  {YES_NO[row['same_evaluation']]:5}"
        f"{YES_NO[row['same_curves_in_report']]:5}"
        f"{'' if row['is_as_wanted'] else 'NOT AS WANTED'}"
    )
    print(f"    ended at {'; '.join(map(shown, kills))}", flush=True)
    return row


def main(options):
    straight, summary = {}, {"phases": PHASES, "save_steps": SAVE_STEPS, "seed": options.seed}
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        material = training_runs.prepare(directory, options.text, [32, 64])
        flags = [*material.flags, f"--input_file={directory}/of_*/*.tfrecord", "--do_train"]
        flags += ["--do_eval", f"--phases={PHASES}", "--num_warmup_steps=5", "--log_steps=1"]
        flags += [f"--save_checkpoints_steps={SAVE_STEPS}", "--learning_rate=1e-3"]
        flags += ["--keep_training_state"]  # whose moments are compared
        flags += [f"--eval_input_file={material.records[64]}", "--max_eval_steps=5"]
        print(
            f"{'':48}{'logged, other':>14} {'weights, bytes':>14}{'':4}moments, same: eval report"
        )
        for scenario in SCENARIOS:
            if options.scenarios in scenario.name:
                row = run_scenario(scenario, flags, options, directory, straight)
                training_runs.write_results(RESULTS, "scenario", [row], summary)


if __name__ == "__main__":
    flagging.run(main, Options)
