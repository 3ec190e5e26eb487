"""The load test of a server that keeps the contract."""

import json
import pathlib

import pytest

from bert_tf.errors import InputError
from serving.loadtest import command
from serving.loadtest.options import LoadTest
from serving.status import Code

ROOT = pathlib.Path(__file__).parent
SHORT = {"model_name": "m", "warmup_seconds": 0.0, "duration_seconds": 0.3}


@pytest.mark.parametrize("api", ["rest_url", "grpc_url"])
def test_a_server_is_measured_and_the_figures_written(endpoint, capsys, tmp_path, api):
    output = tmp_path / "figures.json"
    flags = {"url": getattr(endpoint, api), "output": str(output), "batch_size": 3}
    command.main(LoadTest(**SHORT, **flags, concurrency=2))
    found = json.loads(output.read_text())["results"]
    printed = capsys.readouterr().out
    assert printed.startswith(f"m, version 7, at {flags['url']} ")
    assert f"requests  {found['requests']:,}, " in printed
    assert 0 < found["requests"] <= len(endpoint.requests)
    assert found["rows"] == 3 * found["requests"] and found["errors"] == {}
    assert endpoint.most == 2


def test_rows_of_a_file_are_sent_in_batches(endpoint, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_bytes(b"a\n\nb\r\nc\n")
    flags = {"input_file": str(path), "batch_size": 2, "rate": 50.0}
    command.main(LoadTest(**SHORT, **flags, url=endpoint.rest_url))
    bodies = [given["body"] for name, given in endpoint.requests if name == "predict"]
    texts = {tuple(body["inputs"]["text"]) for body in bodies}
    assert texts == {("a", "b"), ("c", "a")}


def test_several_processes_share_the_load(endpoint, capsys):
    flags = {"processes": 2, "rate": 60.0, "url": endpoint.rest_url}
    command.main(LoadTest(**SHORT, **flags))
    assert "% of a core" in capsys.readouterr().out
    assert 1 < len([name for name, _ in endpoint.requests if name == "predict"]) < 60


def test_a_model_that_is_not_ready_is_refused_with_the_reason(endpoint):
    endpoint.state = "LOADING"
    with pytest.raises(InputError, match="m at .* is not ready: version 7 is LOADING"):
        command.main(LoadTest(**SHORT, url=endpoint.rest_url))
    with pytest.raises(InputError, match="No server answers at http://127.0.0.1:9"):
        command.main(LoadTest(**SHORT, url="127.0.0.1:9"))


def test_requests_that_the_model_refuses_are_not_sent_by_the_thousand(endpoint):
    endpoint.failures = [Code.OK, Code.INVALID_ARGUMENT]
    with pytest.raises(InputError, match="INVALID_ARGUMENT, status 400: .* on purpose"):
        command.main(LoadTest(**SHORT, url=endpoint.rest_url))
    assert [name for name, _ in endpoint.requests] == ["metadata", "predict"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rate": 0.0}, "--rate=0 must be more than 0"),
        ({"concurrency": 0}, "--concurrency=0 must be at least 1"),
        ({"warmup_seconds": -1.0}, "--warmup_seconds=-1 must be at least 0"),
        ({"processes": 9}, "--processes=9 cannot share 8 requests"),
    ],
)
def test_wrong_flags_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        LoadTest(model_name="m", **wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"output": str(ROOT)}, "--output=.* is a directory; the name of a file was wanted"),
        ({"input_file": "none"}, "--input_file=none does not exist"),
    ],
)
def test_files_are_looked_at_before_anything_is_sent(wrong, message):
    with pytest.raises(InputError, match=message):
        command.main(LoadTest(**SHORT, **wrong))
