import pytest

from serving.rest_api import json_text
from serving.status import ServingError


@pytest.mark.parametrize(
    ("body", "want"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf {"a": 1}', {"a": 1}),
        (b'{"a": "Inf \\" NaN", "b": Inf}', {"a": 'Inf " NaN', "b": float("inf")}),
        (b'{"a": -Infinity} x', {"a": float("-inf")}),
        (b'{"instances": 1, "instances": 2}', {"instances": 1}),
        (b'{"a": "\xff"}', {"a": "\udcff"}),
        (b'{"a": 18446744073709551616, "b": NaN}x'.replace(b"NaN", b"1"), {"a": 2.0**64, "b": 1}),
    ],
)
def test_parse(body, want):
    assert json_text.parse(body) == want


@pytest.mark.parametrize(
    "body", [b"", b"  ", b"nul", b'{"a": 1e999}', b'{"a": "\n"}', b"[" * 100_000, b"[" * 999]
)
def test_what_is_no_json_is_an_invalid_argument(body):
    with pytest.raises(ServingError, match="JSON Parse error: "):
        json_text.parse(body)


def test_echo_is_cut():
    assert json_text.echo({"a": [1, "é"], "b": {}}) == '{\n    "a": [1, "é"],\n    "b": {}\n}'
    assert len(json_text.echo(["x" * 5000])) == 256
    assert json_text.echo(["\udcff"]) == '["?"]'


def test_error_body_escapes():
    assert json_text.error_body('a "b"\n') == b'{\n    "error": "a \\"b\\"\\n"\n}'
