"""Every script on disks that fill up at ten different moments, and again once there is room.

sudo python -m benchmarks.runs.full_disk [--scripts=pretrain,classify]

The output of a script goes to a small disk in memory (`mount -t tmpfs`, which only root may do on
Linux). First it gets all the room that it needs, which tells how much that is at most. Then it runs
on ten disks from a few kB up to almost that size, so that the disk is full while it starts, trains,
writes weights, results or reports. Wanted each time: one message that says what is kept and how to
go on, exit status 2, no traceback; or a warning and a complete run, where that is possible. Then
the disk gets more room, and the same command has to end with the same bytes as the first run.
"""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

from benchmarks.runs import training_runs
from bert_tf import commands, flagging, formatting
from bert_tf.errors import InputError
from bert_tf.flagging import option

ROOT = training_runs.ROOT
RESULTS = ROOT / "benchmarks" / "results" / "full_disk.json"
_PAGE = 4096  # in which a disk in memory counts
# Of the disks: some pages, then shares of what the script needs at most.
_PAGES = (1, 3, 8, 16)
_SHARES = (0.2, 0.4, 0.6, 0.75, 0.9, 0.98)
_NUM_TRAIN, _NUM_DEV = 48, 16
_MANY_BYTES = 2**30


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    scripts: str = option("", "Those to run, separated by commas; the results of others stay.")


@dataclasses.dataclass(frozen=True)
class Script:
    """A command whose output goes to the disk.

    Attributes:
      command: of `bert-tf`.
      flags: list of str; DISK stands for the disk.
      results: globs of files on the disk whose bytes have to be the same.
    """

    command: str
    flags: list
    results: tuple


def scripts(directory, records):
    """Dict from name to `Script`, on material in a directory."""
    model = [f"--bert_config_file={directory}/bert_config.json"]
    tuned = [
        *model,
        f"--vocab_file={directory}/vocab.txt",
        "--output_dir=DISK/out",
        "--do_train",
        "--do_eval",
        "--train_batch_size=8",
    ]
    tuned += ["--max_seq_length=64", "--num_train_epochs=3", "--learning_rate=1e-3"]
    tuned += ["--save_checkpoints_steps=2", "--do_predict"]
    weights = ("out/best/bert_model*", "out/last/bert_model*", "out/eval_results.txt")
    train = f"{directory}/text.txt"
    return {
        "vocab": Script(
            "vocab",
            [f"--input_file={train}", "--output_file=DISK/vocab.txt", "--vocab_size=3000"]
            + ["--num_unused=0", "--num_workers=1"],
            ("vocab.txt",),
        ),
        "data": Script(
            "data",
            [f"--input_file={train}", f"--vocab_file={directory}/vocab.txt", "--dupe_factor=2"]
            + ["--output_file=DISK/out/train.tfrecord@2", "--max_seq_length=32"]
            + ["--num_workers=1"],
            ("out/train*",),
        ),
        "pretrain": Script(
            "pretrain",
            [*model, "--output_dir=DISK/out", "--do_train", "--do_eval", f"--input_file={records}"]
            + ["--train_batch_size=8", "--num_train_steps=12", "--num_warmup_steps=2"]
            + ["--save_checkpoints_steps=3", "--learning_rate=1e-3", "--max_eval_steps=3"]
            + ["--max_seq_length=32"],
            weights[1:],
        ),
        "classify": Script(
            "classify",
            [*tuned, "--task_name=tsv", f"--data_dir={directory}"],
            (*weights, "out/*.tsv"),
        ),
        "squad": Script(
            "squad",
            [*tuned, "--train_file=data/squad/train.json", "--predict_file=data/squad/dev.json"]
            + [f"--max_train_examples={_NUM_TRAIN}", f"--max_predict_examples={_NUM_DEV}"]
            + ["--max_query_length=24", "--doc_stride=24"],
            (*weights, "out/*predictions.json"),
        ),
        "export": Script(
            "export",
            [f"--model_dir={directory}/trained", "--export_dir=DISK/out"],
            ("out/1/variables/variables.data*", "out/1/assets/*"),
        ),
        "convert": Script(
            "convert",
            [f"--from={directory}/trained/last", "--to=huggingface", "--output=DISK/out"],
            ("out/*",),
        ),
    }


