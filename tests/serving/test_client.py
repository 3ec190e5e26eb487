import io
import json
import types

import pytest
import requests

from bert_tf.errors import InputError
from serving import client

URL = "http://localhost:8501"


@pytest.fixture
def server(monkeypatch):
    """Answers of a server, by the end of the address; and the requests it was sent."""
    state = types.SimpleNamespace(answers={}, bodies=[])

    def request(method, address, json, timeout):
        status, body = next(v for k, v in state.answers.items() if address.endswith(k))
        if method == "POST":
            state.bodies.append(json)
        response = requests.Response()
        response.status_code = status
        response._content = body(json) if callable(body) else body
        return response

    monkeypatch.setattr(client.requests, "request", request)
    return state


def serve(server, inputs, predict_row):
    signature = {"serving_default": {"inputs": dict.fromkeys(inputs, {})}}
    metadata = {"metadata": {"signature_def": {"signature_def": signature}}}
    server.answers["/v1/models/m/metadata"] = (200, json.dumps(metadata).encode())

    def predict(body):
        return json.dumps({"predictions": [predict_row(r) for r in body["instances"]]}).encode()

    server.answers["/v1/models/m:predict"] = (200, predict)


def test_labels_of_texts(server, capsys):
    serve(server, ["text"], lambda row: {"label": row["text"], "probabilities": [0.25, 0.75]})
    options = client.Client(model_name="m", batch_size=2)
    client.main(options, ["one", "two", "three"])
    assert capsys.readouterr().out.splitlines() == [
        "one\t0.7500\tone",
        "two\t0.7500\ttwo",
        "three\t0.7500\tthree",
    ]
    assert [len(body["instances"]) for body in server.bodies] == [2, 1]


def test_scores_of_pairs_from_standard_input(server, capsys, monkeypatch):
    serve(server, ["text_b", "text_a"], lambda row: {"score": 1.5})
    stdin = types.SimpleNamespace(buffer=io.BytesIO(b"a\tb\nc\xff\td\n"), isatty=lambda: False)
    monkeypatch.setattr(client.sys, "stdin", stdin)
    client.main(client.Client(model_name="m"), [])
    assert capsys.readouterr().out == "1.5000\ta\tb\n1.5000\tc\ufffd\td\n"
    assert server.bodies[0]["instances"] == [
        {"text_a": "a", "text_b": "b"},
        {"text_a": {"b64": "Y/8="}, "text_b": "d"},
    ]


def test_one_text_for_a_pair_is_refused(server):
    serve(server, ["text_a", "text_b"], lambda row: {})
    with pytest.raises(InputError, match="Row 1 holds 1 texts; m takes 2"):
        client.main(client.Client(model_name="m"), ["a"])


def test_the_servers_words_are_passed_on(server):
    server.answers[":predict"] = (404, b'{"error": "Servable not found"}')
    with pytest.raises(InputError, match="status 404: Servable not found"):
        client.predict(URL, "m", ["a"])
    server.answers[":predict"] = (404, b"<html>")
    with pytest.raises(InputError, match="and not JSON; is this the REST port"):
        client.predict(URL, "m", ["a"])


def test_no_server_says_what_to_start(monkeypatch):
    def refuse(*_, **__):
        raise requests.ConnectionError

    monkeypatch.setattr(client.requests, "request", refuse)
    with pytest.raises(InputError, match="python -m serving --model_name=m"):
        client.predict(URL, "m", ["a"])
