"""Memory and CPU time that texts of up to 100 MB cost an exported classifier.

python -m benchmarks.export.text_memory --vocab_file=vocab.txt
    [--earlier_export=out/models/old/1] [--megabytes=1,8,32,100]

A BERT of MiniLM's size with random weights is exported; with `--earlier_export` another version
that classifies single texts is measured as well. Each text is sent alone, by a process of its own
that has answered one short text before. Memory is the most that the process has while it answers,
less what it had before, the text included. One thread.
"""

import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile

from benchmarks import child_process
from bert_tf import files, flagging
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from bert_tf.text import vocab

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "text_memory.json"
MAX_SEQ_LENGTH, NUM_SHORT, SHORT_BYTES = 128, 10_000, 100
REPEATED = {
    "one word": "a",
    "spaces": " ",
    "NUL": "\0",
    "accents": "\u0301",
    "sigma, full stops": "Σ" + "." * 99,
    "not UTF-8": "\udcff",
}

# Answers texts made of parts: in a cycle, up to so many bytes.
_PROGRAM = """
import json, re, sys, time
import tensorflow_text
import tensorflow as tf

def memory(name):
    with open("/proc/self/status") as file:
        return int(re.search(rf"{name}:\\s+(\\d+)", file.read())[1]) / 1024

task = json.loads(sys.argv[1])
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
model = tf.saved_model.load(task["path"])
part = open(task["file"], "rb").read()
text = part * (task["bytes"] // len(part)) + part[: task["bytes"] % len(part)]
texts = tf.constant([text] * task["count"])
del text, part
model(tf.constant(["a short text"]))
before = memory("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak is counted from here on
start = time.process_time()
label = model(texts)["label"].numpy()
print(json.dumps({
    "cpu_seconds": time.process_time() - start, "mebibytes": memory("VmHWM") - before
}))
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Flags of this program."""

    vocab_file: str = option(REQUIRED, "Uncased vocab.txt; its plain words make the words.")
    earlier_export: str = option("", "A version to compare with; none: this one alone.")
    megabytes: str = option("1,8,32,100", "Sizes of the texts.")
    kinds: str = option("words,one word,spaces", f"Also: {', '.join(list(REPEATED)[2:])}.")
    max_seconds: int = option(600, "What takes longer is stopped.")


def export_model(options, folder):
    """Exports a classifier with random weights; returns the path of its version."""
    import keras

    from bert_tf.checkpoints import model_directory
    from export.kinds.module import Served
    from export.version import write

    keras.utils.set_random_seed(1)
    config = BertConfig(
        vocab_size=len(vocab.from_file(options.vocab_file)),
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
    )
    metadata = model_directory.ModelMetadata(
        kind="classify",
        task="any",
        labels=("0", "1"),
        do_lower_case=True,
        max_seq_length=MAX_SEQ_LENGTH,
    )
    directory = model_directory.create(f"{folder}/run", config, options.vocab_file, metadata)
    served = Served(
        model=model_directory.new_model(config, metadata),
        directory=directory,
        max_seq_length=MAX_SEQ_LENGTH,
    )
    return write.write(served, f"{folder}/export").path


def some_words(options):
    """100 kB of words of the vocabulary."""
    import numpy as np

    tokens = vocab.from_file(options.vocab_file).tokens
    words = [token for token in tokens if token.isascii() and token.isalpha()][:5000]
    return " ".join(np.random.default_rng(1).choice(words, 16_000)) + " "


def measure(options, path, folder, kind, num_bytes, count=1):
    """A row of the table; None where the process was stopped or killed."""
    part = folder / "part"
    text = REPEATED[kind] if kind in REPEATED else some_words(options)
    part.write_bytes(text.encode("utf-8", "surrogateescape"))
    task = {"path": path, "file": str(part), "bytes": num_bytes, "count": count}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM, json.dumps(task)],
            env=child_process.without_gpu(),
            capture_output=True,
            text=True,
            timeout=options.max_seconds,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode < 0:
        return None
    if done.returncode:
        raise InputError(f"The texts were not answered:\n{done.stderr[-3000:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    return {name: round(value, 2) for name, value in found.items()}


def main(options):
    """Prints the table and writes the results."""
    rows = []
    sizes = [int(size) for size in options.megabytes.split(",")]
    cases = [(kind, size * 10**6, 1) for kind in options.kinds.split(",") for size in sizes]
    cases.append(("words", SHORT_BYTES, NUM_SHORT))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        exports = {"now": export_model(options, folder)}
        if options.earlier_export:
            exports["earlier"] = str(pathlib.Path(options.earlier_export).absolute())
        print(f"{'':24}{'bytes':>12}{'texts':>8}{'export':>10}{'MiB':>12}{'CPU s':>10}")
        for kind, num_bytes, count in cases:
            for export, path in exports.items():
                found = measure(options, path, folder, kind, num_bytes, count)
                row = {"text": kind, "bytes": num_bytes, "texts": count, "export": export}
                rows.append(row | {"found": found})
                shown = f"{found['mebibytes']:12,.0f}{found['cpu_seconds']:10.1f}" if found else ""
                print(f"{kind:24}{num_bytes:12,}{count:8,}{export:>10}{shown or 'stopped':>22}",
                      flush=True)  # fmt: skip
                files.write_text(RESULTS, json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)
