"""Ports that are taken before models load, so that a port in use is reported at once."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from bert_tf.errors import InputError


@contextmanager
def bound(flag: str, host: str, port: int) -> Iterator[socket.socket]:
    """A bound socket that does not listen yet: clients are refused until the models are there.

    Args:
      flag: the name of the flag that gives the port.

    Raises:
      InputError: the port cannot be had.
    """
    try:
        listener = _bind(host, port)
    except OSError as error:
        raise InputError(
            f"--{flag}={port} on --host={host} cannot be used: {error.strerror or error}. Another "
            f"server may run there; stop it, or give another --{flag}; 0 turns this API off."
        ) from None
    with listener:
        yield listener


def _bind(host: str, port: int) -> socket.socket:
    family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    listener = socket.socket(family, kind)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError:
        listener.close()
        raise
    return listener


def authority(host: str, port: int) -> str:
    """Host and port as a client on this machine names them."""
    is_here = host in ("127.0.0.1", "0.0.0.0", "::1", "::")
    name = "localhost" if is_here else f"[{host}]" if ":" in host else host
    return f"{name}:{port}"
