"""Ask a model on a server: `python -m serving.client --model_name=NAME "a text" "another"`.

Works with `python -m serving` and with tensorflow_model_server.
"""

import base64
import dataclasses
import itertools
import json
import os
import re
import sys
import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import requests

from bert_tf import invocation
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from serving.client import answers

_SIGNATURE = "serving_default"
# Inputs of a model of several texts, in their order: each has a flag.
_CHOICES = ("context", "choices")
_SEVERAL = (("text_a", "text_b"), ("question", "context"), _CHOICES)
_WAYS = (
    "Give --text_a and --text_b, --context and its --choice flags, or --question and --context, or "
    "separate the texts of a row with tabs."
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Client:
    """Flags of the client."""

    model_name: str = option(REQUIRED, "Name of the model on the server.")
    url: str = option("localhost:8501", "The server's REST API: HOST:PORT, or a URL.")
    text_a: str | None = option(None, "First text, for a model of two texts.")
    text_b: str | None = option(None, "Second text, for a model of two texts.")
    question: str | None = option(None, "Question, for a model that answers questions.")
    context: str | None = option(
        None, "Text that holds the answer to --question, or that each --choice goes on from."
    )
    choice: tuple[str, ...] | None = option(
        None, "A choice, for a model that picks one; the flag is given once for each."
    )
    top_k: int = option(
        3, "Labels, choices or tokens to print, the most probable first; 0: all of them."
    )
    output_format: str = option(
        "text",
        "What to print per row: 'text' is for people, 'json' an object with every output.",
        choices=("text", "json"),
    )
    batch_size: int = option(32, "Texts per request.")
    timeout_seconds: float = option(60.0, "Maximum seconds to wait for an answer.")

    def __post_init__(self) -> None:
        self._check_texts()
        if self.batch_size < 1:
            raise InputError(f"--batch_size={self.batch_size} must be at least 1.")
        if self.top_k < 0:
            raise InputError(f"--top_k={self.top_k} must be at least 1, or 0 for all of them.")
        server_url(self.url)

    def _check_texts(self) -> None:
        given = [
            name for name in ("text_a", "question", "choice") if getattr(self, name) is not None
        ]
        if len(given) > 1:
            raise InputError(
                f"--{given[0]} and --{given[1]} are for different models; give one of them."
            )
        if (self.text_a is None) != (self.text_b is None):
            raise InputError("--text_a and --text_b go together; give both or none.")
        if (self.context is None) != (self.question is None and self.choice is None):
            raise InputError(
                "--question and --context go together, and so do --context and --choice; give both "
                "or none."
            )

    @property
    def row(self) -> list[bytes] | None:
        """The texts of the flags; None without."""
        rows = (
            (self.text_a, self.text_b),
            (self.question, self.context),
            (self.context, *(self.choice or [None])),
        )
        for texts in rows:
            if None not in texts:
                return [os.fsencode(text) for text in texts if text is not None]
        return None


def server_url(url: str) -> str:
    """The URL of a server, to which `/v1/models/...` can be added.

    Args:
      url: with or without `http://`, e.g. "localhost:8501".

    Raises:
      InputError: it is not the address of a server.
    """
    has_scheme = "://" in url
    full = url if has_scheme else f"http://{url}"
    try:
        parts = urllib.parse.urlsplit(full)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _not_a_server(url, str(error)) from None
    if parts.scheme not in ("http", "https"):
        raise _not_a_server(url, f"the scheme {parts.scheme}:// is not http or https")
    if not re.fullmatch(r"[\w.-]+|[\da-fA-F:.]+", host):
        raise _not_a_server(url, f"{host!r} is not the name of a host" if host else "no host")
    if "/v1" in parts.path or parts.query or parts.fragment:
        raise _not_a_server(url, "more than the address of the server; --model_name has the rest")
    if port is None and not has_scheme:
        raise _not_a_server(url, "no port")
    return full.rstrip("/")


def _not_a_server(url: str, problem: str) -> InputError:
    return InputError(
        f"--url={url} is not the address of a server: {problem}. Wanted: HOST:PORT or a URL, e.g. "
        "localhost:8501."
    )


def predict(
    url: str, model_name: str, instances: Sequence[Any], timeout_seconds: float = 60.0
) -> list[Any]:
    """Asks a model for predictions.

    Args:
      url: the server, as `server_url` takes it.
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
    """Names of the inputs of the model's default signature, in the order of the texts.

    Raises:
      InputError: as `predict`, or there is no such signature.
    """
    metadata = _request("GET", url, model_name, "/metadata", timeout_seconds)
    signatures = metadata["metadata"]["signature_def"]["signature_def"]
    if _SIGNATURE not in signatures:
        raise InputError(
            f"{model_name} has no signature {_SIGNATURE}; it has {sorted(signatures)}."
        )
    names = sorted(signatures[_SIGNATURE]["inputs"])
    return next((list(each) for each in _SEVERAL if sorted(each) == names), names)


def _request(
    method: str,
    url: str,
    model_name: str,
    suffix: str,
    timeout_seconds: float,
    body: dict[str, Any] | None = None,
) -> dict[str, Any]:
    name = urllib.parse.quote(model_name, safe="")
    address = f"{server_url(url)}/v1/models/{name}{suffix}"
    try:
        response = requests.request(method, address, json=body, timeout=timeout_seconds)
    except requests.ConnectionError:
        raise InputError(
            f"No server answers at {server_url(url)}. Start one with "
            f"`{invocation.of('serve', '-m serving')} --model_name={model_name} "
            f"--model_base_path=models/{model_name}` in another shell, or give --url."
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


def notes() -> str:
    """What --help says below the flags."""
    return (
        "Rows are the arguments or, without arguments, the lines of standard input; a\n"
        "tab separates the texts of a row that has several: a pair, a question and its\n"
        "context, or a context and its choices. Blank rows are passed over, and counted\n"
        "on standard error.\n\n"
        "Each row is answered by a line, then a tab and its texts: its most probable\n"
        "labels, choices or tokens with their probabilities, its entities, its score, or\n"
        "the first numbers of its vector."
    )


def main(options: Client, arguments: Sequence[str]) -> None:
    """Sends the texts in batches and prints one line per row."""
    names = input_names(options.url, options.model_name, options.timeout_seconds)
    rows = _Rows(options, arguments, names)
    texts = iter(rows)
    while batch := list(itertools.islice(texts, options.batch_size)):
        instances = _instances(names, batch)
        predictions = predict(options.url, options.model_name, instances, options.timeout_seconds)
        for row, prediction in zip(batch, predictions, strict=True):
            print(_line(options, names, row, prediction), flush=True)
    if rows.num_blank:
        print(f"Blank {rows.source} passed over: {rows.num_blank}.", file=sys.stderr)


class _Rows:
    """The rows to ask about.

    Attributes:
      source: what a row was given as, in the plural.
      num_blank: rows without a text, which are passed over, so far.
    """

    def __init__(self, options: Client, arguments: Sequence[str], names: Sequence[str]) -> None:
        self._name, self._names = options.model_name, names
        self._given: Iterable[bytes | list[bytes]]
        self.source, self.num_blank = "texts", 0
        if row := options.row:
            if arguments:
                raise InputError(f"{_WAYS} There are flags and texts ({arguments}).")
            self._given = [row]
        elif arguments:
            self._given = list(map(os.fsencode, arguments))
        elif sys.stdin.isatty():
            raise InputError('No texts. Give them as arguments ("a text" "another") or on stdin.')
        else:
            self._given = (line.rstrip(b"\r\n") for line in sys.stdin.buffer)
            self.source = "lines of standard input"

    def __iter__(self) -> Iterator[list[bytes]]:
        """Yields the texts of each row.

        Raises:
          InputError: a row has another number of texts than the model takes, or there is none among
            those of the command line.
        """
        number = 0
        for number, given in enumerate(self._given, 1):
            row = given if isinstance(given, list) else self._split(given)
            if not any(text.strip() for text in row):
                self.num_blank += 1
                continue
            self._check(number, row)
            yield row
        if self.source == "texts" and self.num_blank == number:
            raise InputError("Every text is blank; there is nothing to ask.")

    def _split(self, text: bytes) -> list[bytes]:
        return text.split(b"\t") if len(self._names) > 1 else [text]

    def _check(self, number: int, row: Sequence[bytes]) -> None:
        count = len(self._names)
        if tuple(self._names) == _CHOICES:
            if len(row) < count:
                raise InputError(
                    f"Row {number} holds {len(row)} texts; {self._name} takes a context and its "
                    f"choices. {_WAYS}"
                )
        elif len(row) != count:
            way_out = "Give texts as arguments." if count == 1 else _WAYS
            raise InputError(
                f"Row {number} holds {len(row)} texts; {self._name} takes {count}. {way_out}"
            )


def _instances(names: Sequence[str], batch: Sequence[Sequence[bytes]]) -> list[dict[str, Any]]:
    """The rows of a request. All rows have as many choices; an empty one is none."""
    rows = [list(map(_json_string, row)) for row in batch]
    if tuple(names) != _CHOICES:
        return [dict(zip(names, row, strict=True)) for row in rows]
    most = max(map(len, rows))
    return [
        {"context": context, "choices": choices + [""] * (most - 1 - len(choices))}
        for context, *choices in rows
    ]


def _json_string(text: bytes) -> str | dict[str, str]:
    """Text for JSON: a string, or base64 if it is not UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(text).decode()}


def _line(options: Client, names: Sequence[str], row: Sequence[bytes], prediction: Any) -> str:
    """What is printed for a row."""
    texts = [text.decode("utf-8", "replace") for text in row]
    if options.output_format == "text":
        return "\t".join([answers.shown(prediction, texts, options.top_k), *texts])
    outputs = prediction if isinstance(prediction, dict) else {"output": prediction}
    first, *others = texts
    inputs = {names[0]: first} | ({names[1]: others} if tuple(names) == _CHOICES else {})
    inputs |= {} if len(inputs) > 1 else dict(zip(names[1:], others, strict=True))
    return json.dumps(inputs | outputs, ensure_ascii=False)
