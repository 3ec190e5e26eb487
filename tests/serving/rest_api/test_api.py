"""Requests and answers as TensorFlow Serving's REST contract has them."""

import gzip
import json
import math
import random

import pytest

PREDICT = "/v1/models/tiny:predict"


def test_status_lists_versions_as_strings(ask_json):
    status = {"error_code": "OK", "error_message": ""}
    served = {"version": "7", "state": "AVAILABLE", "status": status}
    failed = {"error_code": "INVALID_ARGUMENT", "error_message": "broken"}
    failed = {"version": "6", "state": "END", "status": failed}
    for path, want in {
        "/v1/models/tiny": [served, failed],
        "/v1/models/tiny/versions/7": [served],
        "/v1/models/tiny/labels/any": [served, failed],  # a label is not looked at
    }.items():
        assert ask_json("GET", path) == (200, {"model_version_status": want})


def test_metadata_describes_every_signature(ask_json):
    status, answer = ask_json("GET", "/v1/models/tiny/metadata")
    assert status == 200
    assert answer["model_spec"] == {"name": "tiny", "signature_name": "", "version": "7"}
    signatures = answer["metadata"]["signature_def"]["signature_def"]
    assert signatures["serving_default"]["inputs"] == {
        "text": {
            "dtype": "DT_STRING",
            "tensor_shape": {"dim": [{"size": "-1", "name": ""}], "unknown_rank": False},
            "name": "serving_default_text:0",
        }
    }
    assert signatures["serving_default"]["method_name"] == "tensorflow/serving/predict"
    assert signatures["serving_default"]["defaults"] == {}
    init = signatures["__saved_model_init_op"]
    assert init["method_name"] == ""
    assert init["outputs"]["__saved_model_init_op"]["dtype"] == "DT_INVALID"


AB_CDE = {
    "predictions": [
        {"length": 2, "thirds": [2.0, pytest.approx(2 / 3)], "upper": "AB"},
        {"length": 3, "thirds": [3.0, 1.0], "upper": "CDE"},
    ]
}


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ('{"instances": ["ab", "cde"]}', AB_CDE),
        ('{"instances": [{"text": "ab"}, {"text": "cde"}]}', AB_CDE),
        ('{"instances": [{"b64": "YWI="}, "cde"]}', AB_CDE),
        ('{"instances": ["ab", "cde"], "unknown": 1} and more', AB_CDE),
        ('{"signature_name": "", "instances": ["ab", "cde"], "instances": 1}', AB_CDE),
        (
            '{"inputs": ["ab"]}',
            {
                "outputs": {
                    "length": [2],
                    "thirds": [AB_CDE["predictions"][0]["thirds"]],
                    "upper": ["AB"],
                }
            },
        ),
        (
            '{"inputs": {"text": [], "unknown": 1}}',
            {"outputs": {"length": [], "thirds": [], "upper": []}},
        ),
        (
            '{"signature_name": "divide", "instances": [{"x": 1, "y": 4.0}, {"y": 2, "x": -3}]}',
            {"predictions": [0.25, -1.5]},
        ),
        ('{"signature_name": "gather", "inputs": [[1, 2]]}', {"outputs": [[3.5, 5.5]]}),
        ('{"signature_name": "gather", "instances": [[], []]}', {"predictions": [[], []]}),
        (
            '{"signature_name": "total", "inputs": [2, 3]}',
            {"outputs": {"sum": 5.0, "x": [2.0, 3.0]}},
        ),
    ],
)
def test_predict(ask_json, body, want):
    assert ask_json("POST", PREDICT, body) == (200, want)


def test_nan_and_infinity_pass_both_ways(ask):
    body = '{"signature_name": "divide", "inputs": {"x": [1, NaN, -2, Inf], "y": [0, 1, 0, 7]}}'
    status, _, answer = ask("POST", PREDICT, body)
    assert status == 200
    assert b"[Infinity,NaN,-Infinity,Infinity]" in answer
    values = json.loads(answer)["outputs"]
    assert values[0] == math.inf and math.isnan(values[1])


