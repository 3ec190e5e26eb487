"""Connections of the gRPC clients: certificates, and a server that comes back."""

import concurrent.futures

import grpc
import pytest

from serving.client import Retry, ServingError, Settings, Tls
from serving.status import Code
from tests.serving.grpc_api import certificates

KINDS = pytest.mark.parametrize("kind", ["grpc", "async grpc"])


class Handler(grpc.GenericRpcHandler):
    """Answers every method with an empty message, which is the status of no versions."""

    def service(self, details):
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b"")


@pytest.fixture
def server():
    server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
    server.add_generic_rpc_handlers([Handler()])
    yield server
    server.stop(None)


@KINDS
def test_certificates_are_checked_on_both_sides(ask, server, tmp_path, kind):
    paths = {}
    for name in ("AUTHORITY", "CLIENT_KEY", "CLIENT_CERTIFICATE"):
        paths[name] = str(tmp_path / name)
        (tmp_path / name).write_text(getattr(certificates, name))
    pair = certificates.SERVER_KEY.encode(), certificates.SERVER_CERTIFICATE.encode()
    credentials = grpc.ssl_server_credentials([pair], certificates.AUTHORITY.encode(), True)
    url = f"grpcs://localhost:{server.add_secure_port('localhost:0', credentials)}"
    server.start()
    mine = {"client_certificate": paths["CLIENT_CERTIFICATE"], "client_key": paths["CLIENT_KEY"]}
    once = Retry(max_attempts=1)
    known = Settings(tls=Tls(root_certificates=paths["AUTHORITY"], **mine), retry=once)
    assert ask(kind, "status", url=url, settings=known) == []
    anonymous = Settings(tls=Tls(root_certificates=paths["AUTHORITY"]), retry=once)
    with pytest.raises(ServingError) as caught:
        ask(kind, "status", url=url, settings=anonymous)
    assert caught.value.code == Code.UNAVAILABLE


@KINDS
def test_a_server_that_starts_later_is_found_by_the_next_attempts(ask, server, kind):
    port = server.add_insecure_port("127.0.0.1:0")  # accepts nothing before the start
    with concurrent.futures.ThreadPoolExecutor(1) as executor:
        waiting = executor.submit(ask, kind, "status", url=f"127.0.0.1:{port}", timeout_seconds=20)
        server.start()
        assert waiting.result() == []
