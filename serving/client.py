"""Ask a model on a server: `python -m serving.client --model_name=NAME "a text" "another"`.

Works with `python -m serving` and with tensorflow_model_server. Without texts on the command line
it reads them from standard input, one per line; a tab separates the texts of a pair.
"""

import base64
import dataclasses
import itertools
import json
import os
import sys
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import requests

from bert_tf import commands
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option

_SIGNATURE = "serving_default"
_TWO_TEXTS = "Give --text_a and --text_b, or separate the texts of a pair with a tab."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Client:
    """Flags of the client."""

    model_name: str = option(REQUIRED, "Name of the model on the server.")
    url: str = option("http://localhost:8501", "Where the server's REST API is.")
    text_a: str | None = option(None, "First text, for a model of two texts.")
    text_b: str | None = option(None, "Second text, for a model of two texts.")
    batch_size: int = option(32, "Texts per request.")
    timeout_seconds: float = option(60.0, "Maximum seconds to wait for an answer.")

    def __post_init__(self) -> None:
        if (self.text_a is None) != (self.text_b is None):
            raise InputError("--text_a and --text_b go together; give both or none.")
        if self.batch_size < 1:
            raise InputError(f"--batch_size={self.batch_size} must be at least 1.")


def predict(
    url: str, model_name: str, instances: Sequence[Any], timeout_seconds: float = 60.0
) -> list[Any]:
    """Asks a model for predictions.

    Args:
      url: such as "http://localhost:8501".
      instances: rows: a text each, or a dict from input name to value.

    Returns:
      A prediction per row: a dict from output name to value, or the bare value of a model with one
      output.

    Raises:
      InputError: no answer, or an error answer; the message has the server's words.
    """
    answer = _request(
        "POST", url, model_name, ":predict", timeout_seconds, {"instances": instances}
    )
    return answer["predictions"]


def input_names(url: str, model_name: str, timeout_seconds: float = 60.0) -> list[str]:
    """Names of the inputs of the model's default signature, sorted.

    Raises:
      InputError: as `predict`, or there is no such signature.
    """
    metadata = _request("GET", url, model_name, "/metadata", timeout_seconds)
    signatures = metadata["metadata"]["signature_def"]["signature_def"]
    if _SIGNATURE not in signatures:
        raise InputError(
            f"{model_name} has no signature {_SIGNATURE}; it has {sorted(signatures)}."
        )
    return sorted(signatures[_SIGNATURE]["inputs"])


def _request(
    method: str,
    url: str,
    model_name: str,
    suffix: str,
    timeout_seconds: float,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    name = urllib.parse.quote(model_name, safe="")
    address = f"{url.rstrip('/')}/v1/models/{name}{suffix}"
    try:
        response = requests.request(method, address, json=body, timeout=timeout_seconds)
    except requests.ConnectionError:
        raise InputError(
            f"No server answers at {url}. Start one with `python -m serving "
            f"--model_name={model_name} --model_base_path=models/{model_name}`, or give --url."
        ) from None
    except requests.RequestException as error:
        raise InputError(f"{method} {address} failed: {error}.") from None
    try:
        answer = response.json()
    except requests.JSONDecodeError:
        raise InputError(
            f"{method} {address} was answered with status {response.status_code} and not JSON; "
            "is this the REST port of a TensorFlow model server?"
        ) from None
    if response.status_code != 200:
        raise InputError(
            f"{method} {address} was answered with status {response.status_code}: "
            f"{answer.get('error', answer)}"
        )
    return answer


def main(options: Client, arguments: Sequence[str]) -> None:
    """Sends the texts in batches and prints one line per row."""
    names = input_names(options.url, options.model_name, options.timeout_seconds)
    rows = _rows(options, arguments, len(names))
    while batch := list(itertools.islice(rows, options.batch_size)):
        instances = [dict(zip(names, map(_json_string, row), strict=True)) for row in batch]
        predictions = predict(options.url, options.model_name, instances, options.timeout_seconds)
        for row, prediction in zip(batch, predictions, strict=True):
            texts = "\t".join(text.decode("utf-8", "replace") for text in row)
            print(f"{_answer(prediction)}\t{texts}", flush=True)


def _rows(options: Client, arguments: Sequence[str], num_texts: int) -> Iterator[list[bytes]]:
    """Yields rows of `num_texts` texts as bytes."""
    rows: Iterable[list[bytes]]
    if options.text_a is not None and options.text_b is not None:
        if arguments:
            raise InputError(f"Give --text_a and --text_b or texts ({arguments}), not both.")
        rows = [[os.fsencode(options.text_a), os.fsencode(options.text_b)]]
    elif arguments:
        rows = (_split(os.fsencode(text), num_texts) for text in arguments)
    elif sys.stdin.isatty():
        raise InputError('No texts. Give them as arguments ("a text" "another") or on stdin.')
    else:
        rows = (_split(line.rstrip(b"\r\n"), num_texts) for line in sys.stdin.buffer)
    for number, row in enumerate(rows, 1):
        if len(row) != num_texts:
            way_out = "Give texts as arguments." if num_texts == 1 else _TWO_TEXTS
            raise InputError(
                f"Row {number} holds {len(row)} texts; {options.model_name} takes {num_texts}. "
                f"{way_out}"
            )
        yield row


def _split(text: bytes, num_texts: int) -> list[bytes]:
    return text.split(b"\t") if num_texts > 1 else [text]


def _json_string(text: bytes) -> str | dict[str, str]:
    """Text for JSON: a string, or base64 if it is not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(text).decode()}


def _answer(prediction: Any) -> str:
    """Label and probability, or the score, or whatever another model answers."""
    if isinstance(prediction, dict) and {"label", "probabilities"} <= prediction.keys():
        return f"{prediction['label']}\t{max(prediction['probabilities']):.4f}"
    if isinstance(prediction, dict) and "score" in prediction:
        return f"{prediction['score']:.4f}"
    return json.dumps(prediction, ensure_ascii=False)


if __name__ == "__main__":
    commands.run("client")
