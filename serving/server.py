"""Start, serve and stop."""

import concurrent.futures
import os
import signal
import socket
import time

import uvicorn

from bert_tf.errors import InputError
from serving import versions

_BACKLOG = 2048  # connections that may wait to be accepted; uvicorn's default
_GRACE_SECONDS = 30  # for requests in progress when the server is told to stop


def run(options):
    """Serves one model until SIGTERM or Ctrl-C; requests in progress are answered first.

    Args:
      options: `options.Server`.

    Raises:
      InputError: no version to serve, it cannot be loaded, or the port is taken.
    """
    number, path = versions.largest(options.model_base_path)
    with _bound_socket(options.host, options.rest_api_port) as listener:
        # TensorFlow (4 s) loads only once the files are there and the port is free.
        from serving import catalogue, rest

        models = catalogue.Catalogue()
        models.add(_load(options, number, path))
        num_threads = options.rest_api_num_threads or 4 * (os.cpu_count() or 1)
        with concurrent.futures.ThreadPoolExecutor(num_threads, "request") as executor:
            application = rest.RestApplication(models, executor)
            listener.listen(_BACKLOG)
            url = f"http://{_authority(options)}/v1/models/{options.model_name}"
            print(
                f"Ready: POST {url}:predict; GET {url} and {url}/metadata. "
                "Ctrl-C or SIGTERM stops.",
                flush=True,
            )
            _serve(application, listener)
    print("Stopped.", flush=True)


def _bound_socket(host, port):
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


def _load(options, number, path):
    import tensorflow as tf

    from serving import servable, warmup

    tf.get_logger().setLevel("ERROR")  # version-1 loading warns that it is version 1
    start = time.monotonic()
    loaded = servable.Servable(
        options.model_name,
        number,
        path,
        timeout_in_ms=options.rest_api_timeout_in_ms,
        intra_op=options.tensorflow_intra_op_parallelism,
        inter_op=options.tensorflow_inter_op_parallelism,
    )
    loaded_at = time.monotonic()
    print(f"Loaded {path} in {loaded_at - start:.1f} s.", flush=True)
    if options.enable_model_warmup:
        count = warmup.run(loaded)
        seconds = time.monotonic() - loaded_at
        print(f"Warm-up: {count} requests in {seconds:.1f} s.", flush=True)
    return loaded


def _authority(options):
    host = "localhost" if options.host in ("127.0.0.1", "0.0.0.0", "::1", "::") else options.host
    return f"{host}:{options.rest_api_port}"


def _serve(application, listener):
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
