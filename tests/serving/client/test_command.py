import io
import json
import types

import pytest
import requests
from absl import flags

from bert_tf import flagging
from bert_tf.errors import InputError
from serving.client import command as client

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


def classified(row):
    shares = [0.0625, 0.6251, 0.3124]
    return {"label": "b", "labels": ["a", "b", "c"], "probabilities": shares, "logits": [0, 1, 2]}


def test_labels_of_texts_with_their_probabilities(server, capsys):
    serve(server, ["text"], classified)
    options = client.Client(model_name="m", batch_size=2, top_k=2)
    client.main(options, ["one", "two", "three"])
    assert capsys.readouterr().out.splitlines() == [
        "b: 0.625, c: 0.312\tone",
        "b: 0.625, c: 0.312\ttwo",
        "b: 0.625, c: 0.312\tthree",
    ]
    assert [len(body["instances"]) for body in server.bodies] == [2, 1]
    client.main(client.Client(model_name="m", top_k=0), ["one"])
    assert capsys.readouterr().out == "b: 0.625, c: 0.312, a: 0.062\tone\n"


def test_an_export_of_version_0_1_0_names_its_best_label(server, capsys):
    serve(server, ["text"], lambda row: {"label": row["text"], "probabilities": [0.25, 0.75]})
    client.main(client.Client(model_name="m"), ["one"])
    assert capsys.readouterr().out == "one: 0.750\tone\n"


def test_json_has_every_output_and_the_texts(server, capsys):
    serve(server, ["text_a", "text_b"], classified)
    client.main(client.Client(model_name="m", output_format="json"), ["é\tb"])
    line = capsys.readouterr().out
    assert json.loads(line) == {"text_a": "é", "text_b": "b"} | classified(None)
    assert "é" in line
    serve(server, ["x"], lambda row: [1, 2])
    client.main(client.Client(model_name="m", output_format="json"), ["a"])
    assert json.loads(capsys.readouterr().out) == {"x": "a", "output": [1, 2]}


@pytest.fixture
def standard_input(monkeypatch):
    """Gives bytes to the client as its standard input."""

    def give(data):
        stdin = types.SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: False)
        monkeypatch.setattr(client.sys, "stdin", stdin)

    return give


def test_scores_of_pairs_from_standard_input(server, capsys, standard_input):
    serve(server, ["text_b", "text_a"], lambda row: {"score": 1.5})
    standard_input(b"a\tb\nc\xff\td\n")
    client.main(client.Client(model_name="m"), [])
    assert capsys.readouterr().out == "1.500\ta\tb\n1.500\tc\ufffd\td\n"
    assert server.bodies[0]["instances"] == [
        {"text_a": "a", "text_b": "b"},
        {"text_a": {"b64": "Y/8="}, "text_b": "d"},
    ]


def test_blank_lines_are_passed_over_and_counted(server, capsys, standard_input):
    serve(server, ["text"], lambda row: {"score": 1.5})
    standard_input(b"a\n\n \t\r\nb\n")
    client.main(client.Client(model_name="m"), [])
    output, errors = capsys.readouterr()
    assert output == "1.500\ta\n1.500\tb\n"
    assert errors == "Blank lines of standard input passed over: 2.\n"
    client.main(client.Client(model_name="m"), ["", "c"])
    output, errors = capsys.readouterr()
    assert (output, errors) == ("1.500\tc\n", "Blank texts passed over: 1.\n")


def test_only_a_pair_of_two_blank_texts_is_passed_over(server, capsys):
    serve(server, ["text_a", "text_b"], lambda row: {"score": 1.5})
    client.main(client.Client(model_name="m"), ["a\t", " \t"])
    assert capsys.readouterr().out == "1.500\ta\t\n"
    with pytest.raises(InputError, match="Every text is blank"):
        client.main(client.Client(model_name="m", text_a="", text_b=" "), [])


def answered(row):
    answer = row["context"] if row["question"] else ""
    return {"answer": answer, "score": 0.75, "has_answer": bool(answer), "n_best_answers": [answer]}


def test_questions_come_before_their_contexts(server, capsys, standard_input):
    serve(server, ["context", "question"], answered)
    standard_input("who?\tpeace 👍\n\tmore\n".encode())
    client.main(client.Client(model_name="m"), [])
    assert capsys.readouterr().out.splitlines() == [
        "peace 👍: 0.750\twho?\tpeace 👍",
        "(no answer): 0.750\t\tmore",
    ]
    assert server.bodies[0]["instances"] == [
        {"question": "who?", "context": "peace 👍"},
        {"question": "", "context": "more"},
    ]


