"""HTTP around the REST API: paths, verbs, headers, limits and metrics."""

import json
import re

import pytest

PREDICT = "/v1/models/tiny:predict"


@pytest.mark.parametrize(
    ("method", "path", "status", "error"),
    [
        ("GET", "/v1/models/other", 404, "Could not find any versions of model other"),
        ("GET", "/v1/models", 400, "Missing model name in request."),
        ("GET", "/v1/models/o/metadata", 404, "Servable not found for request: Latest(o)"),
        (
            "GET",
            "/v1/models/tiny/labels/s%20t/metadata",
            400,
            "Unrecognized servable version label: s t",
        ),
        (
            "GET",
            "/v1/models/tiny/versions/9223372036854775808",
            400,
            "Failed to convert version: 9223372036854775808 to numeric.",
        ),
        ("GET", PREDICT, 400, f"Malformed request: GET {PREDICT}"),
        ("POST", "/v1/models/tiny", 400, "Malformed request: POST /v1/models/tiny"),
        ("PUT", "/v1/models/tiny", 400, "Malformed request: PUT /v1/models/tiny"),
        ("DELETE", PREDICT, 400, f"Malformed request: DELETE {PREDICT}"),
        ("GET", "/v1/models/tiny/", 400, "Malformed request: GET /v1/models/tiny/"),
        (
            "GET",
            "/v1/models/tiny/version/7",
            400,
            "Malformed request: GET /v1/models/tiny/version/7",
        ),
        (
            "GET",
            "/v1/models/tiny/versions/x",
            400,
            "Malformed request: GET /v1/models/tiny/versions/x",
        ),
        ("POST", "/v1/models/tiny:PREDICT", 400, "Malformed request: POST /v1/models/tiny:PREDICT"),
        ("GET", "/v1/elsewhere", 400, "Malformed request: GET /v1/elsewhere"),
    ],
)
def test_paths_and_verbs(ask_json, method, path, status, error):
    assert ask_json(method, path) == (status, {"error": error})


def test_fixed_words_match_in_any_case_and_names_are_decoded(ask):
    body = '{"instances": ["ab"]}'
    assert ask("POST", "/V1/Models/t%69ny/VERSIONS/007:predict", body)[0] == 200


def test_errors_are_pretty_printed_with_one_key(ask):
    assert ask("GET", "/v1/models")[2] == (b'{\n    "error": "Missing model name in request."\n}')


def test_outside_v1_is_a_page_not_json(ask):
    status, headers, page = ask("GET", "/healthz")
    assert (status, headers[b"content-type"]) == (404, b"text/html")
    assert page.startswith(b"<html>")


def test_options_wants_an_origin(ask):
    origin = [(b"origin", b"https://example.org")]
    assert ask("OPTIONS", PREDICT, headers=origin)[0] == 200
    assert ask("OPTIONS", PREDICT)[0] == 400


def test_a_body_and_a_text_beyond_their_limits(ask, ask_json):
    body = b'{"instances": ["' + b"a" * 2**20 + b'"]}'
    status, headers, answer = ask("POST", PREDICT, body)
    assert status == 413
    assert headers[b"connection"] == b"close"
    error = json.loads(answer)["error"]
    assert "the limit is 1048576" in error and "--rest_api_max_request_bytes" in error
    body = b'{"instances": ["' + b"a" * (2**18 + 1) + b'"]}'
    status, answer = ask_json("POST", PREDICT, body)
    assert status == 400
    assert "262145 bytes, more than the limit of 262144; " in answer["error"]
    assert "--rest_api_max_text_bytes" in answer["error"]


def test_a_declared_size_beyond_the_limit_is_refused_unread(ask_json):
    headers = [(b"content-length", b"99999999999")]
    status, answer = ask_json("POST", PREDICT, b"{", headers=headers)
    assert status == 413
    assert "99999999999 bytes or more" in answer["error"]


def test_head_has_the_length_of_an_answer_but_no_body(ask):
    status, headers, body = ask("HEAD", "/v1/models/tiny")
    want = b'{\n    "error": "Malformed request: HEAD /v1/models/tiny"\n}'
    assert (status, body) == (400, b"")
    assert headers[b"content-length"] == str(len(want)).encode()


def test_metrics_count_requests_by_status(ask):
    before = ask("GET", "/metrics")[2]
    for body in ('{"instances": ["a"]}', "{"):
        ask("POST", PREDICT, body)
    ask("GET", "/v1/elsewhere")
    ask("GET", "/v1/models/tiny")
    status, headers, page = ask("GET", "/metrics")
    assert (status, headers[b"content-type"]) == (200, b"text/plain")

    def grown(line):
        pattern = re.escape(line) + rb" (\d+)\n"
        counts = [re.findall(pattern, text) for text in (before, page)]
        return int(counts[1][0]) - int((counts[0] or [0])[0])

    count = b':tensorflow:serving:request_count{model_name="tiny",status='
    assert grown(count + b'"OK"}') == 2
    assert grown(count + b'"INVALID_ARGUMENT"}') == 1
    nobody = b':tensorflow:serving:request_count{model_name="",status="INVALID_ARGUMENT"}'
    assert grown(nobody) == 1
    latency = b':tensorflow:serving:request_latency_count{model_name="tiny",API='
    assert grown(latency + b'"predict",entrypoint="REST"}') == 1
    assert grown(latency + b'"",entrypoint="REST"}') == 1


@pytest.fixture(scope="module")
def other_application(core):
    """With CORS, a page, and no metrics."""
    from serving.rest_api.application import RestApplication, RestOptions
    from serving.rest_api.limits import Limits

    async def page(scope, receive, send):
        await send({"type": "page", "path": scope["path"]})

    application = RestApplication(core, RestOptions(Limits(100, 100), cors=True), page)
    yield application
    application.close()


def test_everything_outside_v1_belongs_to_the_page(other_application, call):
    for path in ("/", "/metrics", "/v1", "/v2/models"):
        assert call(other_application, "GET", path) == [{"type": "page", "path": path}]


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("OPTIONS", PREDICT, [(b"origin", b"http://a.example")], 200),
        ("OPTIONS", PREDICT, [], 400),
        ("GET", "/v1/models/tiny", [], 200),
        ("GET", "/v1/models/other", [], 404),
    ],
)
def test_answers_have_cors_headers_if_asked_for(
    other_application, application, call, method, path, headers, status
):
    allowed = {
        b"access-control-allow-origin": b"*",
        b"access-control-allow-methods": b"POST, GET",
        b"access-control-allow-headers": b"Content-Type",
    }
    start, *_ = call(other_application, method, path, headers=headers)
    assert start["status"] == status
    assert allowed.items() <= dict(start["headers"]).items()
    start, *_ = call(application, method, path, headers=headers)
    assert not allowed.keys() & dict(start["headers"]).keys()


def test_a_client_that_goes_away_is_not_answered(application, loop):
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": PREDICT, "headers": []}
    loop.run_until_complete(application(scope, receive, send))
    assert sent == []


def test_what_nobody_expected_is_a_500_whose_cause_is_in_the_log(ask_json, core, caplog):
    broken = core.models.servable
    core.models.servable = None
    try:
        status, answer = ask_json("GET", "/v1/models/tiny")
    finally:
        core.models.servable = broken
    assert (status, answer["error"]) == (500, "Internal error; the server's log has the details.")
    assert "GET /v1/models/tiny failed" in caplog.text
