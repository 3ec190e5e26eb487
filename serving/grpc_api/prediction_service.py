"""PredictionService: Predict, Classify, Regress, MultiInference, GetModelMetadata."""

import asyncio
from collections.abc import Awaitable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import grpc
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    inference_pb2,
    input_pb2,
    predict_pb2,
    prediction_service_pb2,
    regression_pb2,
)

from serving.grpc_api import handling, messages, tensors
from serving.grpc_api.handling import Call
from serving.methods import counting, inference, metadata, predict
from serving.methods.core import Core
from serving.models.servable import DEFAULT_SIGNATURE, Servable, Tensors
from serving.options import GrpcFlags
from serving.status import Code, ServingError, invalid

_ENTRYPOINT = "GRPC"
_SIGNATURE_DEF = "signature_def"  # the one field of metadata that there is


def handler(core: Core, options: GrpcFlags) -> grpc.GenericRpcHandler:
    """The service."""
    service = _PredictionService(core, options)
    return handling.handler(
        prediction_service_pb2.DESCRIPTOR.services_by_name["PredictionService"],
        {
            "Predict": service.predict,
            "Classify": service.classify,
            "Regress": service.regress,
            "MultiInference": service.multi_inference,
            "GetModelMetadata": service.get_model_metadata,
        },
    )


class _PredictionService:
    """Reads messages, calls the methods that both transports share, and writes messages."""

    def __init__(self, core: Core, options: GrpcFlags) -> None:
        self._core = core
        self._as_content = options.enable_serialization_as_tensor_content
        self._max_text_bytes = options.grpc_max_text_bytes

    def _counted(self, request: Any, api: str) -> AbstractContextManager[None]:
        name = request.model_spec.name
        return counting.request(self._core.metrics, name, api, _ENTRYPOINT)

    async def predict(
        self, request: predict_pb2.PredictRequest, call: Call
    ) -> predict_pb2.PredictResponse:
        with self._counted(request, "Predict"):
            spec = messages.model_spec(request)

            def feeds_of(servable: Servable) -> Tensors | Awaitable[Tensors]:
                if not call.is_large:
                    return self._feeds(request, servable)
                loop = asyncio.get_running_loop()
                return loop.run_in_executor(None, self._feeds, request, servable)

            prediction = await predict.predict(
                self._core,
                spec,
                feeds_of,
                outputs=tuple(request.output_filter),
                timeout_seconds=call.timeout_seconds(),
            )
            response = predict_pb2.PredictResponse()
            messages.fill_spec(response.model_spec, spec, prediction.servable.version)
            size = sum(tensor.nbytes for tensor in prediction.outputs.values())
            await handling.in_thread_if(
                size > handling.LARGE, self._write, prediction.outputs, response
            )
            return response

    def _feeds(self, request: predict_pb2.PredictRequest, servable: Servable) -> Tensors:
        feeds = _feeds(request, servable)
        for name, tensor in feeds.items():
            if tensor.dtype == object:
                self._check_texts(name, tensor.reshape(-1))
        return feeds

    async def _examples(self, message: input_pb2.Input, call: Call) -> list[bytes]:
        examples = await handling.in_thread_if(call.is_large, messages.examples, message)
        self._check_texts("inputs", examples)
        return examples

    def _check_texts(self, name: str, texts: Iterable[bytes]) -> None:
        longest = max(map(len, texts), default=0)
        if longest > self._max_text_bytes:
            raise invalid(
                f"A text of {name} has {longest} bytes, more than the limit of "
                f"{self._max_text_bytes}; shorten it, or start the server with a larger "
                "--grpc_max_text_bytes"
            )

    def _write(self, outputs: Tensors, response: predict_pb2.PredictResponse) -> None:
        for name, tensor in outputs.items():
            tensors.write(tensor, self._as_content, into=response.outputs[name])

    async def classify(
        self, request: classification_pb2.ClassificationRequest, call: Call
    ) -> classification_pb2.ClassificationResponse:
        with self._counted(request, "Classify"):
            spec = messages.model_spec(request)
            answer = await inference.classify(
                self._core,
                spec,
                await self._examples(request.input, call),
                timeout_seconds=call.timeout_seconds(),
            )
            response = classification_pb2.ClassificationResponse()
            messages.fill_spec(response.model_spec, spec, answer.servable.version)
            await handling.in_thread_if(call.is_large, _fill_classes, response.result, answer)
            return response

    async def regress(
        self, request: regression_pb2.RegressionRequest, call: Call
    ) -> regression_pb2.RegressionResponse:
        with self._counted(request, "Regress"):
            spec = messages.model_spec(request)
            answer = await inference.regress(
                self._core,
                spec,
                await self._examples(request.input, call),
                timeout_seconds=call.timeout_seconds(),
            )
            response = regression_pb2.RegressionResponse()
            messages.fill_spec(response.model_spec, spec, answer.servable.version)
            _fill_values(response.result, answer)
            return response

    async def multi_inference(
        self, request: inference_pb2.MultiInferenceRequest, call: Call
    ) -> inference_pb2.MultiInferenceResponse:
        tasks = messages.tasks(request)
        answers = await inference.multi_inference(
            self._core,
            tasks,
            await self._examples(request.input, call),
            timeout_seconds=call.timeout_seconds(),
        )
        response = inference_pb2.MultiInferenceResponse()
        for task, answer in zip(tasks, answers, strict=True):
            result = response.results.add()
            messages.fill_spec(result.model_spec, task.spec, answer.servable.version)
            if isinstance(answer, inference.Classification):
                result.classification_result.SetInParent()
                _fill_classes(result.classification_result, answer)
            else:
                result.regression_result.SetInParent()
                _fill_values(result.regression_result, answer)
        return response

    async def get_model_metadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest, call: Call
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        spec = messages.model_spec(request)
        if not request.metadata_field:
            raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
        for field in request.metadata_field:
            if field != _SIGNATURE_DEF:
                raise invalid(f"Metadata field {field} is not supported")
        found = metadata.metadata(self._core, spec)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        for name, definition in found.signature_defs.items():
            signatures.signature_def[name].CopyFrom(definition)
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        response.model_spec.name = found.name
        response.model_spec.version.value = found.version
        response.metadata[_SIGNATURE_DEF].Pack(signatures)
        return response


