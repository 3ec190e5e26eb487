"""A server of the page with models that answer the same to every request, and remember them."""

import asyncio
import contextlib
import json
import re
import socket
import threading

import uvicorn

from serving.page.application import PageApplication

_TYPES = {str: "DT_STRING", int: "DT_INT32", float: "DT_FLOAT", bool: "DT_BOOL"}
_PATH = re.compile(r"/v1/models/(\w+)(?:/versions/(\d+))?(/metadata|:\w+)?")


def _info(name, kind, rank):
    dims = [{"size": "-1", "name": ""} for _ in range(rank)]
    shape = {"dim": dims, "unknown_rank": False}
    return {"dtype": _TYPES[kind], "tensor_shape": shape, "name": f"{name}:0"}


def signature(inputs, outputs):
    """A signature as the metadata has it, from names to (type, rank)."""
    return {
        "inputs": {name: _info(name, *each) for name, each in inputs.items()},
        "outputs": {name: _info(name, *each) for name, each in outputs.items()},
        "method_name": "tensorflow/serving/predict",
        "defaults": {},
    }


class Server:
    """Models by name: dicts of `signatures`, `answer` (or `error`) and `versions`.

    A model without signatures is still being loaded. `seconds` are what its next answers take.

    Attributes:
      url: its address.
      asked: (path, body) of each POST, in order.
    """

    def __init__(self, models):
        self.models, self.asked, self.url = models, [], ""
        self._page = PageApplication(lambda: self.models)

    async def __call__(self, scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        if not scope["path"].startswith("/v1/"):
            return await self._page(scope, receive, send)
        status, answer = await self._answer(scope["method"], scope["path"], body)
        text = answer if isinstance(answer, str) else json.dumps(answer)
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text.encode()})

    async def _answer(self, method, path, body):
        name, _, action = _PATH.fullmatch(path).groups()
        model = self.models[name]
        if method == "POST":
            self.asked.append((path, json.loads(body)))
            if seconds := model.get("seconds"):
                await asyncio.sleep(seconds.pop(0))
            error = model.get("error")
            return (400, {"error": error}) if error else (200, model["answer"])
        if action and "signatures" not in model:
            return 404, {"error": f"Servable not found for request: Latest({name})"}
        if action:
            return 200, {"metadata": {"signature_def": {"signature_def": model["signatures"]}}}
        versions = model.get("versions", [("1", "AVAILABLE", "")])
        return 200, {
            "model_version_status": [
                {"version": number, "state": state, "status": {"error_message": message}}
                for number, state, message in versions
            ]
        }


@contextlib.contextmanager
def running(models):
    """Yields a `Server` that runs in a thread."""
    application = Server(models)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        application.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(application, lifespan="off", ws="none", log_level="warning")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield application
        finally:
            server.should_exit = server.force_exit = True
            thread.join()
