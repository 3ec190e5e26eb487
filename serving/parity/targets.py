"""What is asked: a server over one of its APIs, or a SavedModel in this process."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from serving.client import address, grpc_requests, messages, tensor_messages
from serving.client.blocking import Client
from serving.client.connecting import connect
from serving.client.exchanges import Exchange
from serving.client.inputs import ONLY, text_bytes
from serving.client.rest_requests import RestRequests, json_text
from serving.client.results import Scored, SignatureInfo
from serving.client.settings import Settings
from serving.models.spec import ModelSpec
from serving.parity import records, responses
from serving.parity.options import Parity

_METHODS = {
    "predict_log": ("Predict", "PredictResponse"),
    "classify_log": ("Classify", "ClassificationResponse"),
    "regress_log": ("Regress", "RegressionResponse"),
}


class Target(Protocol):
    """What answers requests."""

    def answer(self, log: Any) -> Any:
        """The response to the request of a PredictionLog.

        Raises:
          ServingError: an error is answered, or nothing.
        """
        ...

    def input_names(self, signature_name: str) -> list[str]:
        """Names of a signature's inputs."""
        ...


@contextlib.contextmanager
def opened(options: Parity, model_name: str) -> Iterator[Target]:
    """What the flags say is asked.

    Args:
      model_name: on the server.

    Raises:
      InputError: the SavedModel cannot be loaded.
    """
    if options.saved_model:
        yield _SavedModel(options.saved_model)
        return
    settings = Settings(timeout_seconds=options.timeout_seconds, tls=options.tls)
    with connect(options.url, model_name, settings) as client:
        spec = ModelSpec(model_name, options.version, options.label)
        yield (_Grpc if address.is_grpc(options.url) else _Rest)(client, spec)


class _Server:
    def __init__(self, client: Client, spec: ModelSpec) -> None:
        self._client, self._spec = client, spec
        self._signatures: dict[str, SignatureInfo] = {}

    def input_names(self, signature_name: str) -> list[str]:
        return list(self._signature(signature_name).inputs)

    def _signature(self, name: str) -> SignatureInfo:
        if name not in self._signatures:
            version, label = self._spec.version, self._spec.label
            metadata = self._client.metadata(version=version, label=label)
            self._signatures[name] = metadata.signature(name)
        return self._signatures[name]

    def _named(self, request: Any) -> ModelSpec:
        """The model of the flags with the signature of a request."""
        name = request.model_spec.signature_name
        return ModelSpec(self._spec.name, self._spec.version, self._spec.label, name)


class _Grpc(_Server):
    """A server over gRPC: requests as they were."""

    def answer(self, log: Any) -> Any:
        kind, recorded = records.parts(log)
        request = type(recorded.request).FromString(recorded.request.SerializeToString())
        request.model_spec.Clear()
        grpc_requests.fill_spec(request.model_spec, self._named(recorded.request))
        method, response = _METHODS[kind]
        name = f"/tensorflow.serving.PredictionService/{method}"
        read = messages.kind(response).FromString
        return self._client.exchange(Exchange(name, request.SerializeToString(), read))


class _Rest(_Server):
    """A server over REST: the same requests as JSON, and types from the signature."""

    def answer(self, log: Any) -> Any:
        kind, recorded = records.parts(log)
        spec, api = self._named(recorded.request), RestRequests()
        if kind == "predict_log":
            return self._predicted(recorded.request, spec)
        examples = _json_examples(recorded.request)
        if kind == "classify_log":
            rows = self._client.exchange(api.classify_examples(spec, examples))
            return responses.classified(rows)
        return responses.regressed(self._client.exchange(api.regress_examples(spec, examples)))

    def _predicted(self, request: Any, spec: ModelSpec) -> Any:
        feeds = {name: tensor_messages.read(each) for name, each in request.inputs.items()}
        found = self._client.exchange(RestRequests().predict(spec, feeds, (), None))
        infos = self._signature(spec.signature_name).outputs
        if ONLY in found:
            found = {next(iter(infos)): found[ONLY]}
        wanted = set(request.output_filter) or found.keys()
        return responses.predicted(
            {
                name: _typed(values, infos[name].dtype)
                for name, values in found.items()
                if name in wanted
            }
        )


class _SavedModel:
    """A SavedModel in this process."""

    def __init__(self, path: str) -> None:
        # TensorFlow takes seconds to load, and a server is asked without it.
        from serving.models.servable import Servable

        self._servable = Servable("", 0, path)

    def input_names(self, signature_name: str) -> list[str]:
        return list(self._servable.signature(signature_name).inputs)

    def answer(self, log: Any) -> Any:
        kind, recorded = records.parts(log)
        request = recorded.request
        name = request.model_spec.signature_name
        if kind == "predict_log":
            feeds = {key: tensor_messages.read(each) for key, each in request.inputs.items()}
            return responses.predicted(self._servable.run(name, feeds, request.output_filter))
        examples = request.input.example_list.examples
        serialized = np.array([each.SerializeToString() for each in examples], object)
        outputs = self._servable.run(name, {"inputs": serialized})
        if kind == "classify_log":
            return responses.classified(_scored(outputs))
        return responses.regressed(outputs["outputs"].ravel().tolist())


def _typed(values: Any, dtype: str) -> np.ndarray:
    """Values of JSON as an array of the type that the signature says."""
    array = np.array(values, object if dtype == "DT_STRING" else None)
    if dtype != "DT_STRING":
        # JSON has one kind of numbers: an output of doubles may be written like integers.
        return array.astype(tensor_messages.numpy_type(dtype))
    texts = np.empty(array.shape, object)
    texts.flat[:] = [text_bytes(text) for text in array.flat]
    return texts


def _json_examples(request: Any) -> list[dict[str, Any]]:
    """tf.Examples as the REST API has them."""
    return [
        {name: _json_feature(each) for name, each in example.features.feature.items()}
        for example in request.input.example_list.examples
    ]


def _json_feature(feature: Any) -> Any:
    kind = feature.WhichOneof("kind")
    values = list(getattr(feature, kind).value)
    if kind == "bytes_list":
        values = [json_text(value) for value in values]
    return values[0] if len(values) == 1 else values


def _scored(outputs: dict[str, np.ndarray]) -> Sequence[Scored]:
    """Labels with scores of the outputs of a signature, either of which may be missing."""
    shape = next(iter(outputs.values())).shape
    labels = outputs.get("classes", np.full(shape, b"", object))
    scores = outputs.get("scores", np.zeros(shape))
    return [
        [(label.decode(), float(score)) for label, score in zip(*row, strict=True)]
        for row in zip(labels, scores, strict=True)
    ]
