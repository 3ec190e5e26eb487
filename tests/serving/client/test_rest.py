"""Connections of the REST clients: certificates, and servers that do not answer."""

import contextlib
import http.server
import socket
import ssl
import threading

import pytest

from serving.client import Retry, ServingError, Settings, Tls
from serving.status import Code
from tests.serving.grpc_api import certificates

KINDS = pytest.mark.parametrize("kind", ["rest", "async rest"])
ONCE = Retry(max_attempts=1)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """Paths of the keys and certificates."""
    folder = tmp_path_factory.mktemp("certificates")
    for name in (
        "AUTHORITY",
        "SERVER_KEY",
        "SERVER_CERTIFICATE",
        "CLIENT_KEY",
        "CLIENT_CERTIFICATE",
    ):
        (folder / name).write_text(getattr(certificates, name))
    return folder


@pytest.fixture
def encrypted(files):
    """Address of a server that asks for the certificate of a client."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b'{"model_version_status": []}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files / "SERVER_CERTIFICATE", files / "SERVER_KEY")
    context.load_verify_locations(files / "AUTHORITY")
    context.verify_mode = ssl.CERT_REQUIRED
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *_: None
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"https://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@KINDS
def test_certificates_are_checked_on_both_sides(ask, encrypted, files, kind):
    mine = {
        "client_certificate": str(files / "CLIENT_CERTIFICATE"),
        "client_key": str(files / "CLIENT_KEY"),
    }
    known = Tls(root_certificates=str(files / "AUTHORITY"), **mine)
    settings = Settings(tls=known, retry=ONCE)
    assert ask(kind, "status", url=encrypted, settings=settings) == []
    with pytest.raises(ServingError, match="TLS with https://localhost:.* failed") as caught:
        ask(kind, "status", url=encrypted, settings=Settings(tls=Tls(**mine)))
    assert caught.value.code == Code.UNAUTHENTICATED
    anonymous = Tls(root_certificates=str(files / "AUTHORITY"))
    with pytest.raises(ServingError):
        ask(kind, "status", url=encrypted, settings=Settings(tls=anonymous, retry=ONCE))


@contextlib.contextmanager
def answering(answer):
    """Address of a server that answers each connection with these bytes and then waits."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        open_ones = []

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    open_ones.append(connection)
                    connection.recv(4096)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        for connection in open_ones:
            connection.close()


@KINDS
@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", b"HTTP/1.1 200"]
)
def test_an_answer_that_does_not_end_is_given_up_at_the_deadline(ask, kind, answer):
    with answering(answer) as url, pytest.raises(ServingError) as caught:
        ask(kind, "status", url=url, timeout_seconds=0.3)
    assert caught.value.code == Code.DEADLINE_EXCEEDED


@KINDS
def test_a_redirect_is_not_followed(ask, kind):
    moved = b"HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"
    with answering(moved) as url, pytest.raises(ServingError, match="status 301 and not JSON"):
        ask(kind, "status", url=url)


def test_a_port_of_grpc_is_told(ask):
    with answering(b"\0\0\x18\4\0\0\0\0\0\r\n\r\n") as url:
        with pytest.raises(ServingError, match="not HTTP 1; a port of gRPC is asked with grpc://"):
            ask("rest", "status", url=url, settings=Settings(retry=ONCE))
