"""What the path of a request asks for."""

import dataclasses
import re
import urllib.parse

from serving.models.spec import ModelSpec
from serving.status import ServingError, invalid

# The fixed words are known in any case, but only lower case means something behind the name.
_INFERENCE = re.compile(
    r"/v1/models/([^/:]+)(?:/versions/(\d+)|/labels/([^/:]+))?:(classify|regress|predict)",
    re.IGNORECASE | re.ASCII,
)
_MODEL = re.compile(
    r"/v1/models(?:/([^/:]+))?(?:/versions/(\d+)|/labels/([^/:]+))?(?:/(metadata))?",
    re.IGNORECASE | re.ASCII,
)
_PATTERNS = {"POST": _INFERENCE, "GET": _MODEL}
_INFERENCE_APIS = ("classify", "regress", "predict")
_MAX_INT64_DIGITS = 19


@dataclasses.dataclass(frozen=True)
class Target:
    """The model that a path names, and what is wanted of it.

    Attributes:
      api: "predict", "classify" or "regress" of POST; "metadata" of GET, or "" for the status.
      error: what is wrong with the path; None: nothing.
    """

    spec: ModelSpec
    api: str = ""
    error: ServingError | None = None


def target(method: str, path: str) -> Target:
    """Reads a path.

    Args:
      method: GET, POST or any other verb.
      path: with percent signs, without the query.
    """
    pattern = _PATTERNS.get(method)
    match = pattern.fullmatch(path) if pattern else None
    if match is None:
        return Target(ModelSpec(""), error=_malformed(method, path))
    name = urllib.parse.unquote(match[1] or "")
    digits = (match[2] or "").lstrip("0") or "0"
    if len(digits) > _MAX_INT64_DIGITS or int(digits) >= 2**63:
        too_large = invalid(f"Failed to convert version: {match[2]} to numeric.")
        return Target(ModelSpec(name), error=too_large)
    version = int(digits) if match[2] else None
    label = urllib.parse.unquote(match[3]) if match[3] else None
    is_known = method == "GET" or match[4] in _INFERENCE_APIS
    error = None if is_known else _malformed(method, path)
    return Target(ModelSpec(name, version, label), match[4] or "", error)


def _malformed(method: str, path: str) -> ServingError:
    return invalid(f"Malformed request: {method} {path}")
