"""Runs a load test: looks whether the model is ready, sends, and prints what was measured."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from bert_tf import files, progress
from bert_tf.errors import InputError
from serving.client import address, inputs, methods, rows
from serving.client.blocking import Client
from serving.client.connecting import connect
from serving.client.exchanges import Api
from serving.client.results import Metadata
from serving.client.settings import Retry, Settings
from serving.loadtest import processes, report, summary, traffic
from serving.loadtest.connections import Server
from serving.loadtest.options import LoadTest
from serving.loadtest.worker import Load
from serving.models.spec import ModelSpec
from serving.status import Code, ServingError


def main(options: LoadTest) -> None:
    """Measures a server and prints a table.

    Raises:
      InputError: the model is not ready, or it does not answer what would be sent.
    """
    options.require_files()
    settings = Settings(
        timeout_seconds=options.timeout_seconds,
        batch_size=options.batch_size,
        retry=Retry(max_attempts=1),
        tls=options.tls,
    )
    with connect(options.url, options.model_name, settings) as client:
        metadata = _metadata(client, options)
        try:
            made = _inputs(options, metadata)
            client.predict(
                made[0], signature=options.signature or "", **options.version_words
            )  # before a load of requests that all fail
        except ServingError as error:
            raise options.explained(error) from error
    load = _load(options, metadata, made)
    with _shown(options) as tell:
        records = processes.run(load, options.processes, tell)
    found = summary.of(records, options.batch_size)
    print("\n".join(report.lines(options, metadata.version, found)), flush=True)
    if options.output:
        files.write_text(options.output, report.to_json(options, metadata.version, found))


def _metadata(client: Client, options: LoadTest) -> Metadata:
    try:
        return client.metadata(**options.version_words)
    except ServingError as error:
        if error.code == Code.UNAVAILABLE:
            raise options.explained(error) from error
        reason = error.message
        with contextlib.suppress(ServingError):
            reason = ", ".join(map(methods.shown, client.status())) or reason
        raise InputError(
            f"{options.model_name} at {options.url} is not ready: {reason}."
        ) from error


def _inputs(options: LoadTest, metadata: Metadata) -> list[dict[str, Any]]:
    """The inputs of each request."""
    signature = metadata.signature(options.signature or "")
    if options.input_file is None:
        return traffic.made_up(signature.inputs, options.batch_size, options.num_words)
    with open(options.input_file, "rb") as file:
        lines = file.read().splitlines()
    return rows.from_lines(lines, rows.in_order(signature.inputs), options.batch_size)


def _load(options: LoadTest, metadata: Metadata, made: list[dict[str, Any]]) -> Load:
    name = options.signature or ""
    spec = ModelSpec(options.model_name, options.version, options.label, name)
    signature = metadata.signature(name)
    requests = [
        _api(options).predict(spec, inputs.arrays(columns), (), signature) for columns in made
    ]
    return Load(
        server=Server(options.url, requests[0].target, options.tls),
        bodies=[request.body for request in requests],
        concurrency=options.in_progress,
        rate=options.rate,
        start=0.0,
        warmup_seconds=options.warmup_seconds,
        seconds=options.duration_seconds,
        timeout_seconds=options.timeout_seconds,
        seed=0,
    )


def _api(options: LoadTest) -> Api:
    if address.is_grpc(options.url):
        from serving.client.grpc_requests import GrpcRequests

        return GrpcRequests()
    from serving.client.rest_requests import RestRequests

    return RestRequests()


@contextlib.contextmanager
def _shown(options: LoadTest) -> Iterator[processes.Report]:
    """Shows how many requests have ended, and the time that is left."""
    end = time.monotonic() + options.warmup_seconds + options.duration_seconds
    errors = 0
    with progress.Progress("Load test", None, "requests", has_last_line=False) as live:

        def tell(ended: int, failed: int) -> None:
            nonlocal errors
            errors += failed
            left = max(0.0, end - time.monotonic())
            live.advance(ended, seconds_left=left, errors=errors)

        yield tell
