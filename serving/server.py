"""Starts a server, answers requests, and stops."""

import concurrent.futures
import os
import shlex
import signal
import socket
from collections.abc import Callable, Collection, Iterator
from typing import Any

import uvicorn

from bert_tf import invocation, progress
from bert_tf.errors import InputError
from serving.models import versions
from serving.options import Server

_BACKLOG = 2048  # connections that may wait to be accepted; uvicorn's default
# Arguments of the client, by the names of the inputs.
_EXAMPLES = {
    ("text",): '"a text"',
    ("text_a", "text_b"): '--text_a="a text" --text_b="another"',
}
_GRACE_SECONDS = 30  # for requests in progress when the server is asked to stop


def run(options: Server) -> None:
    """Serves one model until SIGTERM or Ctrl-C; requests in progress are answered first.

    Raises:
      InputError: no version to serve, it cannot be loaded, or the port is taken.
    """
    number, path = versions.largest(options.model_base_path or "")
    with _bound_socket(options.host, options.rest_api_port) as listener:
        print(f"Loading {options.model_name}, version {number}, from {path} ...", flush=True)
        # TensorFlow (4 s) loads only once the files are there and the port is free.
        from serving.models import servable, warmup
        from serving.rest_api import application as rest

        with progress.status("Loading the model"):
            served = warmup.load(options, number, path)
        num_threads = options.rest_api_num_threads or 4 * (os.cpu_count() or 1)
        with concurrent.futures.ThreadPoolExecutor(num_threads, "request") as executor:
            application = rest.RestApplication(
                served, executor, options.rest_api_timeout_in_ms / 1000
            )
            listener.listen(_BACKLOG)
            default = served.signatures.get(servable.DEFAULT_SIGNATURE)
            print("\n".join(_ready(options, default.inputs if default else ())), flush=True)
            _serve(application, listener)
    print("Stopped.", flush=True)


def _bound_socket(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: clients are refused until the model is ready."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        raise InputError(
            f"--rest_api_port={port} on --host={host} cannot be used: {error.strerror or error}. "
            "Another server may run there; stop it, or give another --rest_api_port."
        ) from None
    return listener


def _ready(options: Server, inputs: Collection[str]) -> Iterator[str]:
    """What to ask, and how.

    Args:
      inputs: names of the inputs of the default signature.
    """
    url = f"http://{_authority(options)}/v1/models/{options.model_name}"
    yield f"Ready: POST {url}:predict; GET {url} and {url}/metadata. Ctrl-C or SIGTERM stops."
    texts = _EXAMPLES.get(tuple(inputs))
    if texts:
        client = invocation.of("client", "-m serving.client")
        name = shlex.quote(options.model_name)
        yield f"Ask it: {client} --url={_authority(options)} --model_name={name} {texts}"


def _authority(options: Server) -> str:
    host = "localhost" if options.host in ("127.0.0.1", "0.0.0.0", "::1", "::") else options.host
    return f"{host}:{options.rest_api_port}"


def _serve(application: Callable[..., Any], listener: socket.socket) -> None:
    server = uvicorn.Server(
        uvicorn.Config(
            application,
            lifespan="off",
            ws="none",
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
    )
    # uvicorn stops on these, then raises them again for the handlers set here.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    server.run(sockets=[listener])
