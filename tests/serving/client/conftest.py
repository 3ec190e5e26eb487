"""A server that keeps the contract, and calls of every kind of client."""

import asyncio

import pytest

from tests.reference.model_endpoint_grpc import endpoint, running

__all__ = ["ask", "endpoint", "running"]


def client_class(kind):
    """The class of "rest", "grpc", "async rest" or "async grpc"."""
    from serving import client

    return {
        "rest": client.RestClient,
        "grpc": client.GrpcClient,
        "async rest": client.AsyncRestClient,
        "async grpc": client.AsyncGrpcClient,
    }[kind]


@pytest.fixture
def ask(endpoint):
    """Calls a method of a client that is made for the call: ask(kind, "predict", ["a"])."""

    def call(kind, method, *arguments, settings=None, url=None, **keywords):
        url = url or (endpoint.grpc_url if "grpc" in kind else endpoint.rest_url)
        given = [url, "m", *filter(None, [settings])]
        if not kind.startswith("async"):
            with client_class(kind)(*given) as client:
                return getattr(client, method)(*arguments, **keywords)

        async def run():
            async with client_class(kind)(*given) as client:
                return await getattr(client, method)(*arguments, **keywords)

        return asyncio.run(run())

    return call