def test_every_type_passes_both_ways(ask_json):
    row = {"truth": True, "double": 0.1, "small": -5, "large": -(2**63), "unsigned": 2**64 - 1}
    row["raw_bytes"] = {"b64": "/wA="}
    body = json.dumps({"signature_name": "same", "instances": [row]})
    want = {"predictions": [{f"same_{name}": value for name, value in row.items()}]}
    assert ask_json("POST", PREDICT, body) == (200, want)


ELEMENT = "Failed to process element: "


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ("", 400, "JSON Parse error: The document is empty"),
        ("{", 400, "JSON Parse error: "),
        ("[1]", 400, "JSON Value: [1] Is not object"),
        ("{}", 400, "Missing 'inputs' or 'instances' key"),
        ('{"inputs": 1, "instances": 2}', 400, "Not formatted correctly expecting only one of"),
        ('{"instances": 1}', 400, "Expecting 'instances' to be an list/array"),
        ('{"instances": []}', 400, "No values in 'instances' array"),
        ('{"signature_name": 5}', 400, "'signature_name' key must be a string value."),
        (
            '{"signature_name": "no"}',
            400,
            'Serving signature name: "no" not found in signature def',
        ),
        ('{"instances": [1e400]}', 400, "JSON Parse error: "),
        (
            '{"signature_name": "divide", "instances": [1]}',
            400,
            "instances is a plain list, but expecting list of objects as multiple input tensors "
            "required as per tensorinfo_map",
        ),
        (
            '{"signature_name": "divide", "inputs": [1]}',
            400,
            "inputs is a plain value/list, but expecting an object as multiple input tensors "
            "required as per tensorinfo_map",
        ),
        (
            '{"signature_name": "divide", "inputs": {"x": [1]}}',
            400,
            "Missing named input: y in 'inputs' object.",
        ),
        (
            '{"signature_name": "divide", "instances": [{"x": 1}]}',
            400,
            ELEMENT
            + "0 of 'instances' list. JSON object: {\n    \"x\": 1\n} keys must be equal to: x,y",
        ),
        (
            '{"instances": [{"words": "a"}]}',
            400,
            ELEMENT + "0 key: words of 'instances' list. Error: INVALID_ARGUMENT: "
            "JSON object: does not have named input: words",
        ),
        (
            '{"instances": ["a", {"text": "b"}]}',
            400,
            "Expecting value/list but got object at item 1",
        ),
        ('{"instances": [{"text": "b"}, "a"]}', 400, "Expecting object but got list at item 1"),
        (
            '{"instances": ["a", 5]}',
            400,
            ELEMENT + "1 of 'instances' list. Error: INVALID_ARGUMENT: "
            "JSON Value: 5 Type: Number is not of expected type: string",
        ),
        (
            '{"instances": [null]}',
            400,
            "JSON Value: null Type: Null is not of expected type: string",
        ),
        ('{"instances": [{"b64": "?"}]}', 400, "Unable to base64 decode"),
        (
            '{"signature_name": "gather", "instances": [[1], [2, 0]]}',
            400,
            ELEMENT + "1 of 'instances' list. Error: INVALID_ARGUMENT: "
            "Expecting tensor size: 1 but got: 2",
        ),
        (
            '{"signature_name": "gather", "instances": [[1, 2], [[1], [2]]]}',
            400,
            "Expecting shape [2] but got: [2,1]",
        ),
        (
            '{"signature_name": "gather", "instances": [[[1, 2], [1]]]}',
            400,
            "Encountered list at unexpected size: 1 at level: 1 expected size: 2",
        ),
        (
            '{"signature_name": "gather", "instances": [[[1], 1]]}',
            400,
            "JSON Value: 1 found at incorrect level: 2 in the JSON DOM. Expected at level: 2",
        ),
        (
            '{"signature_name": "gather", "inputs": [1, [1]]}',
            400,
            "Encountered list at unexpected level: 1 expected < 1",
        ),
        (
            '{"signature_name": "gather", "inputs": [[1.0]]}',
            400,
            "JSON Value: 1.0 Type: Number is not of expected type: int32",
        ),
        (
            '{"signature_name": "gather", "inputs": [[2147483648]]}',
            400,
            "JSON Value: 2147483648 Type: Number is not of expected type: int32",
        ),
        (
            '{"signature_name": "gather", "inputs": [[true]]}',
            400,
            "JSON Value: true Type: True is not of expected type: int32",
        ),
        ('{"signature_name": "gather", "inputs": [[5]]}', 400, "indices[0,0] = 5 is not in [0, 3)"),
        ('{"instances": [["a"]]}', 400, "Input text has shape [1, 1], expected [-1]"),
        (
            '{"signature_name": "total", "instances": [1]}',
            400,
            "Tensor name: sum has no shape information",
        ),
        (
            '{"signature_name": "half", "inputs": [1]}',
            501,
            "Conversion of JSON Value: 1 to type: half",
        ),
        (
            '{"signature_name": "brain", "inputs": [1]}',
            400,
            "Failed to write JSON value for tensor type: bfloat16",
        ),
    ],
)
def test_refused_requests(ask_json, body, status, error):
    got, answer = ask_json("POST", PREDICT, body)
    assert got == status
    assert list(answer) == ["error"]
    assert error in answer["error"]


