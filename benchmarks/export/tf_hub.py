"""TensorFlow Hub encoders against the checkpoint that they come from: features, and two updates.

    python -m benchmarks.export.tf_hub --init_checkpoint=DIR [--published_encoder=DIR] \
        [--published_preprocessing=DIR] --hub_python=PYTHON

Ours are written by `bert-tf hub`. A published encoder of the same checkpoint is one made by the
recipe of the published ones: `official.nlp.tools.export_tfhub_lib.export_model` of
tf-models-official, which runs on TensorFlow 2.15 and is made outside of this script. PYTHON has
tensorflow, tensorflow-text, tensorflow-hub and the packages of this project.
"""

import dataclasses
import hashlib
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np

from benchmarks import child_process
from bert_tf import files, flagging
from bert_tf.flagging import REQUIRED, option

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "tf_hub.json"
ROOT = pathlib.Path(__file__).parents[2]
URL = "https://tfhub.dev/ours/encoder/1"  # looked up in the cache directory, never fetched
TEXTS = [
    "A fine film about the Moon.",
    "Crème brûlée — straße, 2² ﬁne",
    "",
    "It rains in 東京 today, doesn't it?",
    "word " * 200,
]
TARGETS = [1.0, -1.0, 0.0, 1.0, -1.0]
LEARNING_RATE = 0.1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    init_checkpoint: str = option(REQUIRED, "Checkpoint with its vocabulary.", is_path=True)
    published_encoder: str | None = option(None, "SavedModel of the same weights.", is_path=True)
    published_preprocessing: str | None = option(None, "Its preprocessing.", is_path=True)
    hub_python: str = option(REQUIRED, "Interpreter with tensorflow-hub.")


def distance(a, b, weight=1.0):
    """Largest absolute difference."""
    return float(np.abs((np.asarray(a) - np.asarray(b)) * weight).max())


def two_updates(call, weights, rows, head):
    """Losses of two updates of gradient descent, and the pooled output after them."""
    import tensorflow as tf

    weights, losses = list(weights), []
    for _ in range(2):
        with tf.GradientTape() as tape:
            scores = tf.tensordot(call(rows)["pooled_output"], head, 1)
            loss = tf.reduce_mean((scores - tf.constant(TARGETS)) ** 2)
        for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            if gradient is not None:
                weight.assign_sub(LEARNING_RATE * tf.convert_to_tensor(gradient))
        losses.append(float(loss))
    return losses, call(rows)["pooled_output"].numpy()


def variables(encoder):
    """Trainable variables of TensorFlow, of a Keras layer or of what `hub.load` gives."""
    if hasattr(encoder, "trainable_weights"):
        return [weight.value for weight in encoder.trainable_weights]
    return list(encoder.trainable_variables)


def compare(task):
    """All rows of the table; runs in the interpreter that has tensorflow-hub."""
    import tensorflow as tf
    import tensorflow_hub as hub
    import tensorflow_text  # noqa: F401

    import bert_tf

    source = task["init_checkpoint"]
    tokenizer = bert_tf.Tokenizer.from_preset(source, max_seq_length=128, padding="max_length")
    reference = bert_tf.Encoder.from_preset(source)
    batch = {name: tf.constant(value) for name, value in tokenizer(TEXTS).items()}
    wanted = {name: np.asarray(value) for name, value in reference(batch).items()
              if name != "encoder_outputs"}  # fmt: skip
    real = np.asarray(batch["input_mask"])[..., None]
    head = tf.constant(
        np.random.default_rng(0).normal(size=wanted["pooled_output"].shape[1]) / 20, tf.float32
    )
    losses, after = two_updates(reference, variables(reference), batch, head)
    yield {"what": "checkpoint, two updates", "losses": losses}

    preprocessing = {"ours": task["ours_preprocessing"]}
    if task["published_preprocessing"]:
        preprocessing["published"] = task["published_preprocessing"]
    for name, path in preprocessing.items():
        rows = hub.load(path)(tf.constant(TEXTS))
        pairs = zip(rows["input_word_ids"], batch["input_word_ids"], strict=True)
        equal = [np.array_equal(given, wanted) for given, wanted in pairs]
        yield {"what": f"preprocessing, {name}", "rows_equal_to_tokenizer": sum(equal),
               "rows": len(TEXTS)}  # fmt: skip

    encoders = {"ours": task["ours_encoder"], "ours, from the cache by its URL": URL}
    if task["published_encoder"]:
        encoders["published"] = task["published_encoder"]
    loaders = {
        "hub.load": hub.load,
        "bert_tf.HubLayer": lambda path: bert_tf.HubLayer(path, trainable=True),
    }
    for loader, load in loaders.items():
        for name, path in encoders.items():
            call = load(path)
            weights = variables(call)
            given = call(batch)
            row = {
                "what": f"{loader}, {name}",
                "pooled_output": distance(given["pooled_output"], wanted["pooled_output"]),
                "sequence_output": distance(
                    given["sequence_output"], wanted["sequence_output"], real
                ),
                "trainable_weights": len(weights),
            }
            row["losses"], pooled = two_updates(call, weights, batch, head)
            row["pooled_output_after_two_updates"] = distance(pooled, after)
            yield row


def main(options):
    with tempfile.TemporaryDirectory() as folder:
        hub = {name: f"{folder}/{name}" for name in ("model", "preprocessing")}
        for name, export_dir in hub.items():
            child_process.run(
                [sys.executable, "-m", "export.hub", f"--model_dir={options.init_checkpoint}",
                 f"--export_dir={export_dir}", f"--export_type={name}"]
            )  # fmt: skip
        cached = f"{folder}/cache/{hashlib.sha1(URL.encode()).hexdigest()}"
        shutil.copytree(f"{hub['model']}/1", cached)
        task = dataclasses.asdict(options) | {
            "ours_encoder": f"{hub['model']}/1",
            "ours_preprocessing": f"{hub['preprocessing']}/1",
        }
        lines = child_process.ask(
            options.hub_python,
            pathlib.Path(__file__),
            task,
            PYTHONPATH=str(ROOT),
            TFHUB_CACHE_DIR=f"{folder}/cache",
        )
    print("\n".join(lines))
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    files.write_text(RESULTS, json.dumps({"rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    if len(sys.argv) == 2 and sys.argv[1].startswith("{"):
        for row in compare(json.loads(sys.argv[1])):
            print(json.dumps(row), flush=True)
    else:
        flagging.run(main, Options)
