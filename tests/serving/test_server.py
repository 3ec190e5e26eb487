"""The server as a user starts it, on a real socket."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

from serving.client import command as client

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
def listener():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield listener


def test_serves_and_stops_on_sigterm(base_path, listener):
    port = listener.getsockname()[1]
    listener.close()
    begin = time.monotonic()
    process = start(
        "--model_name=tiny", f"--model_base_path={base_path}", f"--rest_api_port={port}"
    )
    try:
        assert next(process.stdout) == f"Loading tiny, version 7, from {base_path}/7 ...\n"
        assert time.monotonic() - begin < 5  # before TensorFlow, with room for a busy machine
        assert any(line.startswith("Ready: ") for line in process.stdout)
        (asking,) = re.findall("^Ask it: (.*)$", next(process.stdout))
        flags = f"-m serving.client --url=localhost:{port} --model_name=tiny "
        assert asking.endswith(f'{flags}"a text"')
        predictions = client.predict(f"http://127.0.0.1:{port}", "tiny", ["ab", "cde"])
        assert [row["upper"] for row in predictions] == ["AB", "CDE"]
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=30)
        assert output == "Stopped.\n"
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def test_a_taken_port_is_reported_before_work(base_path, listener):
    listener.listen()
    process = start(
        f"--model_base_path={base_path}", f"--rest_api_port={listener.getsockname()[1]}"
    )
    output, errors = process.communicate(timeout=60)
    assert (process.returncode, output) == (2, "")
    assert "cannot be used: Address already in use" in errors
