"""Starts a server, answers requests, and stops: what connects models, methods and transports."""

import asyncio
import concurrent.futures
import contextlib
import os
import shlex
import signal
import socket
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import uvicorn
import uvloop

from bert_tf import invocation, progress
from bert_tf.errors import InputError
from serving import ports
from serving.models import config, config_file, lean_tensorflow, versions
from serving.models.manager import Load, ModelManager
from serving.models.spec import ModelSpec
from serving.monitoring.metrics import Metrics
from serving.options import Server
from serving.status import ServingError

if TYPE_CHECKING:
    from serving.methods.core import Core

_BACKLOG = 2048  # connections that may wait to be accepted; uvicorn's default
_TERMINATED = 128 + signal.SIGTERM  # the exit status that shells report for a signal
_INTERRUPTED = 128 + signal.SIGINT
# Arguments of the client, by the names of the inputs.
_EXAMPLES = {
    ("text",): '"a text"',
    ("text_a", "text_b"): '--text_a="a text" --text_b="another"',
    ("context", "question"): '--question="..." --context="..."',
}


def run(options: Server) -> None:
    """Serves models until SIGTERM or Ctrl-C; requests in progress are answered first.

    Raises:
      InputError: the config is wrong, a model has no version that can be loaded, or a port is
        taken.
    """
    configs = config.of_flags(options)
    _check_base_paths(options, configs)
    metrics = Metrics()
    manager = ModelManager(options, _load(options, metrics), _print)
    with _listeners(options) as listeners:
        signal.signal(signal.SIGTERM, lambda *_: _leave(_TERMINATED))
        try:
            with progress.status("Loading the models"):
                manager.start(configs)
            _serve(options, manager, metrics, listeners)
        except ServingError as error:
            raise InputError(_explained(error)) from None
        except KeyboardInterrupt:
            if not manager.close():
                print("Interrupted.", file=sys.stderr, flush=True)
                _leave(_INTERRUPTED)
            raise
    print("Stopped.", flush=True)
    if not manager.close():
        _leave(0)


def _check_base_paths(options: Server, configs: Sequence[config.ModelConfig]) -> None:
    """Finds at once, before TensorFlow loads, what would keep a model from being served."""
    if not configs:
        _print("No model is configured; HandleReloadConfigRequest may name some.")
    for each in configs:
        if options.model_config_file:
            versions.require(each.base_path, f"base_path={each.base_path} of model {each.name}")
        else:
            versions.require(each.base_path, f"--model_base_path={options.model_base_path}")


def _load(options: Server, metrics: Metrics) -> Load:
    def load(name: str, version: int, path: str) -> Any:
        # TensorFlow (2 s) loads only once the files are there and the ports are free.
        lean_tensorflow.install()
        from serving.models import loading

        return loading.ServableLoader(options, metrics)(name, version, path)

    return load


@contextlib.contextmanager
def _listeners(options: Server) -> Iterator[Mapping[str, socket.socket]]:
    """Bound sockets by the flag that names their port, without those that are turned off."""
    with contextlib.ExitStack() as stack:
        yield {
            flag: stack.enter_context(ports.bound(flag, options.host, getattr(options, flag)))
            for flag in ("rest_api_port", "port")
            if getattr(options, flag)
        }


def _explained(error: ServingError) -> str:
    if "assign label" in error.message:
        flag = "--allow_version_labels_for_unavailable_models"
        return f"{error.message}; at the start no version is. Give {flag}."
    return f"{error}. The lines above say more."


def _print(line: str) -> None:
    print(line, flush=True)


