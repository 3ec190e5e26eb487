"""A gRPC server on an event loop of its own, and a channel to it as a plain client opens one."""

import asyncio
import threading

import grpc
import pytest


class Loop:
    """An event loop in a thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    def run(self, coroutine, timeout=60):
        """The result of a coroutine that runs there."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@pytest.fixture(scope="session")
def loop():
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    from serving.options import Server

    socket_path = tmp_path_factory.mktemp("s") / "grpc"
    return Server(
        model_base_path="unused",
        port=0,
        grpc_socket_path=str(socket_path),
        enable_grpc_healthcheck_service=True,
    )


@pytest.fixture(scope="module")
def channel(core, options, loop):
    from serving.grpc_api.server import GrpcServer

    server = GrpcServer(options)
    loop.run(server.start(core))
    unlimited = [("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(f"unix:{options.grpc_socket_path}", unlimited) as channel:
        yield channel
    loop.run(server.stop(0))
