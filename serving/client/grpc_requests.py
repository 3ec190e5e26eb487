"""Requests of TensorFlow Serving's gRPC API, and what its answers say."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import orjson

from serving.client import messages, tensor_messages
from serving.client.exchanges import Exchange
from serving.client.inputs import ONLY, Arrays, text_bytes
from serving.client.results import Metadata, Scored, SignatureInfo, TensorInfo
from serving.models.spec import ModelSpec, VersionStatus
from serving.status import Code, invalid

_PREDICTION = "/tensorflow.serving.PredictionService/"
_MODEL = "/tensorflow.serving.ModelService/"


class GrpcRequests:
    """The gRPC API."""

    needs_signature = True  # tensors have the types and names of the signature

    def predict(
        self,
        spec: ModelSpec,
        feeds: Arrays,
        outputs: Iterable[str],
        signature: SignatureInfo | None,
    ) -> Exchange[dict[str, Any]]:
        """See `Api`."""
        assert signature
        request = _request("PredictRequest", spec)
        request.output_filter.extend(outputs)
        for name, array in _named(feeds, signature).items():
            info = signature.inputs.get(name)
            # A name that the signature lacks is sent too: the server's message lists them all.
            dtype = info.dtype if info else None
            cast = tensor_messages.cast(array, dtype, f"Input {name}") if dtype else array
            tensor_messages.write(cast, request.inputs[name], dtype)
        return _exchange(f"{_PREDICTION}Predict", request, "PredictResponse", _outputs)

    def classify(self, spec: ModelSpec, features: Arrays) -> Exchange[list[Scored]]:
        """See `Api`."""
        request = _with_examples("ClassificationRequest", spec, features)
        return _exchange(f"{_PREDICTION}Classify", request, "ClassificationResponse", _classes)

    def regress(self, spec: ModelSpec, features: Arrays) -> Exchange[list[float]]:
        """See `Api`."""
        request = _with_examples("RegressionRequest", spec, features)
        return _exchange(f"{_PREDICTION}Regress", request, "RegressionResponse", _values)

    def metadata(self, spec: ModelSpec) -> Exchange[Metadata]:
        """See `Api`."""
        request = _request("GetModelMetadataRequest", spec)
        request.metadata_field.append("signature_def")
        name = f"{_PREDICTION}GetModelMetadata"
        return _exchange(name, request, "GetModelMetadataResponse", _metadata)

    def status(self, spec: ModelSpec) -> Exchange[list[VersionStatus]]:
        """See `Api`."""
        request = _request("GetModelStatusRequest", spec)
        name = f"{_MODEL}GetModelStatus"
        return _exchange(name, request, "GetModelStatusResponse", _statuses)


def fill_spec(message: Any, spec: ModelSpec) -> None:
    """Fills a ModelSpec message."""
    message.name = spec.name
    message.signature_name = spec.signature_name
    if spec.version is not None:
        message.version.value = spec.version
    if spec.label is not None:
        message.version_label = spec.label


def _request(kind: str, spec: ModelSpec) -> Any:
    request = messages.new(kind)
    fill_spec(request.model_spec, spec)
    return request


def _exchange(method: str, request: Any, kind: str, read: Callable[[Any], Any]) -> Exchange[Any]:
    def read_bytes(body: bytes) -> Any:
        return read(messages.kind(kind).FromString(body))

    return Exchange(method, request.SerializeToString(), read_bytes)


def _named(feeds: Arrays, signature: SignatureInfo) -> Arrays:
    """Inputs by name; one without a name is the only one of the signature."""
    if ONLY not in feeds:
        return feeds
    if len(signature.inputs) != 1:
        raise invalid(
            f"The signature has the inputs {sorted(signature.inputs)}; give values for each of "
            "them by name."
        )
    return {next(iter(signature.inputs)): feeds[ONLY]}


def _with_examples(kind: str, spec: ModelSpec, features: Arrays) -> Any:
    """A request with a tf.Example per row. Texts without a name are the feature `text`."""
    request = _request(kind, spec)
    count = len(next(iter(features.values())))
    for row in range(count):
        feature = request.input.example_list.examples.add().features.feature
        for name, array in features.items():
            _fill_feature(feature[name or "text"], array[row : row + 1].ravel())
    return request


def _fill_feature(feature: Any, values: np.ndarray) -> None:
    if values.dtype.kind == "O":
        feature.bytes_list.value.extend(map(text_bytes, values))
    elif values.dtype.kind == "f":
        feature.float_list.value.extend(values.tolist())
    else:
        feature.int64_list.value.extend(values.tolist())


def _outputs(response: Any) -> dict[str, Any]:
    return {
        name: as_values(tensor_messages.read(tensor), name)
        for name, tensor in sorted(response.outputs.items())
    }


def as_values(array: np.ndarray, name: str) -> Any:
    """An output as nested lists; strings are decoded unless the name says that they are bytes."""
    if array.ndim and array.dtype == np.float32 and np.isfinite(array).all():
        # With the digits that float32 needs, as over REST: 0.1 and not 0.10000000149011612.
        return orjson.loads(orjson.dumps(array, option=orjson.OPT_SERIALIZE_NUMPY))
    if array.dtype.kind != "O" or name.endswith("_bytes"):
        return array.tolist()
    decoded = np.empty(array.shape, object)
    decoded.flat[:] = [_decoded(text) for text in array.flat]
    return decoded.tolist()


def _decoded(text: bytes) -> str | bytes:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _classes(response: Any) -> list[Scored]:
    return [
        [(each.label, each.score) for each in row.classes]
        for row in response.result.classifications
    ]


def _values(response: Any) -> list[float]:
    return [each.value for each in response.result.regressions]


def _metadata(response: Any) -> Metadata:
    signatures = messages.new("SignatureDefMap")
    signatures.ParseFromString(response.metadata["signature_def"].value)
    return Metadata(
        response.model_spec.version.value,
        {
            name: SignatureInfo(_infos(value.inputs), _infos(value.outputs))
            for name, value in signatures.signature_def.items()
        },
    )


def _infos(tensors: Any) -> dict[str, TensorInfo]:
    names = {number: name for name, number in messages.numbers("DataType").items()}
    infos = {}
    for name, tensor in sorted(tensors.items()):
        sizes = tuple(dim.size for dim in tensor.tensor_shape.dim)
        is_any = tensor.tensor_shape.unknown_rank
        infos[name] = TensorInfo(names.get(tensor.dtype, ""), None if is_any else sizes)
    return infos


def _statuses(response: Any) -> list[VersionStatus]:
    kind = messages.kind("ModelVersionStatus").DESCRIPTOR.enum_types_by_name["State"]
    states = {value.number: value.name for value in kind.values}
    return [
        VersionStatus(
            each.version,
            states[each.state],
            Code(each.status.error_code),
            each.status.error_message,
        )
        for each in response.model_version_status
    ]
