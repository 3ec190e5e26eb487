"""Requests to the model of `tiny_export`: right ones of several sizes, and many kinds of wrong."""

import asyncio
import contextlib
import json
import random

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2

_WORDS = "moon tide river oxygen castle queen rocket prime forest Genghis Nile".split()
_PREDICT = "/tensorflow.serving.PredictionService/Predict"
_PATH = "/v1/models/m:predict"


def stream(count, seed):
    """Yields requests in a random order that the seed decides; a third of them are wrong."""
    rng = random.Random(seed)
    for number in range(count):
        texts = _texts(rng, number)
        if rng.random() < 1 / 3:
            yield Wrong(rng, texts)
        else:
            yield Good(texts)


def _texts(rng, number):
    size = rng.choice((1, 1, 1, 2, 5, 32))
    return [
        f"{number} {row} {' '.join(rng.choices(_WORDS, k=rng.randint(1, 30)))}"
        for row in range(size)
    ]


def _http(path, body, verb="POST"):
    head = f"{verb} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _message(texts, name="m", signature="", **others):
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = name, signature
    inputs = others or {"text": np.array(texts, object)}
    for key, value in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
    return request


async def call(channel, data):
    """Sends the bytes of a PredictRequest; returns the PredictResponse."""
    predict = channel.unary_unary(
        _PREDICT, lambda data: data, predict_pb2.PredictResponse.FromString
    )
    return await predict(data, timeout=60)


class Good:
    """A right request."""

    kind, is_good, vanishes = "good", True, False

    def __init__(self, texts):
        self.texts = texts

    def rest(self):
        return _http(_PATH, json.dumps({"instances": self.texts}).encode())

    def grpc(self):
        return _message(self.texts).SerializeToString()


_REST = {
    "broken JSON": lambda texts: _http(_PATH, b'{"instances": [' + b'"a",' * 20),
    "empty body": lambda texts: _http(_PATH, b""),
    "numbers": lambda texts: _http(_PATH, b'{"instances": [1, 2]}'),
    "mixed forms": lambda texts: _http(_PATH, b'{"instances": [{"text": "a"}, "b"]}'),
    "no list": lambda texts: _http(_PATH, b'{"instances": "a"}'),
    "both keys": lambda texts: _http(_PATH, b'{"instances": ["a"], "inputs": ["a"]}'),
    "lone surrogate": lambda texts: _http(_PATH, b'{"instances": ["a\\ud800"]}'),
    "900 brackets": lambda texts: _http(_PATH, b'{"instances": ' + b"[" * 900 + b"]" * 900 + b"}"),
    "wrong path": lambda texts: _http("/v1/model/m:predict", b'{"instances": ["a"]}'),
    "wrong verb": lambda texts: _http(_PATH, b"", "GET"),
    "unknown model": lambda texts: _http("/v1/models/n:predict", b'{"instances": ["a"]}'),
    "unknown version": lambda texts: _http("/v1/models/m/versions/99", b"", "GET"),
    "unknown signature": lambda texts: _http(
        _PATH, b'{"signature_name": "none", "instances": ["a"]}'
    ),
    "refused by the graph": lambda texts: _http(
        _PATH, json.dumps({"instances": [*texts, "12345"]}).encode()
    ),
    "unequal columns": lambda texts: _http(
        _PATH, b'{"signature_name": "pairs", "inputs": {"x": [1.0], "y": [1.0, 2.0, 3.0]}}'
    ),
}
_GRPC = {
    "wrong type": lambda texts: _message(texts, text=np.arange(3)),
    "wrong rank": lambda texts: _message(texts, text=np.array([["a"]], object)),
    "unknown input": lambda texts: _message(texts, txt=np.array(["a"], object)),
    "no inputs": lambda texts: predict_pb2.PredictRequest(model_spec={"name": "m"}),
    "no model": lambda texts: predict_pb2.PredictRequest(),
    "unknown model": lambda texts: _message(texts, name="n"),
    "unknown signature": lambda texts: _message(texts, signature="none"),
    "refused by the graph": lambda texts: _message([*texts, "12345"]),
    "unequal rows": lambda texts: _message(
        texts, signature="pairs", x=np.ones(1, np.float32), y=np.ones(3, np.float32)
    ),
}


class Wrong:
    """A request that must be answered with an error.

    Attributes:
      vanishes: whether a request follows whose client does not wait for its answer.
    """

    is_good = False

    def __init__(self, rng, texts):
        self.texts = texts
        self._rest, self._grpc = rng.choice(list(_REST)), rng.choice(list(_GRPC))
        self.vanishes = rng.random() < 0.05
        self.kind = "wrong"  # which way it is wrong is said once it is sent

    def rest(self):
        self.kind = f"wrong: {self._rest}"
        return _REST[self._rest](self.texts)

    def grpc(self):
        self.kind = f"wrong: {self._grpc}"
        return _GRPC[self._grpc](self.texts).SerializeToString()


async def cancelled(channel, texts):
    """Sends a right request that is cancelled before, or while, it is computed."""
    sent = asyncio.ensure_future(call(channel, _message(texts).SerializeToString()))
    await asyncio.sleep(0.001)
    sent.cancel()
    with contextlib.suppress(asyncio.CancelledError, grpc.aio.AioRpcError):
        await sent


async def send_half(port, request):
    """Sends half a request and leaves."""
    with contextlib.suppress(OSError):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request[: len(request) // 2])
        await writer.drain()
        writer.close()


def rows(response):
    """The answer of Predict, row by row."""
    columns = {name: tf.make_ndarray(tensor) for name, tensor in response.outputs.items()}
    texts = [text.decode() for text in columns["upper"]]
    return [
        {"upper": text, "length": int(length), "version": int(version)}
        for text, length, version in zip(texts, columns["length"], columns["version"], strict=True)
    ]