def run(script, disk, log_file):
    """Runs a script in a process of its own, where everything is imported; returns its status."""
    child = os.fork()
    if not child:
        with open(log_file, "wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.argv = ["bert-tf"] + [flag.replace("DISK", str(disk)) for flag in script.flags]
        try:
            commands.run(script.command)
        except SystemExit as ended:
            sys.stdout.flush()
            os._exit(ended.code or 0)
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Disk:
    """A disk in memory of a number of bytes, mounted within a `with` block."""

    def __init__(self, path, num_bytes):
        self.path, self._num_bytes = path, num_bytes

    def __enter__(self):
        self.path.mkdir(exist_ok=True)
        self._call("mount", "-t", "tmpfs", "-o", f"size={self._num_bytes}", "tmpfs", str(self.path))
        return self

    def __exit__(self, *_):
        self._call("umount", str(self.path))

    def grow(self):
        """Makes room for everything."""
        self._call("mount", "-o", f"remount,size={_MANY_BYTES}", str(self.path))

    def used(self):
        """Bytes."""
        found = os.statvfs(self.path)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def _call(self, *command):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise InputError(f"{' '.join(command)} failed, as it needs root: {done.stderr.strip()}")


def peak_of(disk, function: Callable[[], int]):
    """What a function returns, and the most bytes that the disk held meanwhile."""
    peak, has_ended = 0, threading.Event()

    def watch():
        nonlocal peak
        while not has_ended.wait(0.002):
            peak = max(peak, disk.used())

    thread = threading.Thread(target=watch)
    # The script is forked first: a process with threads should not fork.
    thread.start()
    try:
        return function(), peak
    finally:
        has_ended.set()
        thread.join()


def digests(script, disk):
    """Dict from path on the disk to the SHA-256 of each result."""
    paths = sorted(path for glob in script.results for path in disk.path.glob(glob))
    return {
        str(path.relative_to(disk.path)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.is_file()
    }


def said(log_file, disk):
    """The errors and warnings of a run, and whether there was a traceback."""
    text = log_file.read_text(encoding="utf-8", errors="replace")
    text = text.replace(str(disk.path), "DISK").replace(tempfile.gettempdir(), "TMPDIR")
    lines = [line for line in text.splitlines() if re.match("(ERROR|WARNING: the)", line)]
    return lines, "Traceback" in text


def left(disk):
    """Names of what is on the disk, two levels deep, with what is temporary."""
    found = [*disk.path.glob("*"), *disk.path.glob("*/*"), *disk.path.glob("*/training/step-*")]
    return sorted(str(path.relative_to(disk.path)) for path in found)


def found_on(name, script, path, num_bytes, wanted):
    """What happened on a disk of that many bytes."""
    log_file = path.with_name("log.txt")
    with Disk(path, num_bytes) as disk:
        status = run(script, path, log_file)
        lines, has_traceback = said(log_file, disk)
        remains = left(disk)
        disk.grow()
        again = run(script, path, log_file)
        is_same = digests(script, disk) == wanted
        temporary = [each for each in left(disk) if "/." in f"/{each}"]
    errors = [line for line in lines if line.startswith("ERROR")]
    is_as_wanted = status in (0, 2) and len(errors) == (status == 2) and not has_traceback
    row = {
        "num_bytes": num_bytes,
        "status": status,
        "said": lines,
        "has_traceback": has_traceback,
        "left": remains,
        "status_again": again,
        "same_bytes": is_same,
        "temporary_left_again": temporary,
        "is_as_wanted": is_as_wanted and again == 0 and is_same and not temporary,
    }
    message = (errors or lines or ["complete"])[0]
    print(
        f"{name:9}{formatting.size(num_bytes):>8} {status:3} {again:3} "
        f"{'same' if is_same else 'OTHER':6}{'' if row['is_as_wanted'] else 'NOT AS WANTED '}"
        f"{message[:100]}",
        flush=True,
    )
    return row


def prepare(directory):
    """Makes vocabulary, configuration, records, classification data and a trained classifier."""
    text = (ROOT / "data/corpus/train.txt").read_text(encoding="utf-8")
    (directory / "text.txt").write_text(text[: 2 * len(text) // 3], encoding="utf-8")
    material = training_runs.prepare(directory, f"{directory}/text.txt", [64, 32], hidden_size=32)
    config = directory / "bert_config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"num_hidden_layers": 1}))
    rows = (ROOT / "data/topics/train.tsv").read_text(encoding="utf-8").splitlines()
    dev = (ROOT / "data/topics/dev.tsv").read_text(encoding="utf-8").splitlines()
    (directory / "train.tsv").write_text("\n".join(rows[: 1 + _NUM_TRAIN]) + "\n")
    labels = {row.split("\t")[-1] for row in rows[1 : 1 + _NUM_TRAIN]}
    dev = [dev[0]] + [row for row in dev[1:] if row.split("\t")[-1] in labels][:_NUM_DEV]
    (directory / "dev.tsv").write_text("\n".join(dev) + "\n")
    (directory / "test.tsv").write_text("\n".join(dev) + "\n")
    return scripts(directory, material.records[32])


def main(options):
    names = options.scripts.split(",") if options.scripts else None
    summary = {"pages": list(_PAGES), "shares": list(_SHARES)}
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        found = prepare(directory)
        # Imported once; TensorFlow starts nothing before its first operation, so forks may follow.
        import tensorflow as tf  # noqa: F401

        from bert_tf.training.finetuning import squad  # noqa: F401

        trained = dataclasses.replace(
            found["classify"],
            flags=[
                flag.replace("DISK/out", f"{directory}/trained") for flag in found["classify"].flags
            ],
        )
        if run(trained, directory, directory / "log.txt"):
            raise InputError((directory / "log.txt").read_text()[-3000:])
        for script_name in names or found:
            for row in rows_of(script_name, found[script_name], directory / "disk"):
                training_runs.write_results(RESULTS, "script", [row], summary)
            num_as_wanted = sum(each["is_as_wanted"] for each in row["disks"])
            print(f"{script_name}: {num_as_wanted} of {len(row['disks'])} as wanted.", flush=True)


def rows_of(name, script, path):
    """Yields what happened to a script, on more disks each time."""
    log_file = path.with_name("log.txt")
    start = time.monotonic()
    with Disk(path, _MANY_BYTES) as disk:
        status, peak = peak_of(disk, lambda: run(script, path, log_file))
        if status:
            raise InputError(log_file.read_text()[-3000:])
        wanted = digests(script, disk)
    print(
        f"{name} needs {formatting.size(peak)} at most; {len(wanted)} files compared; "
        f"{time.monotonic() - start:.0f} s."
    )
    sizes = [_PAGE * number for number in _PAGES]
    sizes += [int(peak * share) // _PAGE * _PAGE for share in _SHARES]
    disks = []
    for size in sizes:
        disks.append(found_on(name, script, path, size, wanted))
        yield {"script": name, "peak_bytes": peak, "num_files": len(wanted), "disks": disks}


if __name__ == "__main__":
    flagging.run(main, Options)
