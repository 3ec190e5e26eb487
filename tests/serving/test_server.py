"""The server as a user starts it, on a real socket."""

import dataclasses
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys

import grpc
import pytest
import requests
from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc

from bert_tf.errors import InputError
from serving import options, server

ROOT = pathlib.Path(__file__).parents[2]


def start(*flags):
    return subprocess.Popen(
        [sys.executable, "-m", "serving", *flags],
        cwd=ROOT,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def bound():
    """A bound socket; its port is free once it is closed."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield listener


@pytest.fixture
def ports(bound):
    """Two ports that are free."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        found = [each.getsockname()[1] for each in (bound, other)]
    bound.close()
    return found


def test_serves_both_apis_and_stops_on_sigterm(base_path, ports):
    rest, grpc_port = ports
    process = start(
        "--model_name=tiny",
        f"--model_base_path={base_path}",
        f"--rest_api_port={rest}",
        f"--port={grpc_port}",
        "--max_num_load_retries=0",
    )
    try:
        assert next(process.stdout) == f"Loading tiny, version 7, from {base_path}/7 ...\n"
        ready = next(line for line in process.stdout if line.startswith("Ready: "))
        assert f"http://localhost:{rest}/v1/models/tiny:predict" in ready
        assert f"gRPC on localhost:{grpc_port}" in ready
        assert next(process.stdout) == f"Try it: http://localhost:{rest}/\n"
        (asking,) = re.findall("^Ask it: (.*)$", next(process.stdout))
        flags = f"-m serving.client --url=localhost:{rest} --model_name=tiny "
        assert asking.endswith(f'{flags}"a text"')
        url = f"http://127.0.0.1:{rest}/v1/models/tiny:predict"
        rows = requests.post(url, json={"instances": ["ab", "cde"]}).json()["predictions"]
        assert [row["upper"] for row in rows] == ["AB", "CDE"]
        assert grpc_versions(grpc_port) == [7]
        process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=30)
        assert output.endswith("\nStopped.\n") and errors == ""
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def grpc_versions(port):
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        request = get_model_status_pb2.GetModelStatusRequest()
        request.model_spec.name = "tiny"
        answer = stub.GetModelStatus(request, timeout=20)
    return [each.version for each in answer.model_version_status]


@pytest.mark.parametrize("flag", ["rest_api_port", "port"])
def test_a_taken_port_is_reported_before_work(base_path, bound, flag, capsys):
    bound.listen()
    free = {"rest_api_port": 0, "port": 0}
    flags = options.Server(
        model_base_path=str(base_path), **(free | {flag: bound.getsockname()[1]})
    )
    with pytest.raises(InputError, match=f"--{flag}=.* cannot be used: Address already in use"):
        server.run(flags)
    assert capsys.readouterr().out == ""


def test_what_is_wrong_in_files_is_reported_before_work(tmp_path):
    (tmp_path / "m").mkdir()
    text = 'model_config_list { config { name: "m" base_path: "%s" model_platform: "tensorflow" } }'
    (tmp_path / "models.config").write_text(text % (tmp_path / "m"))
    flags = options.Server(model_config_file=str(tmp_path / "models.config"), port=0)
    with pytest.raises(InputError, match="of model m has no version"):
        server.run(flags)
    (tmp_path / "m" / "1").mkdir()
    for name in ("monitoring_config_file", "ssl_config_file"):
        wrong = dataclasses.replace(flags, **{name: str(tmp_path / "nowhere")})
        with pytest.raises(InputError, match=f"--{name}=.*nowhere"):
            server.run(wrong)
    wrong = dataclasses.replace(
        flags, enable_batching=True, batching_parameters_file=str(tmp_path / "nowhere")
    )
    with pytest.raises(InputError, match="--batching_parameters_file=.*nowhere"):
        server.run(wrong)
