"""A server of TensorFlow Serving's REST API with one small model, for tests of clients.

Written from the contract with the standard library and not from our server, so that clients are not
checked against themselves. `model_endpoint_grpc` is the other API of the same model.
"""

import base64
import gzip
import http.server
import json
import threading
import time

from serving.status import HTTP_STATUS, Code

VERSION = 7
LABELS = ["a", "b"]
SIGNATURES = {
    "serving_default": (
        {"text": ("DT_STRING", [-1])},
        {
            "length": ("DT_INT32", [-1]),
            "upper": ("DT_STRING", [-1]),
            "labels": ("DT_STRING", [-1, 2]),
            "probabilities": ("DT_FLOAT", [-1, 2]),
        },
    ),
    "upper": ({"text": ("DT_STRING", [-1])}, {"upper": ("DT_STRING", [-1])}),
    "pair": (
        {"x": ("DT_FLOAT", [-1, -1]), "ids": ("DT_INT32", [-1])},
        {"y": ("DT_FLOAT", [-1, -1]), "raw_bytes": ("DT_STRING", [-1]), "all": ("DT_INT64", [])},
    ),
}


class Failure(Exception):
    """An error that is to be answered: its code and its message."""


class Endpoint:
    """The model, and what happens to requests for it.

    Attributes:
      failures: codes that the next requests are answered with.
      seconds: that each request takes.
      state: of the model's version.
      offset: is added to the probabilities.
      requests: (name of the method, what was given) of each.
      most: requests that were in progress at once.
    """

    def __init__(self):
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Handler", (_Handler,), {"endpoint": self})
        )
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.rest_url = f"127.0.0.1:{self._server.server_address[1]}"
        self.reset()

    def reset(self):
        self.failures, self.requests, self.state = [], [], "AVAILABLE"
        self.seconds = self.most = self._now = self.offset = 0

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def begin(self, name, **given):
        """Notes a request and fails it if that is wanted."""
        with self._lock:
            self.requests.append((name, given))
            self._now += 1
            self.most = max(self.most, self._now)
            failure = self.failures.pop(0) if self.failures else None
        time.sleep(self.seconds)
        with self._lock:
            self._now -= 1
        if failure:
            raise Failure(failure, f"{failure.name} on purpose")
        if self.state != "AVAILABLE" and name != "status":
            raise Failure(Code.NOT_FOUND, "Servable not found for request: Latest(m)")

    def predicted(self, signature, inputs):
        """Outputs for lists of inputs; strings are bytes."""
        if signature == "pair":
            raw = [bytes([255, each]) for each in inputs["ids"]]
            return {"y": inputs["x"], "raw_bytes": raw, "all": sum(inputs["ids"])}
        texts = inputs["text"]
        upper = [text.upper() for text in texts]
        if signature == "upper":
            return {"upper": upper}
        odd, even = [0.25 + self.offset, 0.75 - self.offset], [0.5, 0.5]
        shares = [odd if len(text) % 2 else even for text in texts]
        labels = [[label.encode() for label in LABELS] for _ in texts]
        lengths = [len(text) for text in texts]
        return {"length": lengths, "upper": upper, "labels": labels, "probabilities": shares}


def signature_defs():
    """All signatures as JSON has them."""
    return {
        name: {
            side: _infos(infos) for side, infos in zip(("inputs", "outputs"), sides, strict=True)
        }
        for name, sides in SIGNATURES.items()
    }


def _infos(infos):
    return {
        name: {
            "dtype": dtype,
            "tensor_shape": {
                "dim": [{"size": str(size), "name": ""} for size in shape],
                "unknown_rank": False,
            },
            "name": f"{name}:0",
        }
        for name, (dtype, shape) in infos.items()
    }


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._answer(self._status if self.path.count("/") == 3 else self._metadata)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        is_packed = self.headers.get("Content-Encoding") == "gzip"
        body = json.loads(gzip.decompress(body) if is_packed else body)
        self._answer(lambda: self._computed(body, is_packed))

    def _answer(self, make):
        try:
            status, answer = 200, make()
        except Failure as failure:
            status, answer = HTTP_STATUS[failure.args[0]], {"error": failure.args[1]}
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _status(self):
        self.endpoint.begin("status", path=self.path)
        problem = {"error_code": "OK", "error_message": ""}
        version = {"version": str(VERSION), "state": self.endpoint.state, "status": problem}
        return {"model_version_status": [version]}

    def _metadata(self):
        self.endpoint.begin("metadata", path=self.path)
        spec = {"name": "m", "signature_name": "", "version": str(VERSION)}
        signatures = {"signature_def": {"signature_def": signature_defs()}}
        return {"model_spec": spec, "metadata": signatures}

    def _computed(self, body, is_packed):
        method = self.path.rpartition(":")[2]
        self.endpoint.begin(method, path=self.path, body=body, is_packed=is_packed)
        if method == "classify":
            texts = [each["text"] for each in body["examples"]]
            return {"results": [[["a", 0.5], [text, 0.25]] for text in texts]}
        if method == "regress":
            return {"results": [each["x"] / 2 for each in body["examples"]]}
        return {"outputs": self._outputs(body)}

    def _outputs(self, body):
        name = body.get("signature_name", "serving_default")
        if name not in SIGNATURES:
            raise Failure(Code.INVALID_ARGUMENT, f'Serving signature name: "{name}" not found')
        inputs = body["inputs"]
        given = inputs if isinstance(inputs, dict) else {"text": inputs}
        if name != "pair":
            given = {"text": [_bytes(text) for text in given["text"]]}
        found = self.endpoint.predicted(name, given)
        outputs = {key: _json(value, key) for key, value in found.items()}
        return outputs if len(outputs) > 1 else next(iter(outputs.values()))


def _bytes(value):
    return base64.b64decode(value["b64"]) if isinstance(value, dict) else value.encode()


def _json(value, name):
    if isinstance(value, list):
        return [_json(each, name) for each in value]
    if not isinstance(value, bytes):
        return value
    if name.endswith("_bytes"):
        return {"b64": base64.b64encode(value).decode()}
    return value.decode(errors="replace")