def _feeds(request: predict_pb2.PredictRequest, servable: Servable) -> Tensors:
    """The tensors that a request feeds; those left out have the signature's defaults."""
    name = request.model_spec.signature_name or DEFAULT_SIGNATURE
    if name not in servable.signature_defs:
        raise ServingError(Code.FAILED_PRECONDITION, f'Serving signature key "{name}" not found.')
    definition = servable.signature_defs[name]
    _check_size(request.inputs, definition)
    feeds = {}
    for alias in sorted(definition.inputs):
        if alias in request.inputs:
            proto = request.inputs[alias]
        elif alias in definition.defaults:
            proto = definition.defaults[alias]
        else:
            raise invalid(
                f"Signature input alias: {alias}(feed name: {definition.inputs[alias].name}) not "
                "found in request and no default value provided. Inputs expected to be in the "
                f"request {{{_names(request.inputs)}}}, or default input alias set: "
                f"{_names(definition.defaults)}"
            )
        feeds[alias] = tensors.read(alias, proto)
    used = request.inputs.keys() & feeds.keys()
    if len(used) != len(request.inputs):
        raise invalid(
            f"Inputs contains invalid name. Used request inputs: {_names(used)}, request input: "
            f"{_names(request.inputs)}"
        )
    return feeds


def _check_size(sent: Any, definition: Any) -> None:
    wanted = definition.inputs
    if len(sent) > len(wanted) or (len(sent) < len(wanted) and not definition.defaults):
        raise invalid(
            f"input size does not match signature: {len(sent)}!={len(wanted)} "
            f"len({{{_names(sent)}}}) != len({{{_names(wanted)}}}). "
            f"Sent extra: {{{_names(sent.keys() - wanted.keys())}}}. "
            f"Missing but required: {{{_names(wanted.keys() - sent.keys())}}}."
        )


def _names(names: Any) -> str:
    return ",".join(sorted(names))


def _fill_classes(
    result: classification_pb2.ClassificationResult, answer: inference.Classification
) -> None:
    given = answer.labels if answer.labels is not None else answer.scores
    if given is None:
        return
    labels = None if answer.labels is None else answer.labels.tolist()
    scores = None if answer.scores is None else answer.scores.tolist()
    for row in range(len(given)):
        classes = result.classifications.add().classes
        for index in range(given.shape[1]):
            one = classes.add()
            if labels is not None:
                one.label = labels[row][index].decode("utf-8", "replace")
            if scores is not None:
                one.score = scores[row][index]


def _fill_values(result: regression_pb2.RegressionResult, answer: inference.Regression) -> None:
    for value in answer.values.tolist():
        result.regressions.add(value=value)
