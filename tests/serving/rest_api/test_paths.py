"""Paths by the table of TensorFlow Serving's regular expressions."""

import pytest

from serving.models.spec import ModelSpec
from serving.rest_api import paths


@pytest.mark.parametrize(
    ("method", "path", "spec", "api"),
    [
        ("POST", "/v1/models/m:predict", ModelSpec("m"), "predict"),
        ("POST", "/v1/models/m:classify", ModelSpec("m"), "classify"),
        ("POST", "/v1/models/m:regress", ModelSpec("m"), "regress"),
        ("POST", "/v1/models/m/versions/0012:predict", ModelSpec("m", 12), "predict"),
        ("POST", "/v1/models/m/labels/stable:predict", ModelSpec("m", None, "stable"), "predict"),
        ("POST", "/V1/MODELS/M/Versions/3:predict", ModelSpec("M", 3), "predict"),
        ("POST", "/v1/models/a%2Fb%3ac:predict", ModelSpec("a/b:c"), "predict"),
        ("POST", "/v1/models/m/labels/a%20b:predict", ModelSpec("m", None, "a b"), "predict"),
        ("POST", "/v1/models/100%:predict", ModelSpec("100%"), "predict"),
        ("GET", "/v1/models/m", ModelSpec("m"), ""),
        ("GET", "/v1/models/m/versions/3", ModelSpec("m", 3), ""),
        ("GET", "/v1/models/m/labels/stable", ModelSpec("m", None, "stable"), ""),
        ("GET", "/v1/models/m/metadata", ModelSpec("m"), "metadata"),
        ("GET", "/v1/models/m/versions/3/metadata", ModelSpec("m", 3), "metadata"),
        ("GET", "/v1/models", ModelSpec(""), ""),
        ("GET", "/v1/models/m/versions/9223372036854775807", ModelSpec("m", 2**63 - 1), ""),
    ],
)
def test_paths_of_the_api(method, path, spec, api):
    assert paths.target(method, path) == paths.Target(spec, api)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models/m:predict"),
        ("POST", "/v1/models/m"),
        ("POST", "/v1/models/m:PREDICT"),
        ("POST", "/v1/models/m:predict/"),
        ("POST", "/v1/models/:predict"),
        ("POST", "/v1/models/m/versions/x:predict"),
        ("POST", "/v1/models/m/versions/-1:predict"),
        ("POST", "/v1/models/m/versions/\u0663:predict"),
        ("POST", "/v1/models/m/versions/1/labels/a:predict"),
        ("POST", "/v1/models/a/b:predict"),
        ("PUT", "/v1/models/m"),
        ("DELETE", "/v1/models/m:predict"),
        ("HEAD", "/v1/models/m"),
        ("PATCH", "/v1/models/m"),
        ("GET", "/v1/models/"),
        ("GET", "/v1/models/m/"),
        ("GET", "/v1/models/m/version/7"),
        ("GET", "/v1/elsewhere"),
    ],
)
def test_what_is_no_path_of_the_api(method, path):
    error = paths.target(method, path).error
    assert str(error) == f"INVALID_ARGUMENT: Malformed request: {method} {path}"


def test_a_version_beyond_64_bits():
    for digits in ("9223372036854775808", "9" * 5000):
        error = paths.target("GET", f"/v1/models/m/versions/{digits}").error
        assert error.message == f"Failed to convert version: {digits} to numeric."