def test_a_question_in_flags(server, capsys):
    serve(server, ["context", "question"], answered)
    options = client.Client(model_name="m", question="q", context="c", output_format="json")
    client.main(options, [])
    shown = json.loads(capsys.readouterr().out)
    assert (shown["question"], shown["context"], shown["answer"]) == ("q", "c", "c")
    with pytest.raises(InputError, match="--question and --context, or separate .* flags and"):
        client.main(options, ["text"])
    with pytest.raises(InputError, match="--question and --context go together"):
        client.Client(model_name="m", context="c")
    with pytest.raises(InputError, match="--text_a and --question are for different models"):
        client.Client(model_name="m", question="q", context="c", text_a="a", text_b="b")


def picked(row):
    shares = [0.25 * bool(choice) + 0.125 * (choice == "down.") for choice in row["choices"]]
    return {"choice": row["choices"].index("down."), "probabilities": shares, "logits": shares}


def test_choices_in_flags(server, capsys):
    serve(server, ["choices", "context"], picked)
    texts = {"context": "He sat", "choice": ("up.", "down.")}
    client.main(client.Client(model_name="m", **texts), [])
    assert capsys.readouterr().out == "down.: 0.375, up.: 0.250\tHe sat\tup.\tdown.\n"
    client.main(client.Client(model_name="m", output_format="json", **texts), [])
    shown = json.loads(capsys.readouterr().out)
    assert (shown["context"], shown["choices"]) == ("He sat", ["up.", "down."])
    assert (shown["choice"], shown["probabilities"]) == (1, [0.25, 0.375])
    with pytest.raises(InputError, match="so do --context and --choice; give both"):
        client.Client(model_name="m", choice=("up.",))
    with pytest.raises(InputError, match="--question and --choice are for different models"):
        client.Client(model_name="m", question="q", **texts)


def test_rows_with_fewer_choices_are_filled_up(server, capsys, standard_input):
    serve(server, ["choices", "context"], picked)
    standard_input(b"He sat\tup.\tdown.\tby.\nShe sat\tdown.\n")
    client.main(client.Client(model_name="m", top_k=0), [])
    assert capsys.readouterr().out.splitlines() == [
        "down.: 0.375, up.: 0.250, by.: 0.250\tHe sat\tup.\tdown.\tby.",
        "down.: 0.375\tShe sat\tdown.",
    ]
    assert server.bodies[0]["instances"][1] == {"context": "She sat", "choices": ["down.", "", ""]}
    with pytest.raises(InputError, match="Row 1 holds 1 texts; m takes a context and its choices"):
        client.main(client.Client(model_name="m"), ["He sat"])


def test_the_flag_of_a_choice_is_given_once_for_each():
    values = flags.FlagValues()
    flagging.define(client.Client, values)
    values(["client", "--model_name=m", "--context=a", "--choice=b, c", "--choice=d"])
    assert flagging.read(client.Client, values).choice == ("b, c", "d")
    assert flagging.read(client.Client, values).row == [b"a", b"b, c", b"d"]


@pytest.mark.parametrize(
    ("url", "full"),
    [
        ("localhost:8501", "http://localhost:8501"),
        ("127.0.0.1:80/", "http://127.0.0.1:80"),
        ("[::1]:8501", "http://[::1]:8501"),
        ("http://models.example", "http://models.example"),
        ("https://models.example/prefix/", "https://models.example/prefix"),
    ],
)
def test_the_scheme_of_a_server_may_be_left_out(server, url, full):
    assert client.server_url(url) == full
    server.answers[f"{full}/v1/models/m:predict"] = (200, b'{"predictions": [1]}')
    assert client.predict(url, "m", ["a"]) == [1]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "no host"),
        ("localhost", "no port"),
        (":8501", "no host"),
        ("localhost:port", "port"),
        ("localhost:99999", "[Pp]ort out of range"),
        ("ftp://localhost:8501", "the scheme ftp:// is not http or https"),
        ("a model", "'a model' is not the name of a host"),
        ("http://localhost:8501/v1/models/m:predict", "more than the address of the server"),
    ],
)
def test_what_is_no_server_is_refused_before_anything_is_sent(server, url, problem):
    with pytest.raises(InputError, match=f"--url={url} is not .*{problem}.* localhost:8501"):
        client.Client(model_name="m", url=url)
    with pytest.raises(InputError, match="is not the address of a server"):
        client.predict(url, "m", ["a"])


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
