"""The standard health service of gRPC, grpc.health.v1, as TensorFlow Serving offers it."""

import asyncio
from typing import Any

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

_NAMES = ("", "ModelService", "PredictionService")
_SECONDS_TO_SEND = 0.1  # the last status, to those that watch it


class Health(health.aio.HealthServicer):
    """Its watches end with the server, which would wait for them otherwise."""

    def __init__(self) -> None:
        super().__init__()
        self._watches: set[asyncio.Future] = set()
        self._is_ending = False

    async def begin(self, server: grpc.aio.Server) -> None:
        """Adds itself to a server, with all names in the state SERVING."""
        health_pb2_grpc.add_HealthServicer_to_server(self, server)
        for name in _NAMES:
            await self.set(name, health_pb2.HealthCheckResponse.SERVING)

    async def end(self) -> None:
        """Says NOT_SERVING from now on, and ends all watches."""
        self._is_ending = True
        await self.enter_graceful_shutdown()
        if self._watches:
            await asyncio.sleep(_SECONDS_TO_SEND)
        for watch in self._watches:
            watch.cancel()

    async def Watch(self, request: Any, context: grpc.aio.ServicerContext) -> None:
        """Sends every change of a status."""
        watch = asyncio.ensure_future(super().Watch(request, context))
        self._watches.add(watch)
        try:
            await watch
        except asyncio.CancelledError:
            if not self._is_ending:
                raise  # the client went away
            await context.abort(grpc.StatusCode.UNAVAILABLE, "The server stops.")
        finally:
            self._watches.discard(watch)
