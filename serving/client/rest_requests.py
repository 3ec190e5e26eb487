"""Requests of TensorFlow Serving's REST API, and what its answers say."""

import base64
import json
import urllib.parse
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import orjson

from serving.client.exchanges import Exchange
from serving.client.inputs import ONLY, Arrays, text_bytes
from serving.client.results import Metadata, Scored, SignatureInfo, TensorInfo
from serving.models.spec import ModelSpec, VersionStatus
from serving.status import HTTP_STATUS, Code, ServingError, invalid

# The first code of each status is the most frequent one: 400 is INVALID_ARGUMENT.
_CODES = {status: code for code, status in reversed(list(HTTP_STATUS.items()))}
# What proxies answer in front of a server that is away, or whose limit a body exceeds.
_CODES |= {500: Code.INTERNAL, 502: Code.UNAVAILABLE, 413: Code.INVALID_ARGUMENT}


class RestRequests:
    """The REST API: columns out, columns back, which take fewer bytes than rows."""

    needs_signature = False

    def predict(
        self,
        spec: ModelSpec,
        feeds: Arrays,
        outputs: Iterable[str],
        signature: SignatureInfo | None,
    ) -> Exchange[dict[str, Any]]:
        """See `Api`; the API answers with all outputs, whatever is asked for."""
        inputs = {name: _json_values(array) for name, array in feeds.items()}
        body = {"inputs": inputs[ONLY] if inputs.keys() == {ONLY} else inputs}
        return Exchange(f"{_path(spec)}:predict", _body(spec, body), _read_outputs)

    def classify(self, spec: ModelSpec, features: Arrays) -> Exchange[list[Scored]]:
        """See `Api`."""
        return self.classify_examples(spec, _examples(features))

    def regress(self, spec: ModelSpec, features: Arrays) -> Exchange[list[float]]:
        """See `Api`."""
        return self.regress_examples(spec, _examples(features))

    def classify_examples(
        self, spec: ModelSpec, examples: list[dict[str, Any]]
    ) -> Exchange[list[Scored]]:
        """Asks for labels of examples, each a dict from feature to value."""
        body = _body(spec, {"examples": examples})
        return Exchange(f"{_path(spec)}:classify", body, _read_classes)

    def regress_examples(
        self, spec: ModelSpec, examples: list[dict[str, Any]]
    ) -> Exchange[list[float]]:
        """Asks for a number for each example."""
        body = _body(spec, {"examples": examples})
        return Exchange(f"{_path(spec)}:regress", body, _read_results)

    def metadata(self, spec: ModelSpec) -> Exchange[Metadata]:
        """See `Api`."""
        return Exchange(f"{_path(spec)}/metadata", b"", _read_metadata, verb="GET")

    def status(self, spec: ModelSpec) -> Exchange[list[VersionStatus]]:
        """See `Api`."""
        return Exchange(_path(spec), b"", _read_statuses, verb="GET")


def checked(status: int, body: bytes, where: str) -> bytes:
    """The body of an answer that is none of an error.

    Args:
      where: what was asked, for messages.

    Raises:
      ServingError: with the server's words.
    """
    if status == 200:
        return body
    code = _CODES.get(status, Code.INVALID_ARGUMENT if 400 <= status < 500 else Code.UNKNOWN)
    try:
        message = json.loads(body)["error"]
    except (ValueError, TypeError, KeyError):
        raise ServingError(
            code,
            f"{where} was answered with status {status} and not JSON; is this the REST port of a "
            "TensorFlow model server?",
        ) from None
    raise ServingError(code, str(message))


def parsed(body: bytes) -> Any:
    """The value of a JSON answer; numbers may be NaN and Infinity.

    Raises:
      ServingError: INTERNAL; it is not JSON.
    """
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(body)
    except ValueError:
        raise ServingError(
            Code.INTERNAL,
            f"The answer is not JSON; is this the REST port of a TensorFlow model server? It "
            f"begins with {body[:40]!r}.",
        ) from None


def _path(spec: ModelSpec) -> str:
    path = f"/v1/models/{urllib.parse.quote(spec.name, safe='')}"
    if spec.version is not None:
        path += f"/versions/{spec.version}"
    if spec.label is not None:
        path += f"/labels/{urllib.parse.quote(spec.label, safe='')}"
    return path


