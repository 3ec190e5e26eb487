"""JSON as RapidJSON takes it, whose reasons for refusing are those of its error table."""

import json

import pytest

from serving.rest_api import json_text
from serving.status import ServingError

INF = float("inf")


@pytest.mark.parametrize(
    ("body", "want"),
    [
        (b'{"a": 1}', {"a": 1}),
        (b'\xef\xbb\xbf {"a": 1}', {"a": 1}),
        (b'{"a": "Inf \\" NaN", "b": Inf, "c": -NaN}', {"a": 'Inf " NaN', "b": INF}),
        (b'{"a": -Infinity} x', {"a": -INF}),
        ('{"é": "é"} {'.encode(), {"é": "é"}),
        (b'{"a": 1} \xff', {"a": 1}),
        (b'{"a": "\xff"}', {"a": "\udcff"}),
        (b'{"a": "\\ud83d\\ude00 \\\\ud800"}', {"a": "\U0001f600 \\ud800"}),
        (b'{"a": 18446744073709551616, "b": Inf}', {"a": 2.0**64, "b": INF}),
        (b'{"a": 9223372036854775807, "b": Inf}', {"a": 2**63 - 1, "b": INF}),
        (b'{"a": ' + b"1" * 300 + b"}", {"a": float("1" * 300)}),
        # The first of equal keys counts, wherever they are and however they are written.
        (b'{"instances": 1, "instances": 2}', {"instances": 1}),
        (b'{"instances": 1, "\\u0069nstances": 2}', {"instances": 1}),
        (b'{"a": [{"b": 1, "c": 2, "b": 3}]}', {"a": [{"b": 1, "c": 2}]}),
        (b'{"a": {"b:": {"c": ":", "c": 1}}}', {"a": {"b:": {"c": ":"}}}),
        (b'{"a": "\\u003a", "b": 1, "b": 2}', {"a": ":", "b": 1}),
        (b'{"a": "::", "b": [":", {"c:": "d:"}]}', {"a": "::", "b": [":", {"c:": "d:"}]}),
    ],
)
def test_parse(body, want):
    got = json_text.parse(body)
    assert {key: got[key] for key in want} == want


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "The document is empty"),
        (b" \n", "The document is empty"),
        (b"nul", "Invalid value. at offset: 0"),
        (b'{"a": +1}', "Invalid value. at offset: 6"),
        (b'{"a": Nope}', "Invalid value. at offset: 6"),
        (b'{"a": [1,]}', "Invalid value. at offset: 8"),
        (b'{"a": 1,}', "Missing a name for object member. at offset: 7"),
        (b"{", "Missing a name for object member. at offset: 1"),
        (b"{a: 1}", "Missing a name for object member. at offset: 1"),
        (b'{"a" 1}', "Missing a colon after a name of object member. at offset: 5"),
        (b'{"a": 1 "b"}', "Missing a comma or } after an object member. at offset: 8"),
        (b'{"a": {"b": []', "Missing a comma or } after an object member. at offset: 14"),
        ('{"é": [1 2]}'.encode(), "Missing a comma or ] after an array element. at offset: 10"),
        (b'{"a": [NaN "]"', "Missing a comma or ] after an array element. at offset: 11"),
        (b'{"a": "b', "Missing a closing quotation mark in string. at offset: 6"),
        (b'{"a": "\n"}', "Invalid encoding in string. at offset: 7"),
        (b'{"a": "\\x"}', "Invalid escape character in string. at offset: 7"),
        (b'{"a": "\\u12"}', "Incorrect hex digit after \\u escape in string. at offset: 7"),
        (b'{"a": "\\ud800"}', "The surrogate pair in string is invalid. at offset: 7"),
        (b'{"a": "\\ud800\\u0041"}', "The surrogate pair in string is invalid. at offset: 7"),
        (b'{"a": "\\udc00"}', "The surrogate pair in string is invalid. at offset: 7"),
        (b'{"a": NaN, "b": "\\udc00"}', "The surrogate pair in string is invalid. at offset: 17"),
        (b'{"a": 1e999}', "Number too big to be stored in double. at offset: 6"),
        (b'{"a": NaN, "b": -1e999}', "Number too big to be stored in double. at offset: 16"),
        (b'{"a": 1.}', "Miss fraction part in number. at offset: 8"),
        (b'{"a": 1e}', "Miss exponent in number. at offset: 8"),
        (b"[" * 100_000, "Values are nested too deeply. at offset: "),
        (b'{"a": NaN, "b":' + b"[" * 100_000, "Values are nested too deeply. at offset: "),
        (b'{"a": [' + b"1," * 600_000, "Missing a comma or ] after an array element. at offset: "),
    ],
)
def test_what_is_no_json_is_an_invalid_argument(body, reason):
    with pytest.raises(ServingError) as caught:
        json_text.parse(body)
    assert caught.value.code.name == "INVALID_ARGUMENT"
    assert caught.value.message.startswith(f"JSON Parse error: {reason}")


@pytest.mark.parametrize("body", [b"[1]", b"5", b'"a"', b"null", b"NaN"])
def test_what_is_no_object(body):
    with pytest.raises(ServingError, match="JSON Value: .* Is not object"):
        json_text.parse(body)


@pytest.mark.parametrize(
    "body", [b'{"a": 1, "a": 2}', b'{"a": {"b": ":", "b": 1}}', b'{"a": NaN}', b"[]", b'{"a": 1} 2']
)
def test_what_is_unusual_is_not_parsed_quickly(body):
    assert json_text.parse_quickly(body) is None


def test_echo_is_indented_and_cut():
    assert json_text.echo({"a": [1, "é"], "b": {}}) == '{\n    "a": [1, "é"],\n    "b": {}\n}'
    assert len(json_text.echo(["x" * 5000])) == 256
    assert json_text.echo(["\udcff"]) == '["?"]'
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert json_text.echo(deep) == "[" * 256


def test_error_body_escapes():
    assert json_text.error_body('a "b"\n') == b'{\n    "error": "a \\"b\\"\\n"\n}'
    assert json.loads(json_text.error_body("\udcff\x00"))["error"] == "?\x00"
