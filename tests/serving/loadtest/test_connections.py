"""Prepared requests over kept connections."""

import asyncio

import pytest

from serving.client import inputs
from serving.client.grpc_requests import GrpcRequests
from serving.client.rest_requests import RestRequests
from serving.client.results import SignatureInfo, TensorInfo
from serving.client.settings import Tls
from serving.loadtest import connections
from serving.models.spec import ModelSpec
from serving.status import Code, ServingError

SIGNATURE = SignatureInfo({"text": TensorInfo("DT_STRING", (-1,))}, {})


def prepared(endpoint, api, texts):
    """The server, and the bodies of requests, one for each text."""
    url, requests = endpoint.rest_url, RestRequests()
    if api == "grpc":
        url, requests = endpoint.grpc_url, GrpcRequests()
    made = [
        requests.predict(ModelSpec("m"), inputs.arrays({"text": [text]}), (), SIGNATURE)
        for text in texts
    ]
    return connections.Server(url, made[0].target, Tls()), [each.body for each in made]


def sent(server, bodies, numbers):
    """The code of each request, all sent at once."""

    async def run():
        made = connections.to(server, bodies)
        found = await asyncio.gather(*map(made.send, numbers), return_exceptions=True)
        await made.close()
        return [each and each.code for each in found]

    return asyncio.run(run())


@pytest.mark.parametrize("api", ["rest", "grpc"])
def test_requests_are_sent_as_they_were_prepared(endpoint, api):
    server, bodies = prepared(endpoint, api, ["a", "b"])
    assert sent(server, bodies, [1, 0, 1]) == [None] * 3
    asked = [given["body"] if api == "rest" else given for _, given in endpoint.requests]
    texts = sorted(given["inputs"]["text"][0] for given in asked)
    assert texts == (["a", "b", "b"] if api == "rest" else [b"a", b"b", b"b"])


@pytest.mark.parametrize("api", ["rest", "grpc"])
def test_errors_have_the_code_of_the_server(endpoint, api):
    server, bodies = prepared(endpoint, api, ["a"])
    endpoint.failures = [Code.RESOURCE_EXHAUSTED]
    assert sent(server, bodies, [0]) == [Code.RESOURCE_EXHAUSTED]
    away = server._replace(url="grpc://127.0.0.1:9" if api == "grpc" else "127.0.0.1:9")
    assert sent(away, bodies, [0]) == [Code.UNAVAILABLE]


def test_a_connection_is_used_again_unless_the_server_closed_it():
    """Of a server that closes each connection after its second answer."""
    accepted = []

    async def serve(reader, writer):
        accepted.append(writer)
        for _ in range(2):
            await reader.readuntil(b"\r\n\r\nbody")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        writer.close()

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        made = connections.to(connections.Server(address, "/v1", Tls()), [b"body"])
        for _ in range(4):
            await made.send(0)
            await asyncio.sleep(0.05)  # for the end of the connection to arrive
        await made.close()
        server.close()

    asyncio.run(run())
    assert len(accepted) == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"220 mail.example ready\r\n", "The answer is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "ended before the answer"),
        (b"", "ended before the answer"),
    ],
)
def test_what_is_no_answer_is_unavailable(answer, message):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    async def run():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        made = connections.to(connections.Server(address, "/v1", Tls()), [b"body"])
        try:
            await made.send(0)
        finally:
            server.close()

    with pytest.raises(ServingError, match=message) as caught:
        asyncio.run(run())
    assert caught.value.code == Code.UNAVAILABLE