def test_bad_json_is_seen_before_an_unknown_model(ask, ask_json):
    path = "/v1/models/other:predict"
    assert ask("POST", path, "{")[0] == 400
    status, answer = ask_json("POST", path, '{"instances": ["a"]}')
    assert (status, answer["error"]) == (404, "Servable not found for request: Latest(other)")


def test_an_unknown_model_is_seen_before_an_unknown_signature(ask):
    body = '{"signature_name": "no", "instances": []}'
    assert ask("POST", "/v1/models/other:predict", body)[0] == 404


def test_gzip_bodies_are_inflated(ask_json):
    gzipped = [(b"content-encoding", b"gzip")]
    body = gzip.compress(b'{"instances": ["ab", "cde"]}')
    assert ask_json("POST", PREDICT, body, headers=gzipped) == (200, AB_CDE)
    for damaged in (b"no gzip", body[:-3]):
        status, answer = ask_json("POST", PREDICT, damaged, headers=gzipped)
        assert (status, answer["error"]) == (400, "JSON Parse error: The document is empty")


def test_text_that_is_not_utf8_reaches_the_model_and_the_answer_is_json(ask_json):
    status, answer = ask_json("POST", PREDICT, b'{"instances": ["a\xff"]}')
    assert status == 200
    assert answer["predictions"][0]["length"] == 2
    assert answer["predictions"][0]["upper"] == "A\ufffd"


def test_classify_and_regress(ask_json):
    body = '{"signature_name": "classify", "examples": [{"x": 0.25}, {"x": [1.0]}]}'
    want = [[["low", 0.75], ["high", 0.25]], [["low", 0.0], ["high", 1.0]]]
    assert ask_json("POST", "/v1/models/tiny:classify", body) == (200, {"results": want})
    body = '{"signature_name": "regress", "context": {"x": 0.5}, "examples": [{}, {"x": 2.0}]}'
    want = {"results": [5.0, 20.0]}
    assert ask_json("POST", "/v1/models/tiny/versions/7:regress", body) == (200, want)


@pytest.mark.parametrize(
    ("action", "body", "status", "error"),
    [
        ("classify", "{", 400, "JSON Parse error: "),
        ("regress", "{}", 400, "When method is classify, key 'examples' is expected and was not"),
        (
            "classify",
            '{"signature_name": "half", "examples": [{}]}',
            400,
            "No classification inputs found in SignatureDef: ",
        ),
        (
            "regress",
            '{"signature_name": "divide", "examples": [{}]}',
            400,
            "Expected one input Tensor.",
        ),
        (
            "regress",
            '{"signature_name": "no", "examples": [{}]}',
            400,
            "No signature was found with the name: no",
        ),
        (
            "classify",
            '{"signature_name": "classify", "examples": [{"x": 1}]}',
            400,
            "Data types don't match",
        ),
    ],
)
def test_refused_examples(ask_json, action, body, status, error):
    got, answer = ask_json("POST", f"/v1/models/tiny:{action}", body)
    assert got == status
    assert error in answer["error"]


