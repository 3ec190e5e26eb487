import io
import json
import types

import pytest
from absl import flags

from bert_tf import flagging
from bert_tf.errors import InputError
from serving.client import command as client
from serving.client import rest, rest_requests, rows
from serving.status import Code, ServingError


@pytest.fixture
def server(monkeypatch):
    """Answers of a server, by the end of the address; and the requests it was sent."""
    state = types.SimpleNamespace(answers={}, bodies=[])

    def send(self, exchange, timeout_seconds):
        status, answer = next(v for k, v in state.answers.items() if exchange.target.endswith(k))
        if exchange.verb == "POST":
            state.bodies.append(json.loads(exchange.body))
            answer = answer(state.bodies[-1]) if callable(answer) else answer
        return rest_requests.checked(status, answer, exchange.target)

    monkeypatch.setattr(rest._Requests, "send", send)
    return state


def rows_of(body):
    """The rows of a request's columns."""
    columns = body["inputs"]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def serve(server, inputs, predict_row):
    signature = {"serving_default": {"inputs": dict.fromkeys(inputs, {})}}
    metadata = {"metadata": {"signature_def": {"signature_def": signature}}}
    server.answers["/v1/models/m/metadata"] = (200, json.dumps(metadata).encode())

    def predict(body):
        answers = [predict_row(row) for row in rows_of(body)]
        if isinstance(answers[0], dict):
            answers = {name: [each[name] for each in answers] for name in answers[0]}
        return json.dumps({"outputs": answers}).encode()

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
    assert [len(rows_of(body)) for body in server.bodies] == [2, 1]
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
        monkeypatch.setattr(rows.sys, "stdin", stdin)

    return give


def test_scores_of_pairs_from_standard_input(server, capsys, standard_input):
    serve(server, ["text_b", "text_a"], lambda row: {"score": 1.5})
    standard_input(b"a\tb\nc\xff\td\n")
    client.main(client.Client(model_name="m"), [])
    assert capsys.readouterr().out == "1.500\ta\tb\n1.500\tc\ufffd\td\n"
    assert rows_of(server.bodies[0]) == [
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
    assert rows_of(server.bodies[0]) == [
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
    assert rows_of(server.bodies[0])[1] == {"context": "She sat", "choices": ["down.", "", ""]}
    with pytest.raises(InputError, match="Row 1 holds 1 texts; m takes a context and its choices"):
        client.main(client.Client(model_name="m"), ["He sat"])


def test_the_flag_of_a_choice_is_given_once_for_each():
    values = flags.FlagValues()
    flagging.define(client.Client, values)
    values(["client", "--model_name=m", "--context=a", "--choice=b, c", "--choice=d"])
    assert flagging.read(client.Client, values).choice == ("b, c", "d")
    assert flagging.read(client.Client, values).row == [b"a", b"b, c", b"d"]


def test_one_text_for_a_pair_is_refused(server):
    serve(server, ["text_a", "text_b"], lambda row: {})
    with pytest.raises(InputError, match="Row 1 holds 1 texts; m takes 2"):
        client.main(client.Client(model_name="m"), ["a"])


def test_the_servers_words_are_passed_on(server):
    serve(server, ["text"], classified)
    server.answers["/v1/models/m:predict"] = (404, b'{"error": "Servable not found"}')
    with pytest.raises(InputError, match="localhost:8501 .* status 404: Servable not found"):
        client.main(client.Client(model_name="m"), ["a"])
    server.answers["/v1/models/m:predict"] = (404, b"<html>")
    with pytest.raises(InputError, match="and not JSON; is this the REST port"):
        client.main(client.Client(model_name="m"), ["a"])


def test_no_server_says_what_to_start(monkeypatch):
    def refuse(*_):
        raise ServingError(Code.UNAVAILABLE, "No server answers at http://localhost:8501: refused")

    monkeypatch.setattr(rest._Requests, "send", refuse)
    words = (
        "No server answers at http://localhost:8501: refused. .*python -m serving --model_name=m"
    )
    with pytest.raises(InputError, match=words):
        client.main(client.Client(model_name="m", max_attempts=1), ["a"])


@pytest.mark.parametrize("url", ["rest_url", "grpc_url"])
def test_a_signature_of_a_version_over_both_apis(endpoint, capsys, url):
    flags = {"url": getattr(endpoint, url), "signature": "upper", "version": 7, "batch_size": 1}
    client.main(client.Client(model_name="m", concurrency=2, **flags), ["a", "b", "c"])
    assert capsys.readouterr().out == '"A"\ta\n"B"\tb\n"C"\tc\n'
    client.main(client.Client(model_name="m", url=flags["url"], label="stable"), ["abc"])
    assert capsys.readouterr().out == "b: 0.750, a: 0.250\tabc\n"
    given = endpoint.requests[-1][1]
    assert "labels/stable" in given.get("path", "") or given["spec"].version_label == "stable"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"version": 1, "label": "a"}, "--version=1 and --label=a both name a version"),
        ({"client_key": "a"}, "--client_certificate and --client_key go together"),
        ({"concurrency": 0}, "--concurrency=0 must be at least 1"),
        ({"top_k": -1}, "--top_k=-1 must be at least 1, or 0"),
        ({"timeout_seconds": 0.0}, "--timeout_seconds=0 must be more than 0"),
        ({"url": "a model"}, "--url=a model is not the address of a server"),
        ({"url": "grpc://localhost"}, "--url=grpc://localhost is not .*: no port"),
    ],
)
def test_wrong_flags_are_refused_before_anything_is_sent(wrong, message):
    with pytest.raises(InputError, match=message):
        client.Client(model_name="m", **wrong)


def test_missing_certificates_are_refused_before_anything_is_sent():
    options = client.Client(model_name="m", root_certificates="none.pem")
    with pytest.raises(InputError, match="--root_certificates=none.pem does not exist"):
        client.main(options, ["a"])
