"""Clients that cost little, so that what is measured is the server; and work shared among them."""

import asyncio
import json
import time

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc


class RestConnection:
    """One HTTP/1.1 connection that is kept alive."""

    def __init__(self, port):
        self._port = port
        self._streams = None

    async def send(self, method, path, body):
        """Sends a request with a body of bytes; returns (status, body of the answer)."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        return await self.send_raw(head.encode() + body)

    async def send_raw(self, request):
        """Sends bytes; returns (status, body of the answer).

        Raises:
          OSError, EOFError: the connection broke; the next request opens another one.
        """
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=2**26)
        reader, writer = self._streams
        try:
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = head.partition("content-length:")[2].split()
            body = await reader.readexactly(int(length[0]) if length else 0)
        except (OSError, EOFError):
            self.close()
            raise
        if "connection: close" in head:
            self.close()
        return int(head.split()[1]), body

    def close(self):
        """Ends the connection, if there is one."""
        if self._streams:
            self._streams[1].close()
            self._streams = None


class RestPredictor:
    """Predict over REST for lists of texts."""

    def __init__(self, port, model_name):
        self._connection = RestConnection(port)
        self._path = f"/v1/models/{model_name}:predict"

    async def __call__(self, texts):
        body = json.dumps({"instances": texts}).encode()
        status, answer = await self._connection.send("POST", self._path, body)
        if status != 200:
            raise RuntimeError(f"{status}: {answer[:300]!r}")
        return answer

    async def close(self):
        self._connection.close()


class GrpcPredictor:
    """Predict over gRPC for lists of texts, with a connection of its own."""

    def __init__(self, port, model_name):
        # Without an option of its own, channels to one address share a connection.
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        self._channel = grpc.aio.insecure_channel(f"127.0.0.1:{port}", options)
        self._predict = prediction_service_pb2_grpc.PredictionServiceStub(self._channel).Predict
        self._model_name = model_name

    async def __call__(self, texts):
        request = predict_pb2.PredictRequest()
        request.model_spec.name = self._model_name
        request.inputs["text"].CopyFrom(tf.make_tensor_proto(np.array(texts, object), tf.string))
        return await self._predict(request, timeout=600)

    async def close(self):
        await self._channel.close()


async def closed_loop(clients, requests):
    """Each client sends its next request when it has the answer of the one before.

    Returns:
      list of float, seconds of each request.
    """
    waiting, seconds = iter(requests), []

    async def work(client):
        for request in waiting:
            start = time.perf_counter()
            await client(request)
            seconds.append(time.perf_counter() - start)

    await asyncio.gather(*map(work, clients))
    return seconds