def _leave(status: int) -> NoReturn:
    """Ends the process at once: while TensorFlow computes, Python's own exit waits or crashes."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def _serve(
    options: Server,
    manager: ModelManager,
    metrics: Metrics,
    listeners: Mapping[str, socket.socket],
) -> None:
    """Answers requests until a signal."""
    lean_tensorflow.install()  # it is there by now, unless there is no model yet
    from serving.execution.direct import DirectRunner
    from serving.methods.core import Core

    num_threads = options.rest_api_num_threads or 4 * (os.cpu_count() or 1)
    executor = concurrent.futures.ThreadPoolExecutor(num_threads, "request")
    core = Core(manager, DirectRunner(executor), metrics, options.rest_api_timeout_in_ms / 1000)
    poller = _poller(options, manager)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_answer_until_signal(options, manager, core, listeners))
    if poller:
        poller.close()
    executor.shutdown(wait=False, cancel_futures=True)


def _poller(options: Server, manager: ModelManager) -> config_file.ConfigFilePoller | None:
    seconds = options.model_config_file_poll_wait_seconds
    if not options.model_config_file or not seconds:
        return None
    return config_file.ConfigFilePoller(options.model_config_file, seconds, manager, _print)


async def _answer_until_signal(
    options: Server,
    manager: ModelManager,
    core: "Core",
    listeners: Mapping[str, socket.socket],
) -> None:
    from serving.grpc_api.server import GrpcServer

    grpc_server = GrpcServer(options)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # A second one does not wait for requests in progress.
        loop.add_signal_handler(number, lambda: _leave(1) if stop.is_set() else stop.set())
    if "port" in listeners:
        listeners["port"].close()  # gRPC binds it again itself
    await grpc_server.start(core)
    http_server, http_task = None, None
    if "rest_api_port" in listeners:
        http_server = _HttpServer(_http_config(options, core))
        http_task = asyncio.create_task(http_server.serve([listeners["rest_api_port"]]))
        while not (http_server.started or http_task.done()):
            await asyncio.sleep(0.001)
    _print("\n".join(_ready(options, manager)))
    await stop.wait()
    _print("Stopping: no new connections; requests in progress are answered.")
    if http_server:
        http_server.should_exit = True
    await asyncio.gather(
        grpc_server.stop(options.drain_seconds), *([http_task] if http_task else [])
    )


class _HttpServer(uvicorn.Server):
    """Leaves signals alone, because one signal stops both APIs."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _http_config(options: Server, core: "Core") -> uvicorn.Config:
    from serving.rest_api import application as rest

    application: Callable[..., Any] = rest.RestApplication(core, options)
    return uvicorn.Config(
        application,
        lifespan="off",
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
        backlog=_BACKLOG,
        timeout_graceful_shutdown=options.drain_seconds,
    )


def _ready(options: Server, manager: ModelManager) -> Iterator[str]:
    """What to ask, and how."""
    names = list(manager.configs())
    rest = ports.authority(options.host, options.rest_api_port)
    apis = []
    if options.rest_api_port:
        url = f"http://{rest}/v1/models/{names[0] if len(names) == 1 else 'NAME'}"
        apis.append(f"POST {url}:predict; GET {url} and {url}/metadata")
    if options.port:
        apis.append(f"gRPC on {ports.authority(options.host, options.port)}")
    if options.grpc_socket_path:
        apis.append(f"gRPC on unix:{options.grpc_socket_path}")
    yield f"Ready: {'; '.join(apis)}. Ctrl-C or SIGTERM stops."
    if len(names) > 1:
        yield f"Models: {', '.join(names)}."
    if options.rest_api_port and names:
        yield from _example(manager, names[0], rest)


def _example(manager: ModelManager, name: str, authority: str) -> Iterator[str]:
    """A command that asks a model, if its inputs are known."""
    from serving.models.servable import DEFAULT_SIGNATURE

    inputs: Collection[str] = ()
    with contextlib.suppress(ServingError), manager.lease(ModelSpec(name)) as servable:
        inputs = servable.signature(DEFAULT_SIGNATURE).inputs
    arguments = _EXAMPLES.get(tuple(inputs))
    if arguments:
        client = invocation.of("client", "-m serving.client")
        yield f"Ask it: {client} --url={authority} --model_name={shlex.quote(name)} {arguments}"
