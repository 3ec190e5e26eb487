"""Clients of TensorFlow Serving that others wrote, unchanged, against the embedded server.

    python -m benchmarks.serving.foreign_clients --work_dir=environments

Each gets an environment of its own with the packages that it needs, and asks a small model all that
it can. The answers are compared with what the model computes by definition: the number of
characters of each text, and of n characters the scores 1 / (1 + n) and n / (1 + n).
"""

import contextlib
import dataclasses
import json
import pathlib
import socket
import subprocess
import sys
import venv
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks import child_process
from bert_tf import files, flagging
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option

ROOT = pathlib.Path(__file__).parents[2]
CHILD = ROOT / "benchmarks/serving/foreign_client_child.py"
TEXTS = ("a", "Which rocket?", "", "straße", "東京", "word " * 200)
AVAILABLE = 30  # ModelVersionStatus.AVAILABLE


class Client(NamedTuple):
    """A client and its environment.

    Attributes:
      packages: for pip; none: the environment of bert_tf.
      needs: what its users must know.
    """

    name: str
    packages: tuple[str, ...]
    needs: str


_OLD = ("protobuf==3.20.3", "numpy<2")  # generated code of before 2022 wants this protobuf
CLIENTS = (
    Client("tensorflow-serving-api", (), "TensorFlow"),
    Client("min-tfs-client", ("min-tfs-client==1.0.2", *_OLD), "protobuf before 4"),
    Client("ovmsclient, gRPC", ("ovmsclient==2023.1",), "a version number: its 0 is version 0"),
    Client("ovmsclient, HTTP", ("ovmsclient==2023.1",), "a version number: its 0 is version 0"),
    Client(
        "tf-serving-client",
        ("tf-serving-client==0.1.9", "min-tfs-client==1.0.2", *_OLD),
        "protobuf before 4; make_tensor_proto of TensorFlow 1, stood for",
    ),
    Client(
        "serving-utils",
        ("serving-utils==0.10.0", *_OLD),
        "protobuf before 4; make_tensor_proto and make_ndarray of TensorFlow, stood for",
    ),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    work_dir: str = option(REQUIRED, "For environments and the model.", is_path=True)
    results: str = option(
        str(ROOT / "benchmarks/results/foreign_clients.json"), "File to write.", is_path=True
    )


def main(options: Options) -> None:
    folder = pathlib.Path(options.work_dir).resolve()
    _save_model(folder / "model/1")
    rows = []
    with _server(folder / "model") as ports:
        for client in CLIENTS:
            python = _environment(folder, client)
            task = {"client": client.name, "model": "tiny", "texts": TEXTS, **ports}
            answers = json.loads(child_process.ask(python, CHILD, task)[-1])
            rows += [
                {
                    "client": client.name,
                    "packages": client.packages,
                    "needs": client.needs,
                    "asked": name,
                    "is_right": _is_right(name, answer),
                }
                for name, answer in answers.items()
            ]
            _print(client, answers)
    files.write_text(options.results, json.dumps(rows, indent=1) + "\n")
    wrong = [row for row in rows if not row["is_right"]]
    print(f"{len(rows)} kinds of request of {len(CLIENTS)} clients, {len(wrong)} answers wrong")


def _print(client: Client, answers: dict[str, Any]) -> None:
    for name, answer in answers.items():
        verdict = "right" if _is_right(name, answer) else "WRONG"
        print(f"{client.name:24}{name:34}{verdict:8}{client.needs}", flush=True)


def _is_right(name: str, answer: Any) -> bool:
    lengths = np.array([len(text) for text in TEXTS])
    scores = np.stack([1 / (1 + lengths), lengths / (1 + lengths)], axis=1)
    if "metadata" in name.lower():
        return answer == ["length", "scores"]
    if "status" in name.lower():
        return answer in ([[1, AVAILABLE]], [[1, "AVAILABLE"]], [["1", "AVAILABLE"]])
    if name == "Classify":
        return np.allclose(answer, scores)
    if name == "32 async_predict at once":
        return answer == [[size] for size in range(32)]
    if "output_filter" in name:
        return answer == lengths.tolist()
    return answer[0] == lengths.tolist() and np.allclose(answer[1], scores)


def _save_model(path: pathlib.Path) -> None:
    import tensorflow as tf

    def outputs(text):
        length = tf.strings.length(text, unit="UTF8_CHAR")
        share = 1 / (1 + tf.cast(length, tf.float32))
        return length, tf.stack([share, 1 - share], axis=1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])
    def default(text):
        length, scores = outputs(text)
        return {"length": length, "scores": scores}

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="inputs")])
    def classify(inputs):
        features = {"text": tf.io.FixedLenFeature([], tf.string)}
        return {"scores": outputs(tf.io.parse_example(inputs, features)["text"])[1]}

    signatures = {"serving_default": default, "classify": classify}
    tf.saved_model.save(tf.Module(), str(path), signatures=signatures)


@contextlib.contextmanager
def _server(base_path: pathlib.Path) -> Iterator[dict[str, int]]:
    """Yields the ports of a server."""
    ports = {"port": _free_port(), "rest_port": _free_port()}
    command = [sys.executable, "-m", "serving", "--model_name=tiny"]
    command += [f"--model_base_path={base_path}", f"--port={ports['port']}"]
    command += [f"--rest_api_port={ports['rest_port']}"]
    process = subprocess.Popen(
        command, cwd=ROOT, env=child_process.without_gpu(), stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        if not any(line.startswith("Ready: ") for line in process.stdout):
            raise InputError("The server did not start; see above.")
        yield ports
    finally:
        process.terminate()
        process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _environment(folder: pathlib.Path, client: Client) -> str:
    """The interpreter of an environment with the packages, made unless it is there."""
    if not client.packages:
        return sys.executable
    path = folder / client.packages[0].replace("==", "-")
    python = str(path / "bin/python")
    if not (path / "complete").exists():
        venv.create(path, with_pip=True, clear=True)
        # Two steps: old protobuf is refused by packages that do not use it here.
        first, *rest = client.packages
        for packages in filter(None, ([first], rest)):
            command = [python, "-m", "pip", "install", "--quiet", *packages]
            subprocess.run(
                command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        (path / "complete").touch()
    return python


if __name__ == "__main__":
    flagging.run(main, Options)
