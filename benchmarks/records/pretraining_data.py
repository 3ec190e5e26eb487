"""Pre-training data: google-research/bert's script and ours on the same text, in turns.

Text is the English of the shared data: books and Wikipedia extracts, one sentence a line. Cost is
marginal: the difference of two sizes, so that start-up does not count. CPU seconds are those of
a process and all of its children; memory is the peak of the largest process.

python -m benchmarks.records.pretraining_data --reference_dir=DIR --work_dir=DIR
    [--data_dir=../shared/data] [--parts=speed,workers,memory,bytes] [--dupes=1,5]
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

from benchmarks import child_process
from bert_tf import flagging
from bert_tf.corpus import documents, inputs
from bert_tf.corpus.units import read_units
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "pretraining_data.json"
SMALL_MB, LARGE_MB = 20, 400

# Runs a TF 1 script under TF 2; the script itself is not touched.
_TF1 = (
    "import sys, runpy, tensorflow.compat.v1 as tf; sys.modules['tensorflow'] = tf;"
    "sys.argv = sys.argv[1:]; sys.path.insert(0, '.');"
    "runpy.run_path(sys.argv[0], None, '__main__')"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    reference_dir: str = option(REQUIRED, "create_pretraining_data.py of google-research/bert.")
    work_dir: str = option(REQUIRED, "For texts and records; several GB.")
    data_dir: str = option("../shared/data", "Holds vocab/ and pretrain/.")
    parts: str = option("speed,workers,memory,bytes", "What to measure.")
    dupes: str = option("1,5", "Passes over the text.")


class Benchmark:
    """The measurements; each `measure_` method is one of --parts."""

    def __init__(self, options):
        self._options = options
        self._work = pathlib.Path(options.work_dir).resolve()
        self._data = pathlib.Path(options.data_dir).resolve()
        self._vocab_file = self._data / "vocab" / "uncased" / "vocab.txt"
        self._texts = make_texts(self._work, self._data / "pretrain")

    def run(self):
        results = {"text_bytes": {name: p.stat().st_size for name, p in self._texts.items()}}
        for part in self._options.parts.split(","):
            results[part] = getattr(self, f"measure_{part}")()
            print(json.dumps({part: results[part]}, indent=1), flush=True)
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(kept | results, indent=1) + "\n")

    def ours(self, text, *more):
        """Runs our script; `more` are flags."""
        output = empty(self._work / "ours")
        return run(
            [sys.executable, "create_pretraining_data.py", f"--input_file={text}"]
            + [f"--output_file={output}/out.tfrecord@2", f"--vocab_file={self._vocab_file}", *more]
        )

    def reference(self, text, dupe):
        """Runs the released script."""
        output = empty(self._work / "reference")
        command = [sys.executable, "-c", _TF1, "create_pretraining_data.py"]
        return run(
            command
            + [f"--input_file={text}", f"--output_file={output}/0.tfrecord,{output}/1.tfrecord"]
            + [f"--vocab_file={self._vocab_file}", f"--dupe_factor={dupe}", "--do_lower_case=True"],
            cwd=self._options.reference_dir,
        )

    def measure_speed(self):
        """Both scripts on the small text and on all of it, one process each."""
        results = {}
        difference = (self._texts["all"].stat().st_size - self._texts["small"].stat().st_size) / 1e6
        for dupe in self._options.dupes.split(","):
            runs = {}
            for size in ("small", "all"):
                flags_of_run = (f"--dupe_factor={dupe}", "--num_workers=1")
                runs[f"ours {size}"] = self.ours(self._texts[size], *flags_of_run)
                runs[f"reference {size}"] = self.reference(self._texts[size], dupe)
            speed = {
                who: difference
                / (runs[f"{who} all"]["cpu_seconds"] - runs[f"{who} small"]["cpu_seconds"])
                for who in ("ours", "reference")
            }
            results[f"dupe {dupe}"] = {
                "runs": runs,
                "mb_per_cpu_second": {who: round(value, 3) for who, value in speed.items()},
                "ratio": round(speed["ours"] / speed["reference"], 1),
            }
        return results

    def measure_workers(self):
        """Wall time of one process and of two, marginal."""
        results = {}
        for workers in (1, 2, 1, 2):
            seconds = {
                size: self.ours(self._texts[size], "--dupe_factor=5", f"--num_workers={workers}")
                for size in ("small", "all")
            }
            marginal = seconds["all"]["seconds"] - seconds["small"]["seconds"]
            results.setdefault(f"{workers} workers", []).append(round(marginal, 2))
        one, two = (min(results[f"{workers} workers"]) for workers in (1, 2))
        return results | {"speed-up": round(one / two, 2)}

    def measure_memory(self):
        """Peak memory of our script at 20 and 400 MB."""
        flags_of_run = ("--dupe_factor=1", "--num_workers=1")
        found = {size: self.ours(self._texts[size], *flags_of_run) for size in ("small", "large")}
        ratio = found["large"]["peak_mb"] / found["small"]["peak_mb"]
        return found | {"ratio": round(ratio, 3)}

    def measure_bytes(self):
        """Hashes of the shards: 1 to 3 workers, after kill -9, inputs reordered and renamed."""
        parts = empty(self._work / "parts")
        whole = self._texts["small"].read_bytes().split(b"\n\n")
        for number in range(5):
            (parts / f"{number}.txt").write_bytes(b"\n\n".join(whole[number::5]) + b"\n")
        names = [str(parts / f"{number}.txt") for number in range(5)]
        results = {}
        for workers in (1, 2, 3):
            self.ours(",".join(names), "--dupe_factor=2", f"--num_workers={workers}")
            results[f"{workers} workers"] = hashes(self._work / "ours")
        results["killed five times"] = self.killed(",".join(names))
        self.ours(",".join(reversed(names)), "--dupe_factor=2", "--num_workers=2")
        results["listed in reverse"] = hashes(self._work / "ours")
        for number, name in enumerate(names):
            os.rename(name, parts / f"renamed-{(7 * number) % 5}.txt")
        self.ours(str(parts), "--dupe_factor=2", "--num_workers=2")
        results["renamed, as a directory"] = hashes(self._work / "ours")
        return results | {"all equal": len({json.dumps(each) for each in results.values()}) == 1}

    def killed(self, text):
        """Starts the script again and again, kill -9 after a random time, then lets it end."""
        output = empty(self._work / "ours")
        command = [sys.executable, "create_pretraining_data.py", f"--input_file={text}"]
        command += [f"--output_file={output}/out.tfrecord@2", f"--vocab_file={self._vocab_file}"]
        command += ["--dupe_factor=2", "--num_workers=2"]
        rng = random.Random(3)
        for _ in range(5):
            process = subprocess.Popen(
                command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(rng.uniform(4, 12))
            process.kill()
            process.wait()
        run(command)
        return hashes(output)


def make_texts(work, data):
    """Dict from name to path: small (20 MB), all, large (400 MB, `all` again and again)."""
    work.mkdir(parents=True, exist_ok=True)
    texts = {name: work / f"{name}.txt" for name in ("small", "all", "large")}
    if all(path.exists() for path in texts.values()):
        return texts
    whole = whole_text(data)
    cut = whole.index(b"\n\n", SMALL_MB * 10**6)
    texts["small"].write_bytes(whole[:cut] + b"\n")
    texts["all"].write_bytes(whole)
    with open(texts["large"], "wb") as file:
        while file.tell() < LARGE_MB * 10**6:
            file.write(whole + b"\n")
    return texts


def whole_text(data):
    """Books and articles as bytes: one sentence a line, documents in random order."""
    books = inputs.find(str(data / "gutenberg"))
    articles = inputs.find(str(data / "wikipedia" / "enwiki_text"))
    found = []
    for path, text_format in [(p, "text") for p in books] + [
        (p, "wikiextractor") for p in articles
    ]:
        for unit in read_units(path, text_format):
            for document in documents.documents(unit):
                lines = [s if isinstance(s, bytes) else s.encode() for s in document.sentences]
                # A book as chapters of 200 sentences: the reference forms pairs per document.
                found += [b"\n".join(lines[i : i + 200]) for i in range(0, len(lines), 200)]
    random.Random(7).shuffle(found)
    return b"\n\n".join(found) + b"\n"


def run(command, cwd=ROOT):
    """Runs a command; returns its seconds, CPU seconds and peak memory in MB."""
    cost = child_process.run(command, cwd)
    return {
        "seconds": round(cost.wall_seconds, 2),
        "cpu_seconds": round(cost.cpu_seconds, 2),
        "peak_mb": round(cost.peak_kib / 1024, 1),
    }


def empty(directory):
    """The directory, made anew."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    return directory


def hashes(output):
    """sha256 of each shard."""
    paths = sorted(output.glob("out.tfrecord-*"))
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths]


if __name__ == "__main__":
    flagging.run(lambda options: Benchmark(options).run(), Options)
