"""Speed of exported models on one thread, in turns with other libraries; texts in, logits out.

    python -m benchmarks.export.speed --vocab_file=vocab.txt --peer_python=PYTHON \
        [--model_dir=DIR | --hidden_size=768 --num_hidden_layers=12] [--keras_hub_python=PYTHON]

PYTHON has torch, transformers, tokenizers, onnx, onnxruntime and ai-edge-litert.
Run it with the extra `runtimes` installed. Without a trained classifier a model with random
weights is measured. Texts have 5 to 50 tokens with the special ones. A figure is the median of
the rounds, in CPU seconds of the process: milliseconds for a text alone, and texts per second in
batches of 32. Differences and labels are those of transformers, on the same texts.
"""

import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile

import numpy as np

from benchmarks import child_process, turns
from benchmarks.tasks import serving_latency
from bert_tf import files, flagging
from bert_tf.checkpoints import model_directory
from bert_tf.config import BertConfig
from bert_tf.flagging import REQUIRED, option
from bert_tf.text import vocab

ROOT = pathlib.Path(__file__).parents[2]
CHILD = ROOT / "benchmarks" / "export" / "speed_child.py"
PEER_FILES = ROOT / "benchmarks" / "export" / "speed_peer_files.py"
NUM_CLASSES = 12
MAX_SEQ_LENGTH = 128


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    vocab_file: str = option(REQUIRED, "Uncased vocab.txt; its plain words make the texts.")
    peer_python: str = option(REQUIRED, "Interpreter with the peers.")
    keras_hub_python: str | None = option(None, "Interpreter with keras-hub, if it is measured.")
    model_dir: str | None = option(None, "A trained classifier of single texts.")
    texts_file: str | None = option(None, "Texts, one per line; none: random words.")
    hidden_size: int = option(384, "H")
    num_hidden_layers: int = option(6, "L")
    num_attention_heads: int = option(12, "A")
    num_texts: int = option(320, "Texts in batches; a quarter of them is also given alone.")
    rounds: int = option(5, "Times everything is measured, in turn.")
    output: str = option("export_speed.json", "Name of the file in benchmarks/results.")


def open_model(options, folder):
    """The directory of the model and the model."""
    if options.model_dir:
        directory = model_directory.ModelDirectory.open(options.model_dir)
        return directory, directory.build_model()
    import keras

    keras.utils.set_random_seed(1)
    config = BertConfig(
        vocab_size=len(vocab.from_file(options.vocab_file)),
        hidden_size=options.hidden_size,
        num_hidden_layers=options.num_hidden_layers,
        num_attention_heads=options.num_attention_heads,
        intermediate_size=4 * options.hidden_size,
        hidden_act="gelu_erf",
    )
    metadata = model_directory.ModelMetadata(
        kind="classify",
        task="any",
        labels=tuple(map(str, range(NUM_CLASSES))),
        do_lower_case=True,
        max_seq_length=MAX_SEQ_LENGTH,
    )
    directory = model_directory.create(f"{folder}/run", config, options.vocab_file, metadata)
    return directory, model_directory.new_model(config, metadata)


def read_texts(options):
    """Texts of 5 to 50 tokens or so, of the file or of random words."""
    if not options.texts_file:
        return serving_latency.make_texts(options, options.num_texts)
    lines = pathlib.Path(options.texts_file).read_text(encoding="utf-8").splitlines()
    texts = [line.strip() for line in lines if 3 <= len(line.split()) <= 45]
    return texts[: options.num_texts]


def export_forms(model, directory, folder):
    """Exports the model as it is and in its forms; yields (name, task of the child)."""
    from export.kinds.module import Served
    from export.served import forms
    from export.version import write

    made = {
        "variables, as trained": model,
        "default": forms.of(model),
        "constants": forms.of(model, is_frozen=True),
        "bfloat16": forms.of(model, "bfloat16"),
        "float16": forms.of(model, "float16"),
        "int8": forms.of(model, "int8"),
    }
    for name, form in made.items():
        original = model if name in ("variables, as trained", "default", "constants") else form
        served = Served(
            model=form, original=original, directory=directory, max_seq_length=MAX_SEQ_LENGTH
        )
        path = write.write(served, f"{folder}/{name}".replace(" ", "-")).path
        yield f"SavedModel, {name}", {"form": "saved_model", "path": path}


