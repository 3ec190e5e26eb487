"""What a request's JSON says: read at once where that is quick, by another process where not."""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, Protocol

import numpy as np

from serving.rest_api import json_examples, json_reading, json_text
from serving.rest_api.bodies import Body
from serving.rest_api.limits import Limits
from serving.rest_api.parser_processes import ParserProcesses, RemoteDocument

_Tensors = dict[str, np.ndarray]
# Up to here what is unusual or wrong is read value by value, in about a millisecond.
_TINY_BYTES = 2**13


class Document(Protocol):
    """The JSON of a request.

    Attributes:
      signature_name: the one that the request asks for.
      form: of a predict request, once its tensors are read; see `json_reading.read`.
    """

    signature_name: str
    form: str

    def tensors(self, inputs: Mapping[str, str]) -> _Tensors | Awaitable[_Tensors]:
        """The tensors of a predict request.

        Args:
          inputs: types of the inputs, by name.

        Raises:
          ServingError: they are not as the inputs want them.
        """
        ...

    def examples(self) -> Awaitable[list[bytes]]:
        """The serialized tf.Examples of a classify or regress request.

        Raises:
          ServingError: INVALID_ARGUMENT.
        """
        ...


class _LocalDocument:
    """A small body that was parsed here."""

    def __init__(self, body: bytes, value: dict[str, Any], reader: "DocumentReader") -> None:
        self.signature_name = json_reading.signature_name(value)
        self.form = ""
        self._body = body
        self._value = value
        self._reader = reader

    def tensors(self, inputs: Mapping[str, str]) -> _Tensors | Awaitable[_Tensors]:
        max_text_bytes = self._reader.limits.text_bytes
        read = json_reading.read
        if len(self._body) > _TINY_BYTES:
            read = json_reading.read_quickly  # type: ignore[assignment]
        found = read(self._value, inputs, max_text_bytes)
        if found is None:
            return self._tensors_elsewhere(inputs)
        self.form, tensors = found
        return tensors

    async def _tensors_elsewhere(self, inputs: Mapping[str, str]) -> _Tensors:
        async with self._reader.parsed_elsewhere(Body.in_file(self._body)) as document:
            tensors = await document.tensors(inputs)
            self.form = document.form
            return tensors

    async def examples(self) -> list[bytes]:
        if len(self._body) <= _TINY_BYTES:
            return json_examples.read(self._value, self._reader.limits.text_bytes)
        async with self._reader.parsed_elsewhere(Body.in_file(self._body)) as document:
            return await document.examples()


class DocumentReader:
    """Parses the bodies of requests.

    Attributes:
      limits: which texts must keep.
    """

    def __init__(self, limits: Limits, timeout_seconds: float | None) -> None:
        self.limits = limits
        self._processes = ParserProcesses(limits, timeout_seconds)

    @contextlib.asynccontextmanager
    async def parsed(self, body: Body) -> AsyncIterator[Document]:
        """The JSON of a body, which is closed as soon as it is not needed any more.

        Raises:
          ServingError: INVALID_ARGUMENT, no JSON; or from a process that parses.
          RequestTooLargeError: it is beyond the limit once inflated.
        """
        value = None
        if body.content is not None:
            parse = json_text.parse if body.size <= _TINY_BYTES else json_text.parse_quickly
            value = parse(body.content)
        if value is not None and body.content is not None:
            yield _LocalDocument(body.content, value, self)
            return
        if body.content is not None:
            body = Body.in_file(body.content)
        async with self.parsed_elsewhere(body) as document:
            yield document

    @contextlib.asynccontextmanager
    async def parsed_elsewhere(self, body: Body) -> AsyncIterator[RemoteDocument]:
        """As `parsed`, by another process."""
        try:
            document = await self._processes.parse(body.file, body.size, body.gzipped)
        finally:
            body.close()
        try:
            yield document
        finally:
            await document.close()

    def close(self) -> None:
        """Ends the processes."""
        self._processes.close()
