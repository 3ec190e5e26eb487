"""Starts a server and stops it: what connects flags, models, methods and transports."""

import asyncio
import contextlib
import gc
import os
import signal
import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import uvloop

from bert_tf import progress
from bert_tf.errors import InputError
from serving import ports, ready
from serving.models import config, config_file, lean_tensorflow, versions
from serving.models.manager import Load, ModelManager
from serving.monitoring.config import prometheus_path
from serving.monitoring.metrics import Metrics
from serving.monitoring.request_log import RequestLogs
from serving.options import Server
from serving.status import ServingError

_TERMINATED = 128 + signal.SIGTERM  # the exit status that shells report for a signal
_INTERRUPTED = 128 + signal.SIGINT


def run(options: Server) -> None:
    """Serves models until SIGTERM or Ctrl-C; requests in progress are answered first.

    Raises:
      InputError: the config is wrong, a model has no version that can be loaded, or a port is
        taken.
    """
    configs = config.of_flags(options)
    _check_base_paths(options, configs)
    _check_files(options)
    metrics = Metrics()
    request_logs = RequestLogs(metrics)
    manager = ModelManager(options, _load(options, metrics), _print, request_logs)
    with _listeners(options) as listeners:
        # While models load nothing is in progress. As the first process of a container, this one
        # would not end at all without a handler.
        signal.signal(signal.SIGTERM, lambda *_: _leave(_TERMINATED))
        try:
            with progress.status("Loading the models"):
                manager.start(configs)
            _serve(options, manager, metrics, listeners)
        except ServingError as error:
            raise InputError(_explained(error)) from None
        except KeyboardInterrupt:
            print("Interrupted.", file=sys.stderr)
            _leave(_INTERRUPTED)
    manager.close()
    request_logs.close()
    _print("Stopped.")
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


def _check_files(options: Server) -> None:
    """Reads the other files that flags name, so that what is wrong in them is said at once."""
    prometheus_path(options.monitoring_config_file)
    if options.batching_parameters_file:
        from serving.execution import parameters

        what = f"--batching_parameters_file={options.batching_parameters_file}"
        parameters.from_file(options.batching_parameters_file, what)
    if options.ssl_config_file:
        from serving.grpc_api import ssl_config

        ssl_config.credentials(options.ssl_config_file)


def _load(options: Server, metrics: Metrics) -> Load:
    def load(name: str, version: int, path: str) -> Any:
        # TensorFlow (2 s) loads only once the files are there and the ports are free.
        lean_tensorflow.install()
        from serving.execution import parameters
        from serving.models import loading

        if options.enable_batching and options.enable_per_model_batching_parameters:
            parameters.of_model(path)  # a version whose parameters are wrong is not served
        return loading.ServableLoader(options, metrics, _print)(name, version, path)

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
    return f"{error}. Mend the versions above, or leave the model out."


def _print(line: str) -> None:
    with contextlib.suppress(OSError):  # whoever read the lines may have gone; clients have not
        print(line, flush=True)


def _leave(status: int) -> NoReturn:
    """Ends the process at once.

    Python's own end waits for threads of ours, and crashes in those of gRPC and TensorFlow.
    """
    with contextlib.suppress(OSError):
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
    poller = None
    if options.model_config_file and options.model_config_file_poll_wait_seconds:
        poller = config_file.ConfigFilePoller(
            options.model_config_file,
            options.model_config_file_poll_wait_seconds,
            manager,
            _print,
        )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_answer_until_signal(options, manager, metrics, listeners))
    if poller:
        poller.close()


async def _answer_until_signal(
    options: Server,
    manager: ModelManager,
    metrics: Metrics,
    listeners: Mapping[str, socket.socket],
) -> None:
    lean_tensorflow.install()  # it is there by now, unless there is no model yet
    from serving import transports

    # What is here stays. A collection, as after an unload, then takes 1 ms instead of 100, in which
    # no request is answered.
    gc.collect()
    gc.freeze()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        # A second one does not wait for requests in progress.
        loop.add_signal_handler(number, lambda: _leave(1) if stop.is_set() else stop.set())
    async with transports.answering(options, manager, metrics, listeners):
        _print("\n".join(ready.lines(options, manager)))
        await stop.wait()
        _print("Stopping: no new connections; requests in progress are answered.")