def runtime_files(directory, model, folder):
    """Our ONNX and TensorFlow Lite files."""
    from export.served import onnx_file, tflite_file

    for dtype in ("float32", "int8"):
        path = f"{folder}/ours-{dtype}.tflite"
        pathlib.Path(path).write_bytes(tflite_file.convert(model, dtype))
        yield f"TensorFlow Lite file, {dtype}", {"form": "tflite", "path": path}
    for dtype in ("float32", "int8"):
        path = f"{folder}/ours-{dtype}.onnx"
        pathlib.Path(path).write_bytes(onnx_file.convert(model, dtype))
        for rows in (False, True):
            name = f"ONNX file, {dtype}{', micro-batches' if rows else ''}"
            yield name, {"form": "onnx_runtime", "path": path, "micro_batches": rows}


def peer_tasks(options, directory, folder):
    """transformers, and ONNX Runtime on what it makes of that model."""
    source, hugging_face = str(directory.path), f"{folder}/hugging_face"
    if not options.model_dir:
        source = f"{folder}/run/last"
    child_process.run(
        [sys.executable, "-m", "export.checkpoint", f"--from={source}", "--to=huggingface",
         f"--output={hugging_face}"]
    )  # fmt: skip
    task = {"hugging_face": hugging_face, "folder": folder,
            "num_heads": directory.config.num_attention_heads,
            "hidden_size": directory.config.hidden_size}  # fmt: skip
    child_process.ask(options.peer_python, PEER_FILES, task, PYTHONPATH=str(ROOT))
    yield "transformers", {"form": "transformers", "path": hugging_face}
    for name in ("plain", "fused", "int8"):
        for rows in (False, True):
            yield (
                f"ONNX Runtime, {name}{', micro-batches' if rows else ''}",
                {"form": "onnx_runtime", "path": f"{folder}/{name}.onnx", "micro_batches": rows},
            )


def keras_hub_task(directory):
    config = directory.config
    sizes = {
        "vocabulary_size": config.vocab_size,
        "num_layers": config.num_hidden_layers,
        "num_heads": config.num_attention_heads,
        "hidden_dim": config.hidden_size,
        "intermediate_dim": config.intermediate_size,
    }
    return {"form": "keras_hub", "sizes": sizes, "num_classes": directory.metadata.num_outputs}


def interpreter(options, task):
    if task["form"] == "keras_hub":
        return options.keras_hub_python
    return sys.executable if task["form"] == "saved_model" else options.peer_python


def measure(options, tasks, texts_file, vocab_file):
    """Rows of the table: every task in turn, `rounds` times."""
    shared = {
        "texts": texts_file,
        "vocab_file": str(vocab_file),
        "num_alone": options.num_texts // 4,
    }
    children = {}
    for name, task in tasks.items():
        arguments = [str(CHILD), json.dumps(task | shared)]
        children[name] = turns.Child(interpreter(options, task), arguments)
    seconds = {(name, work): [] for name in children for work in ("alone", "batch")}
    for _ in range(options.rounds):
        for (name, work), values in seconds.items():
            values.append(children[name].run(work)["cpu_seconds"])
    wanted = np.array(children["transformers"].first["logits"])
    for name, child in children.items():
        logits = np.array(child.first["logits"])
        row = {
            "form": name,
            "alone_cpu_ms": 1e3 * statistics.median(seconds[name, "alone"]),
            "rows_per_cpu_s": 1 / statistics.median(seconds[name, "batch"]),
        }
        if tasks[name]["form"] != "keras_hub":  # whose weights are others
            row["largest_difference"] = float(np.abs(logits - wanted).max())
            row["labels_kept"] = float((logits.argmax(1) == wanted.argmax(1)).mean())
        if path := tasks[name].get("path"):
            row["megabytes"] = files.num_bytes(path) / 1e6
        child.end()
        yield row


def main(options):
    with tempfile.TemporaryDirectory() as folder:
        directory, model = open_model(options, folder)
        texts_file = f"{folder}/texts.txt"
        files.write_text(texts_file, "\n".join(read_texts(options)) + "\n")
        tasks = dict(export_forms(model, directory, folder))
        tasks |= dict(peer_tasks(options, directory, folder))
        tasks |= dict(runtime_files(directory, model, folder))
        if options.keras_hub_python:
            tasks["keras-hub"] = keras_hub_task(directory)
        rows = list(measure(options, tasks, texts_file, directory.vocab_file))
    for row in rows:
        print("  ".join(f"{x:.4g}" if isinstance(x, float) else f"{x:40}" for x in row.values()))
    given = dataclasses.asdict(options)
    kept = {
        name: given[name] for name in ("hidden_size", "num_hidden_layers", "num_texts", "rounds")
    }
    kept |= {"is_trained": bool(options.model_dir)}
    path = ROOT / "benchmarks" / "results" / options.output
    files.write_text(path, json.dumps({"options": kept, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)
