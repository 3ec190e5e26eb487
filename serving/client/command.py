"""Ask a model on a server: `python -m serving.client --model_name=NAME "a text" "another"`.

Works with `python -m serving` and with tensorflow_model_server.
"""

import dataclasses
import itertools
import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from bert_tf import files, invocation
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option
from serving.client import address, answers, rows
from serving.client.connecting import connect
from serving.client.settings import Retry, Settings, Tls
from serving.status import HTTP_STATUS, Code, ServingError


@dataclasses.dataclass(frozen=True, kw_only=True)
class ServerFlags:
    """Which model on which server."""

    model_name: str = option(REQUIRED, "Name of the model on the server.")
    url: str = option(
        "localhost:8501",
        "The server: HOST:PORT or a URL of its REST API, grpc://HOST:PORT of gRPC.",
    )
    signature: str | None = option(None, "Signature of the model to ask; default: serving_default.")
    version: int | None = option(None, "Version to ask; default: the newest one.")
    label: str | None = option(None, "Label of the version to ask, such as 'stable'.")
    timeout_seconds: float = option(60.0, "Maximum seconds to wait for an answer.")
    root_certificates: str | None = option(
        None,
        "PEM file to check the certificate of https:// and grpcs:// with; default: the machine's.",
        is_path=True,
    )
    client_certificate: str | None = option(
        None, "PEM file of the certificate that the server asks for.", is_path=True
    )
    client_key: str | None = option(None, "PEM file of the key of that certificate.", is_path=True)

    def __post_init__(self) -> None:
        if address.is_grpc(self.url):
            address.grpc_target(self.url)
        else:
            address.server_url(self.url)
        if self.version is not None and self.label is not None:
            raise InputError(
                f"--version={self.version} and --label={self.label} both name a version; give one "
                "of them."
            )
        if self.timeout_seconds <= 0:
            raise InputError(f"--timeout_seconds={self.timeout_seconds:g} must be more than 0.")
        if bool(self.client_certificate) != bool(self.client_key):
            raise InputError(
                "--client_certificate and --client_key go together; give both or none."
            )

    def require_files(self) -> None:
        """Checks that files that are read are there, before anything is sent.

        Raises:
          InputError: one is not.
        """
        for name in ("root_certificates", "client_certificate", "client_key"):
            if path := getattr(self, name):
                files.require_file(path, f"--{name}")

    @property
    def tls(self) -> Tls:
        """The certificates."""
        return Tls(
            root_certificates=self.root_certificates,
            client_certificate=self.client_certificate,
            client_key=self.client_key,
        )

    @property
    def version_words(self) -> dict[str, Any]:
        """The keywords of a client's method that name the version."""
        return {"version": self.version, "label": self.label}

    def explained(self, error: ServingError) -> InputError:
        """What the command says of an error of the server, or of a server that is not there."""
        if error.code == Code.UNAVAILABLE:
            return InputError(
                f"{error.message.rstrip('.')}. Start a server with "
                f"`{invocation.of('serve', '-m serving')} --model_name={self.model_name} "
                f"--model_base_path=models/{self.model_name}` in another shell, or give --url."
            )
        return InputError(
            f"{self.url} answered for {self.model_name} with {error.code.name}, status "
            f"{HTTP_STATUS[error.code]}: {error.message}"
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Client(ServerFlags):
    """Flags of the client."""

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
    concurrency: int = option(1, "Requests in progress at once.")
    max_attempts: int = option(
        4, "How often a request is sent while the server is overloaded or not there; 1: once."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_texts()
        for name in ("batch_size", "concurrency", "max_attempts"):
            if getattr(self, name) < 1:
                raise InputError(f"--{name}={getattr(self, name)} must be at least 1.")
        if self.top_k < 0:
            raise InputError(f"--top_k={self.top_k} must be at least 1, or 0 for all of them.")

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
        found = (
            (self.text_a, self.text_b),
            (self.question, self.context),
            (self.context, *(self.choice or [None])),
        )
        for texts in found:
            if None not in texts:
                return [os.fsencode(text) for text in texts if text is not None]
        return None

    @property
    def settings(self) -> Settings:
        """How the client asks."""
        return Settings(
            timeout_seconds=self.timeout_seconds,
            batch_size=self.batch_size,
            concurrency=self.concurrency,
            retry=Retry(max_attempts=self.max_attempts),
            tls=self.tls,
        )


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
    options.require_files()
    with connect(options.url, options.model_name, options.settings) as client:
        try:
            signature = options.signature or ""
            metadata = client.metadata(**options.version_words)
            names = rows.in_order(metadata.signature(signature).inputs)
            asked = rows.Rows(options.model_name, options.row, arguments, names)
            texts = iter(asked)
            while batch := list(itertools.islice(texts, options.batch_size * options.concurrency)):
                inputs = rows.columns(names, batch)
                found = client.predict(inputs, signature=signature, **options.version_words)
                for row, answer in zip(batch, found, strict=True):
                    print(_line(options, names, row, answer), flush=True)
        except ServingError as error:
            raise options.explained(error) from error
    if asked.num_blank:
        print(f"Blank {asked.source} passed over: {asked.num_blank}.", file=sys.stderr)


def _line(
    options: Client, names: Sequence[str], row: Sequence[bytes], answer: dict[str, Any]
) -> str:
    """What is printed for a row."""
    texts = [text.decode("utf-8", "replace") for text in row]
    if options.output_format == "text":
        is_bare = len(answer) == 1 and not answers.is_known(answer)
        shown = next(iter(answer.values())) if is_bare else answer
        return "\t".join([answers.shown(shown, texts, options.top_k), *texts])
    first, *others = texts
    inputs = {names[0]: first} | ({names[1]: others} if tuple(names) == rows.CHOICES else {})
    inputs |= {} if len(inputs) > 1 else dict(zip(names[1:], others, strict=True))
    return json.dumps(inputs | answer, ensure_ascii=False, default=_text)


def _text(value: bytes) -> str:
    """Bytes that are not UTF-8, for JSON."""
    return value.decode("utf-8", "backslashreplace")
