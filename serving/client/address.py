"""Addresses of servers."""

import re
import urllib.parse

from bert_tf.errors import InputError

_GRPC_SCHEMES = {"grpc": False, "grpcs": True}  # to whether the connection is encrypted


def is_grpc(url: str) -> bool:
    """Whether an address says by itself that it is one of gRPC."""
    return url.partition("://")[0] in _GRPC_SCHEMES or url.startswith("unix:")


def grpc_target(url: str) -> tuple[str, bool]:
    """The target of a gRPC channel, and whether it is encrypted.

    Args:
      url: grpc://HOST:PORT, grpcs://HOST:PORT for an encrypted one, HOST:PORT, or unix:PATH.

    Raises:
      InputError: it is not the address of a server.
    """
    if url.startswith("unix:"):
        return url, False
    scheme, has_scheme, rest = url.partition("://")
    if not has_scheme:
        scheme, rest = "grpc", url
    rest = rest.rstrip("/")
    problem = _problem(rest)
    if scheme not in _GRPC_SCHEMES:
        problem = f"the scheme {scheme}:// is not grpc or grpcs"
    if problem:
        raise _not_a_server(url, problem, "grpc://HOST:PORT, e.g. grpc://localhost:8500")
    return rest, _GRPC_SCHEMES[scheme]


def server_url(url: str) -> str:
    """The URL of a server, to which `/v1/models/...` can be added.

    Args:
      url: with or without `http://`, e.g. "localhost:8501".

    Raises:
      InputError: it is not the address of a server.
    """
    if problem := _problem(url):
        raise _not_a_server(url, problem, "HOST:PORT or a URL, e.g. localhost:8501")
    return (url if "://" in url else f"http://{url}").rstrip("/")


def _problem(url: str) -> str:
    """What is wrong with the address of a server; empty if nothing is."""
    has_scheme = "://" in url
    try:
        parts = urllib.parse.urlsplit(url if has_scheme else f"http://{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        return str(error)
    if parts.scheme not in ("http", "https"):
        return f"the scheme {parts.scheme}:// is not http or https"
    if not re.fullmatch(r"[\w.-]+|[\da-fA-F:.]+", host):
        return f"{host!r} is not the name of a host" if host else "no host"
    if "/v1" in parts.path or parts.query or parts.fragment:
        return "more than the address of the server; --model_name has the rest"
    return "no port" if port is None and not has_scheme else ""


def _not_a_server(url: str, problem: str, wanted: str) -> InputError:
    return InputError(f"--url={url} is not the address of a server: {problem}. Wanted: {wanted}.")
