"""The worker's answers, in this process."""

import functools
import gzip
import os
import socket
import threading

import numpy as np
import orjson
import pytest

from serving.rest_api import flat_tensors, parser_worker
from serving.status import Code

# Without the time: it would be in the names of tests, which processes must agree on.
packed = functools.partial(gzip.compress, mtime=0)

LIMITS = {"max_request_bytes": 2000, "max_inflated_bytes": 5000, "max_text_bytes": 10}


def in_file(content):
    file = os.memfd_create("test")
    os.write(file, content)
    return file


def parse(worker, body, gzipped=False):
    file = in_file(body)
    answer, files = worker.answer({"step": "parse", "gzipped": gzipped, **LIMITS}, [file])
    os.close(file)
    assert files == []
    return answer


def tensors(answer, files):
    reader = flat_tensors.Reader(answer["entries"], files[0])
    os.close(files[0])
    list(reader)
    return reader.tensors


def test_a_document_is_read_in_two_steps():
    worker = parser_worker.Worker()
    body = b'{"signature_name": "s", "instances": ["a", {"b64": "YWI="}]}'
    assert parse(worker, body) == {"signature_name": "s"}
    answer, files = worker.answer({"step": "tensors", "inputs": {"text": "string"}}, [])
    assert answer["form"] == "row"
    assert tensors(answer, files)["text"].tolist() == [b"a", b"ab"]


def test_examples():
    worker = parser_worker.Worker()
    assert parse(worker, b'{"examples": [{"a": "b"}, {}]}') == {"signature_name": ""}
    answer, files = worker.answer({"step": "examples"}, [])
    examples = tensors(answer, files)["examples"]
    assert [len(example) for example in examples] == [14, 2]


@pytest.mark.parametrize(
    ("body", "message"),
    [(b"{", "JSON Parse error: "), (b'{"signature_name": 1}', "'signature_name' key must be")],
)
def test_errors_of_the_client(body, message):
    answer = parse(parser_worker.Worker(), body)
    assert answer["code"] == Code.INVALID_ARGUMENT
    assert message in answer["message"]


def test_a_text_beyond_the_limit_and_long_names_in_messages():
    worker = parser_worker.Worker()
    parse(worker, b'{"instances": ["12345678901"]}')
    answer, _ = worker.answer({"step": "tensors", "inputs": {"text": "string"}}, [])
    assert "A text of text has 11 bytes, more than the limit of 10; " in answer["message"]
    parse(worker, b'{"instances": [{"%s": 1}]}' % (b"n" * 9000))
    answer, _ = worker.answer({"step": "tensors", "inputs": {"text": "string"}}, [])
    assert len(answer["message"]) == 4096
    parse(worker, b'{"instances": [{"\xff": 1}]}')
    answer, _ = worker.answer({"step": "tensors", "inputs": {"text": "string"}}, [])
    assert "does not have named input: ?" in answer["message"]


def test_what_nobody_expected_does_not_end_the_worker(capfd):
    answer, _ = parser_worker.Worker().answer({"step": "parse"}, [])
    assert answer["code"] == Code.INTERNAL
    assert "KeyError" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        (packed(b'{"a": 1}'), {"signature_name": ""}),
        (packed(b" " * 2001), {"inflated_bytes": 2001}),
    ],
)
def test_gzip(body, answer):
    assert parse(parser_worker.Worker(), body, gzipped=True) == answer


@pytest.mark.parametrize("body", [b"no gzip", packed(b"{}")[:-3], packed(b" " * 5001), b""])
def test_gzip_that_does_not_inflate_or_is_too_large_is_an_empty_document(body):
    answer = parse(parser_worker.Worker(), body, gzipped=True)
    assert answer["message"] == "JSON Parse error: The document is empty"


def test_messages_over_a_socket():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    thread = threading.Thread(target=parser_worker.run, args=(theirs,))
    thread.start()
    file = in_file(b'{"inputs": [1.5]}')
    message = {"step": "parse", "gzipped": False, **LIMITS}
    socket.send_fds(ours, [orjson.dumps(message)], [file])
    os.close(file)
    assert orjson.loads(ours.recv(1000)) == {"signature_name": ""}
    ours.send(orjson.dumps({"step": "tensors", "inputs": {"x": "float"}}))
    text, files, _, _ = socket.recv_fds(ours, 1000, 1)
    np.testing.assert_array_equal(tensors(orjson.loads(text), files)["x"], np.float32([1.5]))
    ours.close()
    thread.join()
    theirs.close()
