"""The application around the small model, called without a socket."""

import asyncio
import json

import pytest

LIMITS = {"request_bytes": 2**20, "text_bytes": 2**18}


@pytest.fixture(scope="module")
def loop():
    """An event loop that lives as long as the processes that belong to it."""
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def application(core):
    """The application with limits that a test can reach."""
    from serving.rest_api.application import RestApplication, RestOptions
    from serving.rest_api.limits import Limits

    application = RestApplication(core, RestOptions(Limits(**LIMITS), metrics_path="/metrics"))
    yield application
    application.close()


@pytest.fixture(scope="module")
def call(loop):
    """A function that asks an application and gives back all messages that it sends."""

    def call(application, method, path, body=b"", headers=(), chunk=2**16):
        parts = [body[:5], *(body[at : at + chunk] for at in range(5, len(body), chunk))]
        sent = []

        async def receive():
            return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "method": method, "path": path, "headers": list(headers)}
        scope["raw_path"] = path.encode()
        loop.run_until_complete(application(scope, receive, send))
        return sent

    return call


@pytest.fixture(scope="module")
def ask(application, call):
    """A function that asks the application: status, headers and body."""

    def ask(method, path, body=b"", headers=()):
        body = body.encode() if isinstance(body, str) else body
        start, *rest = call(application, method, path, body, headers)
        content = b"".join(message["body"] for message in rest)
        headers = dict(start["headers"])
        if method != "HEAD":
            assert int(headers[b"content-length"]) == len(content)
        return start["status"], headers, content

    return ask


@pytest.fixture(scope="module")
def ask_json(ask):
    """As `ask`, for an answer that is JSON: status and value."""

    def ask_json(*request, **options):
        status, headers, body = ask(*request, **options)
        assert headers[b"content-type"] == b"application/json"
        return status, json.loads(body)

    return ask_json
