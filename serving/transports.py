"""Both APIs in one event loop: how they start and how they stop together."""

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import uvicorn

from serving.execution import parameters
from serving.execution.batching import BatchingRunner
from serving.execution.direct import DirectRunner
from serving.grpc_api.server import GrpcServer
from serving.methods.core import Core
from serving.models.manager import ModelManager
from serving.monitoring.config import prometheus_path
from serving.monitoring.metrics import Metrics
from serving.options import Server
from serving.page.application import PageApplication
from serving.rest_api import protocol
from serving.rest_api.application import RestApplication, RestOptions
from serving.rest_api.limits import Limits

_BACKLOG = 2048  # connections that may wait to be accepted; uvicorn's default


@contextlib.asynccontextmanager
async def answering(
    options: Server,
    manager: ModelManager,
    metrics: Metrics,
    listeners: Mapping[str, socket.socket],
) -> AsyncIterator[None]:
    """Answers requests until the context ends; then those in progress, and no others.

    Args:
      listeners: bound sockets by the flag of their port; without one an API is off.

    Raises:
      InputError: gRPC cannot listen.
    """
    num_threads = options.rest_api_num_threads or 4 * (os.cpu_count() or 1)
    executor = ThreadPoolExecutor(num_threads, "request")
    direct = DirectRunner(executor, metrics)
    batching = _batching(options, direct, metrics)
    timeout_seconds = options.rest_api_timeout_in_ms / 1000
    core = Core(manager, batching or direct, metrics, timeout_seconds, manager.request_logs)
    grpc_server = GrpcServer(options)
    rest_server = None
    if "rest_api_port" in listeners:
        page = PageApplication(manager.configs) if options.enable_page else None
        rest_server = RestServer(options, core, listeners["rest_api_port"], page)
    if "port" in listeners:
        listeners["port"].close()  # gRPC binds the port itself
    await grpc_server.start(core)
    if rest_server:
        await rest_server.start()
    try:
        yield
    finally:
        if batching:
            batching.drain()
        stops = [grpc_server.stop(options.drain_seconds)]
        await asyncio.gather(*stops, *([rest_server.stop()] if rest_server else []))
        executor.shutdown(wait=False, cancel_futures=True)


def _batching(options: Server, direct: DirectRunner, metrics: Metrics) -> BatchingRunner | None:
    if not options.enable_batching:
        return None
    common = parameters.BatchingParameters()
    if file := options.batching_parameters_file:
        common = parameters.from_file(file, f"--batching_parameters_file={file}")
    return BatchingRunner(
        common, direct, metrics, per_model=options.enable_per_model_batching_parameters
    )


class RestServer:
    """The REST API, and the page next to it, on a bound socket."""

    def __init__(
        self,
        options: Server,
        core: Core,
        listener: socket.socket,
        page: PageApplication | None,
    ) -> None:
        limits = Limits(options.rest_api_max_request_bytes, options.rest_api_max_text_bytes)
        rest_options = RestOptions(
            limits,
            cors=options.rest_api_enable_cors_support,
            metrics_path=prometheus_path(options.monitoring_config_file),
        )
        self._application = RestApplication(core, rest_options, page)
        self._listener = listener
        self._server = _HttpServer(
            uvicorn.Config(
                self._application,
                http=protocol.protocol_class(
                    options.rest_api_header_timeout_in_ms / 1000,
                    options.rest_api_client_timeout_in_ms / 1000,
                ),
                lifespan="off",
                ws="none",
                access_log=False,
                log_level="warning",
                server_header=False,
                backlog=_BACKLOG,
                timeout_graceful_shutdown=options.drain_seconds,
            )
        )
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listens."""
        self._task = asyncio.create_task(self._server.serve([self._listener]))
        while not (self._server.started or self._task.done()):
            await asyncio.sleep(0.001)

    async def stop(self) -> None:
        """Refuses new connections, answers what is in progress, and ends."""
        self._server.should_exit = True
        if self._task:
            await self._task
        self._application.close()


class _HttpServer(uvicorn.Server):
    """Leaves signals alone, because one signal stops both APIs."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