def _body(spec: ModelSpec, body: dict[str, Any]) -> bytes:
    if spec.signature_name:
        body = {"signature_name": spec.signature_name, **body}
    try:
        return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:  # numbers that are not finite, as lists; or types that orjson does not know
        return json.dumps(body, default=_as_list).encode()


def _as_list(value: Any) -> Any:
    if isinstance(value, _NotFinite):
        return value.array.tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise invalid(f"A value of type {type(value).__name__} cannot be sent as JSON.")


def _json_values(array: np.ndarray) -> Any:
    """An array as what is written as JSON."""
    if array.dtype.kind == "O":
        return _nested(array)
    is_finite = array.dtype.kind not in "f" or bool(np.isfinite(array).all())
    if is_finite and array.flags.c_contiguous:
        return array
    return array.tolist() if is_finite else _NotFinite(array)


class _NotFinite:
    """Numbers that orjson would write as null; it refuses this type."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array


def _nested(values: Any) -> Any:
    return (
        [_nested(each) for each in values] if isinstance(values, np.ndarray) else json_text(values)
    )


def json_text(text: str | bytes) -> str | dict[str, str]:
    """A string as JSON has it; in base64 if it is not UTF-8."""
    try:
        return text_bytes(text).decode()
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(text_bytes(text)).decode()}


def _examples(features: Arrays) -> list[dict[str, Any]]:
    """Rows of features. Texts without a name are the feature `text`."""
    columns = {
        name or "text": _nested(array) if array.dtype.kind == "O" else array.tolist()
        for name, array in features.items()
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _key(body: bytes, key: str) -> Any:
    answer = parsed(body)
    if not isinstance(answer, Mapping) or key not in answer:
        raise ServingError(
            Code.INTERNAL, f"The answer has no {key!r}; it begins with {body[:40]!r}."
        )
    return answer[key]


def _read_outputs(body: bytes) -> dict[str, Any]:
    outputs = _key(body, "outputs")
    if not isinstance(outputs, Mapping) or outputs.keys() == {"b64"}:
        return {ONLY: _decoded(outputs)}
    return {
        name: _decoded(values) if name.endswith("_bytes") else values
        for name, values in outputs.items()
    }


def _decoded(values: Any) -> Any:
    """Values with bytes for what is written in base64; the first one tells whether they are."""
    first = values
    while isinstance(first, list) and first:
        first = first[0]
    return _without_base64(values) if isinstance(first, Mapping) else values


def _without_base64(values: Any) -> Any:
    if isinstance(values, list):
        return [_without_base64(each) for each in values]
    return base64.b64decode(values["b64"])


def _read_classes(body: bytes) -> list[Scored]:
    return [[(label, score) for label, score in row] for row in _key(body, "results")]


def _read_results(body: bytes) -> list[float]:
    return _key(body, "results")


def _read_metadata(body: bytes) -> Metadata:
    signatures = _key(body, "metadata")["signature_def"]["signature_def"]
    return Metadata(
        int(parsed(body).get("model_spec", {}).get("version", 0)),
        {
            name: SignatureInfo(_infos(value["inputs"]), _infos(value.get("outputs", {})))
            for name, value in signatures.items()
        },
    )


def _infos(tensors: Mapping[str, Any]) -> dict[str, TensorInfo]:
    infos = {}
    for name, tensor in tensors.items():
        shape = tensor.get("tensor_shape", {})
        sizes = tuple(int(dim["size"]) for dim in shape.get("dim", ()))
        is_any = shape.get("unknown_rank", False)
        infos[name] = TensorInfo(tensor.get("dtype", ""), None if is_any else sizes)
    return infos


def _read_statuses(body: bytes) -> list[VersionStatus]:
    statuses = []
    for each in _key(body, "model_version_status"):
        problem = each.get("status", {})
        code = Code[problem.get("error_code", "OK")]
        version = int(each["version"])
        statuses.append(
            VersionStatus(version, each["state"], code, problem.get("error_message", ""))
        )
    return statuses
