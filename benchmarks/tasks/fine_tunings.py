"""Fine-tunings in processes of their own, on one thread: a line of results.jsonl for each.

What benchmarks of several seeds and settings share. A run that is done is not made again; one that
was killed starts again, so that its CPU time is that of the whole run.
"""

import json
import pathlib
import shutil
import statistics
import sys

from benchmarks import child_process
from bert_tf import files
from bert_tf.formatting import number

_ONE_THREAD = ("env", "TF_NUM_INTRAOP_THREADS=1", "TF_NUM_INTEROP_THREADS=1", "OMP_NUM_THREADS=1")


class Record:
    """The lines of a program's runs.

    Args:
      work_dir: path of the folder with results.jsonl, which is made.
    """

    def __init__(self, work_dir):
        self.directory = pathlib.Path(work_dir)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._path = self.directory / "results.jsonl"
        text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
        self._lines = [json.loads(line) for line in text.splitlines()]

    def line(self, key, fine_tune):
        """The line of a run, which is made if there is none.

        Args:
          key: dict that tells the run from others, with every setting that decides it.
          fine_tune: callable that takes an empty folder's path and returns the rest of the line.
        """
        for line in self._lines:
            if {name: line.get(name) for name in key} == key:
                return line
        folder = self.directory / "run"
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed
        line = key | fine_tune(folder)
        shutil.rmtree(folder)
        self._lines.append(line)
        text = "".join(json.dumps(each) + "\n" for each in self._lines)
        files.write_text(str(self._path), text)
        shown = ", ".join(f"{name} {value}" for name, value in line.items())
        print(f"{len(self._lines)}: {shown}", flush=True)
        return line


def run_classifier(folder, flags):
    """Trains and scores the last weights once; CPU seconds of the process, and its scores.

    Args:
      folder: path of the model directory to write.
      flags: dict of further flags of run_classifier.py.
    """
    flags |= {"output_dir": folder, "eval_steps": 10**9}  # one evaluation, at the end
    script = [sys.executable, "run_classifier.py", "--do_train", "--do_eval"]
    cost = run([*script, *(f"--{name}={value}" for name, value in flags.items())])
    lines = (folder / "eval_results.txt").read_text(encoding="utf-8").splitlines()
    results = {name: float(value) for name, value in (line.split(" = ") for line in lines)}
    found = {name: value for name, value in results.items() if not name.startswith("best_")}
    return {"cpu_seconds": round(cost.cpu_seconds, 1), **found}


def run(command):
    """`Cost` of a command on one thread."""
    return child_process.run([*_ONE_THREAD, *map(str, command)])


def write_json_lines(path, rows):
    """Writes a data set with a JSON object in each line."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    files.write_text(str(path), text)


def spread(values):
    """Mean, standard deviation and single values."""
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.mean(values), "standard_deviation": deviation, "values": values}


def shown(found):
    """A `spread` as "52.1 ± 0.8", with the number of its values."""
    deviation = found["standard_deviation"]
    more = "" if deviation is None else f" ± {number(deviation, 2)}"
    return f"{number(found['mean'], 3)}{more} ({len(found['values'])})"
