"""What a teacher and an ensemble are worth: fine-tunings of a GLUE task, over several seeds.

    python benchmarks/runs/distillation.py --init_checkpoint=bert-base-uncased \
        --data_dir=glue_data --work_dir=distillation

For each seed: `teacher` is a fine-tuning of --init_checkpoint; `student` has --student_layers of
the teacher's layers and learns from it; `student alone` starts from the same layers and learns from
the labels; `fresh student` starts from the same layers of --init_checkpoint, without a teacher.
Then `ensemble` is the mean of all teachers. Each run is run_classifier.py in a process of its own;
one that is done is not made again. Scores are those of the last weights on the dev set.
"""

import dataclasses
import json
import os
import pathlib
import statistics
import sys
import time

from benchmarks import child_process
from benchmarks.runs.stabilizing_options import FOLDERS, chosen
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option
from bert_tf.formatting import number
from bert_tf.tasks import registry


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    init_checkpoint: str = option(REQUIRED, "Weights to start from.", is_path=True)
    data_dir: str = option(REQUIRED, "Holds MRPC, RTE and so on as GLUE has them.", is_path=True)
    work_dir: str = option(REQUIRED, "For the runs.", is_path=True)
    tasks: str = option("mrpc", f"Tasks, separated by commas: {', '.join(FOLDERS)}.")
    num_seeds: int = option(3, "Teachers and students of each task.")
    student_layers: str = option("3", "Of the students.")
    distillation_alpha: float = option(0.5, "Weight of the teacher's answers.")
    distillation_alpha_cos: float = option(0.0, "Weight of its hidden states.")
    distillation_temperature: float = option(2.0, "Of both.")
    learning_rate: float = option(5e-5, "Of every training.")
    num_train_epochs: float = option(3.0, "Of every training.")
    max_seq_length: int = option(128, "Of every run.")
    max_train_examples: int | None = option(None, "Number of examples to train on; none: all.")
    results: str = option("benchmarks/results/distillation.json", "File to write.")


def main(options):
    rows = []
    for task in chosen(options.tasks, FOLDERS, "tasks"):
        runs = Runs(options, task)
        scores = {"teacher": [], "student": [], "student alone": [], "fresh student": []}
        for seed in range(1, options.num_seeds + 1):
            for name, flags in runs.of_seed(seed).items():
                scores[name].append(runs.train(f"{name} {seed}", seed, flags))
        if options.num_seeds > 1:
            scores["ensemble"] = [runs.ensemble(options.num_seeds)]
        rows += [{"task": task, "model": name, "scores": found} for name, found in scores.items()]
    files.write_text(options.results, json.dumps(rows, indent=1) + "\n")
    show(rows)


class Runs:
    """The runs of a task.

    Attributes:
      metric: the main one of the task.
    """

    def __init__(self, options, task):
        self._options, self._task = options, task
        self._directory = pathlib.Path(options.work_dir) / task
        self.metric = registry.get(task).main_metric

    def of_seed(self, seed):
        """Dict from the name of a model to the flags that only its training has."""
        options = self._options
        teacher = f"--teacher={self._path(f'teacher {seed}')}"
        layers = f"--student_layers={options.student_layers}"
        start = f"--init_checkpoint={options.init_checkpoint}"
        return {
            "teacher": [start],
            "student": [
                teacher,
                layers,
                f"--distillation_alpha={options.distillation_alpha}",
                f"--distillation_alpha_cos={options.distillation_alpha_cos}",
                f"--distillation_temperature={options.distillation_temperature}",
            ],
            "student alone": [teacher.replace("--teacher", "--init_checkpoint"), layers],
            "fresh student": [start, layers],
        }

    def train(self, name, seed, flags):
        """The score of a training, in percent."""
        options = self._options
        more = [
            f"--random_seed={seed}",
            f"--learning_rate={options.learning_rate}",
            f"--num_train_epochs={options.num_train_epochs}",
        ]
        if options.max_train_examples:
            more.append(f"--max_train_examples={options.max_train_examples}")
        return self._score(name, ["--do_train", *more, *flags])

    def ensemble(self, num_members):
        """The score of the mean of the teachers, in percent."""
        members = [str(self._path(f"teacher {seed}")) for seed in range(1, num_members + 1)]
        return self._score("ensemble", [f"--ensemble={','.join(members)}"])

    def _path(self, name):
        return self._directory / name.replace(" ", "-")

    def _score(self, name, flags):
        results = self._path(name) / "eval_results.txt"
        if not results.exists():
            start = time.monotonic()
            child_process.run(
                [sys.executable, "run_classifier.py", f"--task_name={self._task}", "--do_eval"]
                + [f"--data_dir={os.path.join(self._options.data_dir, FOLDERS[self._task])}"]
                + [f"--max_seq_length={self._options.max_seq_length}"]
                + [f"--output_dir={self._path(name)}", *flags]
            )
            print(f"{self._task}, {name}: {time.monotonic() - start:.0f} s", flush=True)
        found = dict(line.split(" = ") for line in results.read_text().splitlines())
        return 100 * float(found[f"eval_{self.metric}"])


def show(rows):
    for row in rows:
        scores = row["scores"]
        spread = f" ± {number(statistics.stdev(scores))}" if len(scores) > 1 else ""
        each = ", ".join(f"{score:.1f}" for score in scores)
        print(f"{row['task']:8}{row['model']:16}{statistics.mean(scores):.1f}{spread}  ({each})")


if __name__ == "__main__":
    flagging.run(main, Options)
