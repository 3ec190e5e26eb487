"""Which bodies are read at once, and which by another process; both give the same."""

import asyncio
import gzip
import json

import numpy as np
import pytest

from serving.rest_api.bodies import Body
from serving.rest_api.documents import DocumentReader
from serving.rest_api.limits import Limits
from serving.rest_api.parser_processes import ParserProcesses
from serving.status import Code, ServingError


@pytest.fixture(scope="module")
def loop():
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def reader():
    reader = DocumentReader(Limits(2**20, 2**17), 60.0)
    yield reader
    reader.close()


@pytest.fixture(scope="module")
def read(loop, reader):
    """A function that reads a body for inputs: (was read at once, form, tensors)."""

    def read(body, **inputs):
        async def run():
            async with reader.parsed(Body(body) if isinstance(body, bytes) else body()) as document:
                tensors = document.tensors(inputs)
                at_once = isinstance(tensors, dict)
                return at_once, tensors if at_once else await tensors, document.form

        return loop.run_until_complete(run())

    return read


def rows(count, **more):
    return json.dumps({"instances": [[index, 2, 3] for index in range(count)], **more}).encode()


@pytest.mark.parametrize(
    ("body", "at_once"),
    [
        (rows(1), True),
        (rows(5000), True),
        (rows(1) + b" and more", True),  # unusual, but tiny
        (rows(5000) + b" and more", False),
        (rows(5000).replace(b"{", b'{"a": NaN,'), False),
    ],
)
def test_where_a_body_is_read(read, body, at_once):
    found, tensors, form = read(body, x="float")
    assert (found, form) == (at_once, "row")
    count = len(tensors["x"])
    np.testing.assert_array_equal(
        tensors["x"], np.float32([[index, 2, 3] for index in range(count)])
    )


def in_file(content, gzipped=False):
    """What makes a body in a file, once an event loop runs."""

    def make():
        body = Body.in_file(content)
        body.gzipped = gzipped
        return body

    return make


def test_a_body_in_a_file(read):
    _, tensors, form = read(in_file(json.dumps({"inputs": ["a", "é"]}).encode()), text="string")
    assert form == "column"
    assert tensors["text"].tolist() == [b"a", "é".encode()]


def test_a_gzipped_body_in_a_file(read):
    packed = gzip.compress(json.dumps({"inputs": "a"}).encode())
    assert read(in_file(packed, gzipped=True), text="string")[1]["text"] == b"a"
    packed = gzip.compress(b" " * (2**20 + 1))
    with pytest.raises(ServingError, match="1048577 bytes or more; the limit is 1048576"):
        read(in_file(packed, gzipped=True), text="string")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (rows(5000)[:-1], "JSON Parse error: Missing a comma or } after an object member."),
        (
            json.dumps({"instances": [1.5] * 5000 + ["a"]}).encode(),
            "Failed to process element: 5000 of 'instances' list. Error: INVALID_ARGUMENT: "
            'JSON Value: "a" Type: String is not of expected type: float',
        ),
    ],
)
def test_what_is_wrong_in_a_larger_body(read, body, message):
    with pytest.raises(ServingError) as caught:
        read(body, x="float")
    assert message in caught.value.message


def test_examples(loop, reader):
    async def run(count):
        body = json.dumps({"examples": [{"a": "b"}] * count}).encode()
        async with reader.parsed(Body(body)) as document:
            return await document.examples()

    (example,) = loop.run_until_complete(run(1))
    assert loop.run_until_complete(run(2000)) == [example] * 2000


def test_a_process_that_dies_is_replaced(loop, reader):
    async def run():
        async with reader.parsed_elsewhere(Body.in_file(b'{"inputs": 1}')) as document:
            document._process._process.kill()
            with pytest.raises(ServingError) as caught:
                await document.tensors({"x": "float"})
            assert caught.value.code == Code.RESOURCE_EXHAUSTED
        async with reader.parsed_elsewhere(Body.in_file(b'{"inputs": 1}')) as document:
            await document.tensors({"x": "float"})
            document._process._process.kill()  # while it waits for another body
            document._process._process.wait()
        async with reader.parsed_elsewhere(Body.in_file(b'{"inputs": 1}')) as document:
            return await document.tensors({"x": "float"})

    assert loop.run_until_complete(run())["x"] == 1


def test_there_is_a_time_limit(loop):
    async def run():
        processes = ParserProcesses(Limits(100, 100), 0.0)
        body = Body.in_file(b"{}")
        try:
            with pytest.raises(ServingError) as caught:
                await processes.parse(body.file, body.size, False)
            assert caught.value.code == Code.DEADLINE_EXCEEDED
        finally:
            body.close()

    loop.run_until_complete(run())
