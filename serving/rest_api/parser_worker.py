"""The process that reads large or broken JSON bodies: whatever that takes, nobody else waits.

It is started by `parser_processes`, talks over a socket, and loads neither TensorFlow nor a model.
A request is read in two steps, because its tensors are read by a signature that the server looks up
in between: `parse`, then `tensors` or `examples`. Bodies and tensors are in files in memory.
"""

import gc
import os
import signal
import socket
import sys
import traceback
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson

from serving.rest_api import flat_tensors, json_examples, json_reading, json_text
from serving.status import Code, ServingError

MESSAGE_BYTES = 2**17
INFLATED_BYTES = "inflated_bytes"  # key of the answer to a body that inflates beyond the limit
_NICENESS = 5  # short requests come first
_MAX_CHARS = 2**12  # of a message to a client; names in it may be of any length
_NO_MEMORY = "The request's JSON needs more memory than there is; send fewer rows at once."

_INTERNAL = "Internal error; the server's log has the details."


class Worker:
    """Answers messages about one body after the other."""

    def __init__(self) -> None:
        self._document: dict[str, Any] = {}
        self._max_text_bytes = 0

    def answer(self, message: dict[str, Any], files: list[int]) -> tuple[dict[str, Any], list[int]]:
        """What is sent back: a message, and the descriptor of a file if there is one."""
        handlers: dict[str, Callable[..., tuple[dict[str, Any], list[int]]]] = {
            "parse": self._parse,
            "tensors": self._tensors,
            "examples": self._examples,
        }
        try:
            return handlers[message["step"]](message, files)
        except ServingError as error:
            message_text = json_text.printable(error.message[:_MAX_CHARS])
            return {"code": error.code, "message": message_text}, []
        except MemoryError:
            return {"code": Code.RESOURCE_EXHAUSTED, "message": _NO_MEMORY}, []
        except Exception:
            traceback.print_exc()
            return {"code": Code.INTERNAL, "message": _INTERNAL}, []

    def _parse(self, message: dict[str, Any], files: list[int]) -> tuple[dict[str, Any], list[int]]:
        self._document = {}
        self._max_text_bytes = message["max_text_bytes"]
        with open(files[0], "rb", closefd=False) as file:
            file.seek(0)
            body = file.read()
        if message["gzipped"]:
            body = inflate(body, message["max_inflated_bytes"])
            if len(body) > message["max_request_bytes"]:
                return {INFLATED_BYTES: len(body)}, []
        self._document = json_text.parse(body)
        name = json_reading.signature_name(self._document)
        return {"signature_name": name[:_MAX_CHARS]}, []

    def _tensors(
        self, message: dict[str, Any], files: list[int]
    ) -> tuple[dict[str, Any], list[int]]:
        form, tensors = json_reading.read(self._document, message["inputs"], self._max_text_bytes)
        return self._shared(tensors, {"form": form})

    def _examples(
        self, message: dict[str, Any], files: list[int]
    ) -> tuple[dict[str, Any], list[int]]:
        examples = json_examples.read(self._document, self._max_text_bytes)
        return self._shared({"examples": json_reading.string_array(examples)}, {})

    def _shared(
        self, tensors: dict[str, np.ndarray], message: dict[str, Any]
    ) -> tuple[dict[str, Any], list[int]]:
        self._document = {}
        file = os.memfd_create("tensors")
        return {**message, "entries": flat_tensors.write(tensors, file)}, [file]


def inflate(body: bytes, max_bytes: int) -> bytes:
    """Uncompressed bytes; what does not inflate, or becomes too large, counts as empty."""
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
    try:
        inflated = inflater.decompress(body, max_bytes)
    except zlib.error:
        return b""
    return inflated if inflater.eof else b""


def run(connection: socket.socket) -> None:
    """Answers messages until the other end closes."""
    worker = Worker()
    while True:
        text, files, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 1)
        if not text:
            return
        answer, made = worker.answer(orjson.loads(text), files)
        for file in files:
            os.close(file)
        socket.send_fds(connection, [orjson.dumps(answer)], made)
        for file in made:
            os.close(file)


def main() -> None:
    """Answers over the socket whose descriptor is the argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the whole group
    os.nice(_NICENESS)
    gc.disable()  # nothing here is cyclic, and it looks at millions of lists again and again
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        run(connection)


if __name__ == "__main__":
    main()
