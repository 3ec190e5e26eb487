"""CPU time that a request costs its client, and what the libraries that send it cost alone.

    python -m benchmarks.serving.client_overhead

A server of the standard library and of grpcio in another process answers; clients take turns. Also
measured: `requests` with a body that is ready and JSON that is decoded, and the stubs of
tensorflow-serving-api with TensorFlow's conversions. Writes results/client_overhead.json.
"""

import asyncio
import contextlib
import dataclasses
import json
import pathlib
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import uvloop

from benchmarks import child_process
from bert_tf import flagging
from bert_tf.flagging import option
from serving import client
from serving.client import grpc_requests, inputs, rest_requests
from serving.client.results import SignatureInfo, TensorInfo
from serving.client.settings import Tls
from serving.loadtest import connections
from serving.models.spec import ModelSpec

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks/results/client_overhead.json"
TEXT = "Which rocket carried the astronauts to the Moon, and what was its name again? " * 2
SIZES = (1, 32)
SERVER = """
import sys
from tests.reference import model_endpoint_grpc
endpoint = model_endpoint_grpc.Endpoint()
print(endpoint.rest_url, endpoint.grpc_url, flush=True)
sys.stdin.read()
"""
SIGNATURE = SignatureInfo({"text": TensorInfo("DT_STRING", (-1,))}, {})


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Flags of the benchmark."""

    rounds: int = option(5, "Turns of each client.")
    requests: int = option(100, "Requests in a turn.")


def main(options: Options) -> None:
    """Measures all clients in turns."""
    milliseconds: dict[str, dict[str, list[float]]] = {}
    with _server() as (rest, grpc):
        cases = _cases(rest, grpc, options.requests)
        for _ in range(options.rounds):
            for name, case in cases.items():
                for size in SIZES:
                    found = milliseconds.setdefault(name, {}).setdefault(str(size), [])
                    found.append(round(1000 * case([TEXT] * size) / options.requests, 3))
    medians = {
        name: {size: round(statistics.median(values), 2) for size, values in sizes.items()}
        for name, sizes in milliseconds.items()
    }
    found = {"unit": "ms of CPU per request, by its number of texts", "medians": medians}
    RESULTS.write_text(json.dumps(found | {"rounds": milliseconds}, indent=1) + "\n")
    for name, sizes in medians.items():
        print(f"{name:30}" + "".join(f"{value:8.2f} ms" for value in sizes.values()))


def _cases(rest: str, grpc: str, count: int) -> dict[str, Callable[[list[str]], float]]:
    """From what is measured to a function of the texts of a request to CPU seconds of all."""
    return {
        "requests alone": lambda texts: _requests(rest, texts, count),
        "RestClient": lambda texts: _blocking(client.RestClient, rest, texts, count),
        "AsyncRestClient": lambda texts: _asynchronous(client.AsyncRestClient, rest, texts, count),
        "load test, REST": lambda texts: _load(rest, texts, count),
        "stubs and TensorFlow": lambda texts: _stubs(grpc, texts, count),
        "GrpcClient": lambda texts: _blocking(client.GrpcClient, grpc, texts, count),
        "AsyncGrpcClient": lambda texts: _asynchronous(client.AsyncGrpcClient, grpc, texts, count),
        "load test, gRPC": lambda texts: _load(grpc, texts, count),
    }


@contextlib.contextmanager
def _server() -> Iterator[list[str]]:
    """The addresses of a server in another process."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=ROOT,
        env=child_process.without_gpu(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin and process.stdout
    try:
        yield process.stdout.readline().split()
    finally:
        process.stdin.close()
        process.wait()


def _timed(ask: Callable[[], object], count: int) -> float:
    ask()
    start = time.process_time()
    for _ in range(count):
        ask()
    return time.process_time() - start


def _blocking(kind: type, url: str, texts: list[str], count: int) -> float:
    with kind(url, "m") as asked:
        return _timed(lambda: asked.predict(texts), count)


def _asynchronous(kind: type, url: str, texts: list[str], count: int) -> float:
    async def run() -> float:
        async with kind(url, "m") as asked:
            await asked.predict(texts)
            start = time.process_time()
            for _ in range(count):
                await asked.predict(texts)
            return time.process_time() - start

    return asyncio.run(run())


def _requests(url: str, texts: list[str], count: int) -> float:
    import requests

    body = json.dumps({"inputs": texts}).encode()
    address = f"http://{url}/v1/models/m:predict"
    with requests.Session() as session:
        return _timed(lambda: session.post(address, data=body).json(), count)


def _stubs(url: str, texts: list[str], count: int) -> float:
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

    def ask() -> dict[str, object]:
        request = predict_pb2.PredictRequest()
        request.model_spec.name = "m"
        request.inputs["text"].CopyFrom(tf.make_tensor_proto(texts))
        outputs = stub.Predict(request).outputs
        return {name: tf.make_ndarray(tensor).tolist() for name, tensor in outputs.items()}

    with grpc.insecure_channel(url.removeprefix("grpc://")) as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        return _timed(ask, count)


def _load(url: str, texts: list[str], count: int) -> float:
    is_grpc = url.startswith("grpc:")
    api = grpc_requests.GrpcRequests() if is_grpc else rest_requests.RestRequests()
    made = api.predict(ModelSpec("m"), inputs.arrays({"text": texts}), (), SIGNATURE)

    async def run() -> float:
        opened = connections.to(connections.Server(url, made.target, Tls()), [made.body])
        await opened.send(0)
        start = time.process_time()
        for _ in range(count):
            await opened.send(0)
        seconds = time.process_time() - start
        await opened.close()
        return seconds

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(run())


if __name__ == "__main__":
    flagging.run(main, Options)
