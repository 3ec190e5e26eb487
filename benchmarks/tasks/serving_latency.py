"""Text in, probabilities out: latency of one text, throughput of a batch, and over REST.

python -m benchmarks.tasks.serving_latency --vocab_file=vocab.txt

A BERT of MiniLM's size with random weights is exported twice: with batches computed in chunks
of similar length, and with batches padded to their longest row. Texts have 5 to 50 tokens with
the special ones, as in fine-tuning data. Times per CPU second are good on a machine that is
shared; wall-clock times are not.
"""

import dataclasses
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
import requests
from absl import logging

from bert_tf import files, flagging
from bert_tf.config import BertConfig
from bert_tf.flagging import REQUIRED, option
from bert_tf.text import vocab

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "serving_latency.json"
BATCH_SIZE = 32
WHOLE_BATCH = 10**6  # rows in a chunk


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    vocab_file: str = option(REQUIRED, "Uncased vocab.txt; its plain words make the texts.")
    hidden_size: int = option(384, "H")
    num_hidden_layers: int = option(6, "L")
    num_attention_heads: int = option(12, "A")
    chunk_rows: int = option(8, "Maximum rows per chunk.")
    rounds: int = option(3, "Times everything is measured, in turn.")


def export_models(options, folder):
    """Exports both forms of one model; returns dict from form to its base path."""
    import keras

    from bert_tf.checkpoints import model_directory
    from export.kinds.module import Served
    from export.version import write

    keras.utils.set_random_seed(1)
    config = BertConfig(
        vocab_size=len(vocab.from_file(options.vocab_file)),
        hidden_size=options.hidden_size,
        num_hidden_layers=options.num_hidden_layers,
        num_attention_heads=options.num_attention_heads,
        intermediate_size=4 * options.hidden_size,
    )
    metadata = model_directory.ModelMetadata(
        kind="classify", task="any", labels=("0", "1"), do_lower_case=True, max_seq_length=128
    )
    directory = model_directory.create(f"{folder}/run", config, options.vocab_file, metadata)
    model = model_directory.new_model(config, metadata)
    paths = {}
    for form, rows in (("chunks", options.chunk_rows), ("padded", WHOLE_BATCH)):
        paths[form] = f"{folder}/{form}"
        served = Served(model=model, directory=directory, max_seq_length=128, chunk_rows=rows)
        write.write(served, paths[form])
    return paths


def make_texts(options, num_texts):
    """Texts of 3 to 48 words of one token each."""
    tokens = vocab.from_file(options.vocab_file).tokens
    words = [token for token in tokens if token.isascii() and token.isalpha()][:5000]
    rng = np.random.default_rng(1)
    return [" ".join(rng.choice(words, rng.integers(3, 49))) for _ in range(num_texts)]


class Timer:
    """Seconds of each call, and of CPU over all calls."""

    def __init__(self):
        self.seconds, self.cpu_seconds = [], 0.0

    def __call__(self, function, *arguments):
        start, cpu_start = time.perf_counter(), time.process_time()
        value = function(*arguments)
        self.seconds.append(time.perf_counter() - start)
        self.cpu_seconds += time.process_time() - cpu_start
        return value


def measure_sessions(options, paths, singles, batches):
    """One row for each form: latency alone, throughput in batches."""
    from serving.models import servable, versions

    sessions = {form: servable.Servable(form, *versions.largest(p)) for form, p in paths.items()}
    timers = {(form, size): Timer() for form in sessions for size in (1, BATCH_SIZE)}
    work = [np.array(texts, object) for texts in (*([text] for text in singles), *batches)]
    for session in sessions.values():
        for texts in work:  # each new shape costs something once
            session.run("", {"text": texts})
    for _ in range(options.rounds):
        for form, session in sessions.items():
            for texts in work:
                timers[form, len(texts)](session.predict, "", {"text": texts})
    for form in sessions:
        alone, batch = timers[form, 1], timers[form, BATCH_SIZE]
        num_rows = BATCH_SIZE * len(batch.seconds)
        yield {
            "form": form,
            "alone_p50_ms": 1e3 * float(np.percentile(alone.seconds, 50)),
            "alone_p99_ms": 1e3 * float(np.percentile(alone.seconds, 99)),
            "alone_cpu_ms": 1e3 * alone.cpu_seconds / len(alone.seconds),
            "batch_rows_per_s": num_rows / sum(batch.seconds),
            "batch_rows_per_cpu_s": num_rows / batch.cpu_seconds,
            "largest_difference_alone_and_in_batch": difference(sessions[form], batches[0]),
        }


def difference(session, texts):
    """Largest difference of a logit between a text alone and in a batch."""
    together = session.run("", {"text": np.array(texts, object)})["logits"]
    alone = [session.run("", {"text": np.array([text], object)})["logits"] for text in texts]
    return float(np.abs(np.concatenate(alone) - together).max())


def measure_rest(path, singles, batches):
    """The same over HTTP, with a server of its own and one client."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    flags = ["--model_name=m", f"--model_base_path={path}", f"--rest_api_port={port}"]
    server = subprocess.Popen(
        [sys.executable, "-m", "serving", *flags],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        next(line for line in server.stdout if line.startswith("Ready: "))
        url, session = f"http://127.0.0.1:{port}/v1/models/m:predict", requests.Session()
        timers = {1: Timer(), BATCH_SIZE: Timer()}
        work = [*([text] for text in singles), *batches]
        for repeat in range(2):
            for texts in work:
                timer = timers[len(texts)] if repeat else Timer()
                timer(lambda texts=texts: session.post(url, json={"instances": texts}).json())
    finally:
        server.terminate()
        server.communicate()
    return {
        "form": "chunks, REST",
        "alone_p50_ms": 1e3 * float(np.percentile(timers[1].seconds, 50)),
        "alone_p99_ms": 1e3 * float(np.percentile(timers[1].seconds, 99)),
        "batch_rows_per_s": BATCH_SIZE * len(batches) / sum(timers[BATCH_SIZE].seconds),
    }


def main(options):
    logging.set_verbosity(logging.ERROR)
    singles = make_texts(options, 100)
    texts = make_texts(options, 10 * BATCH_SIZE)
    batches = [texts[i : i + BATCH_SIZE] for i in range(0, len(texts), BATCH_SIZE)]
    with tempfile.TemporaryDirectory() as folder:
        paths = export_models(options, folder)
        rows = list(measure_sessions(options, paths, singles, batches))
        rows.append(measure_rest(paths["chunks"], singles, batches))
    columns = [name for name in rows[0] if name != "form"]
    print(f"{'':14s}" + "".join(f"{name.replace('_', ' '):>24.23s}" for name in columns))
    for row in rows:
        values = (f"{row[name]:24.3g}" if name in row else " " * 24 for name in columns)
        print(f"{row['form']:14s}" + "".join(values))
    results = {"options": dataclasses.asdict(options) | {"vocab_file": "uncased"}, "rows": rows}
    files.write_text(RESULTS, json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)
