"""The methods of the REST API: from a verb, a path and a body to the parts of an answer."""

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Iterator, Mapping

import numpy as np

from serving.methods import counting, inference, predict
from serving.methods import metadata as metadata_method
from serving.methods import status as status_method
from serving.methods.core import Core
from serving.models.servable import Servable
from serving.models.spec import ModelSpec
from serving.rest_api import descriptions, json_writing, paths
from serving.rest_api.bodies import Body
from serving.rest_api.documents import Document, DocumentReader
from serving.rest_api.limits import Limits
from serving.status import invalid

_TURN_SECONDS = 0.002  # how long writing one answer may keep the event loop at a time


class RestApi:
    """What is under /v1/."""

    def __init__(self, core: Core, limits: Limits) -> None:
        self._core = core
        self._timeout_seconds = core.timeout_seconds or None
        self._documents = DocumentReader(limits, self._timeout_seconds)

    def close(self) -> None:
        """Ends the processes that were started for large bodies."""
        self._documents.close()

    async def answer(self, method: str, path: str, body: Body) -> list[bytes]:
        """Answers a request.

        Args:
          path: with percent signs, without the query.

        Returns:
          JSON, in parts.

        Raises:
          ServingError.
        """
        target = paths.target(method, path)
        counted = target.api if method == "POST" else ""
        with counting.request(self._core.metrics, target.spec.name, counted, "REST"):
            if target.error:
                raise target.error
            if method == "GET":
                return [self._description(target.spec, target.api)]
            async with self._documents.parsed(body) as document:
                return await self._inference(target, document)

    def _description(self, spec: ModelSpec, api: str) -> bytes:
        if not spec.name:
            raise invalid("Missing model name in request.")
        if api == "metadata":
            return descriptions.metadata(metadata_method.metadata(self._core, spec))
        return descriptions.status(status_method.model_status(self._core, spec))

    async def _inference(self, target: paths.Target, document: Document) -> list[bytes]:
        spec = dataclasses.replace(target.spec, signature_name=document.signature_name)
        if target.api == "predict":
            return await self._predict(spec, document)
        examples = await document.examples()
        if target.api == "classify":
            found = await inference.classify(
                self._core, spec, examples, timeout_seconds=self._timeout_seconds
            )
            return await _collected(json_writing.classes(found.labels, found.scores))
        number = await inference.regress(
            self._core, spec, examples, timeout_seconds=self._timeout_seconds
        )
        return await _collected(json_writing.numbers(number.values))

    async def _predict(self, spec: ModelSpec, document: Document) -> list[bytes]:
        def feeds_of(
            servable: Servable,
        ) -> Mapping[str, np.ndarray] | Awaitable[Mapping[str, np.ndarray]]:
            inputs = servable.signature(spec.signature_name).inputs
            return document.tensors({name: tensor.dtype for name, tensor in inputs.items()})

        found = await predict.predict(
            self._core, spec, feeds_of, timeout_seconds=self._timeout_seconds
        )
        parts = json_writing.prediction(document.form, found.outputs, found.signature.outputs)
        return await _collected(parts)


async def _collected(parts: Iterator[bytes]) -> list[bytes]:
    """All parts; other requests have their turn in between."""
    collected = []
    end = time.monotonic() + _TURN_SECONDS
    for part in parts:
        collected.append(part)
        if time.monotonic() > end:
            await asyncio.sleep(0)
            end = time.monotonic() + _TURN_SECONDS
    return collected