LARGE = 10_000  # rows, which make a body that another process reads


def test_large_bodies_are_answered_as_small_ones(ask_json):
    status, answer = ask_json("POST", PREDICT, json.dumps({"instances": ["ab", "cde"] * LARGE}))
    assert (status, answer["predictions"]) == (200, AB_CDE["predictions"] * LARGE)
    body = json.dumps({"inputs": ["ab", 5] * LARGE})
    error = "JSON Value: 5 Type: Number is not of expected type: string"
    assert ask_json("POST", PREDICT, body) == (400, {"error": error})
    body = json.dumps({"signature_name": "regress", "examples": [{"x": 0.5}] * LARGE})
    assert ask_json("POST", "/v1/models/tiny:regress", body) == (200, {"results": [5.0] * LARGE})


ALPHABET = (
    '{ } [ ] : , "instances" "inputs" "signature_name" "examples" "context" "text" "x" "y" "b64" '
    '"a" "" "divide" "same" "gather" "total" "half" "brain" "classify" "regress" 0 1 -1 1.5 1e999 '
    '9223372036854775808 1e-400 NaN Inf -Infinity true false null \\ \\u00e9 \\ud800 " \x00 \xff é'
).split(" ")
SEEDS = (
    '{"instances": ["ab", "cde"]}',
    '{"signature_name": "divide", "instances": [{"x": 1, "y": 4.0}, {"y": 2, "x": -3}]}',
    '{"signature_name": "gather", "inputs": [[1, 2]]}',
    '{"inputs": {"text": [{"b64": "YWI="}]}}',
    '{"signature_name": "classify", "examples": [{"x": 0.25}, {"x": [1.0]}], "context": {}}',
)


VALUES = (0, -1, 1.5, 2**63, 2**31, True, None, "", "a", "é", [], {}, [1], ["a"], [[1, 2]], [[], 1])
VALUES += ({"b64": "YWI="}, {"b64": "?"}, {"x": 1}, {"x": 1, "y": 2}, math.nan, math.inf)


def random_body(random):
    """Tokens in any order, or a good request with a few values or characters changed."""
    kind = random.random()
    if kind < 0.2:
        text = " ".join(random.choices(ALPHABET, k=random.randrange(12)))
        return ('{"instances": [' + text + "]}" if random.random() < 0.5 else text).encode()
    body = random.choice(SEEDS)
    if kind < 0.7:
        for _ in range(random.randrange(3)):
            body = json.dumps(with_another_value(json.loads(body), random))
        return body.encode()
    body = bytearray(body.encode())
    for _ in range(random.randrange(1, 4)):
        start = random.randrange(len(body) + 1)
        end = min(len(body), start + random.choice((0, 0, 1, 1, 2, 8)))
        body[start:end] = random.choice(ALPHABET).encode("latin-1", "replace")
    return bytes(body)


def with_another_value(value, random):
    """A value, or one in it, replaced, left out or repeated."""
    if not value or not isinstance(value, dict | list) or random.random() < 0.1:
        return random.choice(VALUES)
    key = random.choice(list(value) if isinstance(value, dict) else range(len(value)))
    change = random.random()
    if change < 0.1:
        del value[key]
    elif change < 0.2 and isinstance(value, list):
        value.append(value[key])
    else:
        value[key] = with_another_value(value[key], random)
    return value


def test_any_body_is_answered_with_json_and_is_never_an_internal_error(ask):
    generator = random.Random(7)
    seen = set()
    for _ in range(1500):
        body = random_body(generator)
        action = generator.choice(("predict", "predict", "classify", "regress"))
        status, _, answer = ask("POST", f"/v1/models/tiny:{action}", body)
        assert status in (200, 400, 501), (body, answer)
        assert json.loads(answer).keys() <= {"predictions", "outputs", "results", "error"}
        seen.add(status)
    assert seen >= {200, 400}
