"""Addresses, TLS, health and the end of the gRPC server."""

import asyncio
import socket

import grpc
import pytest
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from bert_tf.errors import InputError
from serving.grpc_api.server import GrpcServer
from serving.options import Server
from tests.serving.grpc_api import certificates


def options(**flags):
    return Server(model_base_path="unused", **{"port": 0, **flags})


def status(channel):
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = "tiny"
    answer = model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(request, timeout=30)
    return answer.model_version_status[0].version


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_clients_with_certificates_are_answered_and_others_are_not(core, loop, tmp_path):
    file = tmp_path / "ssl.config"
    file.write_text(
        certificates.config_text(
            server_key=certificates.SERVER_KEY,
            server_cert=certificates.SERVER_CERTIFICATE,
            custom_ca=certificates.AUTHORITY,
            client_verify=True,
        )
    )
    port = free_port()
    server = GrpcServer(options(port=port, ssl_config_file=str(file)))
    loop.run(server.start(core))
    try:
        root = certificates.AUTHORITY.encode()
        pair = certificates.CLIENT_KEY.encode(), certificates.CLIENT_CERTIFICATE.encode()
        known = grpc.ssl_channel_credentials(root, *pair)
        with grpc.secure_channel(f"localhost:{port}", known) as channel:
            assert status(channel) == 7
        unknown = grpc.ssl_channel_credentials(root)
        with grpc.secure_channel(f"localhost:{port}", unknown) as channel:
            with pytest.raises(grpc.RpcError) as raised:
                status(channel)
        assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
    finally:
        loop.run(server.stop(0))


def test_a_taken_port_is_an_input_error(core, loop):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        server = GrpcServer(options(port=port))
        with pytest.raises(InputError, match=f"--port={port} cannot be used"):
            loop.run(server.start(core))


def test_without_an_address_nothing_is_started(core, loop):
    server = GrpcServer(options())
    assert server.addresses == []
    loop.run(server.start(core))
    loop.run(server.stop(0))


def test_addresses_are_named_as_grpc_wants_them():
    found = GrpcServer(options(host="::1", port=8500, grpc_socket_path="/s")).addresses
    assert found == ["[::1]:8500", "unix:/s"]


def test_requests_in_progress_are_answered_before_the_end(core, loop, tmp_path, monkeypatch):
    run, begun, may_end = core.runner.run, asyncio.Event(), asyncio.Event()

    async def waiting(*arguments):
        begun.set()
        await may_end.wait()
        return await run(*arguments)

    monkeypatch.setattr(core.runner, "run", waiting)
    server = GrpcServer(options(grpc_socket_path=str(tmp_path / "s")))
    loop.run(server.start(core))
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "tiny"
    request.inputs["text"].dtype = 7
    request.inputs["text"].string_val.append(b"abc")
    request.inputs["text"].tensor_shape.dim.add(size=1)
    with grpc.insecure_channel(f"unix:{tmp_path / 's'}") as channel:
        call = prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict.future(
            request, timeout=30
        )
        loop.run(begun.wait())
        stopping = asyncio.run_coroutine_threadsafe(server.stop(30), loop.loop)
        loop.loop.call_soon_threadsafe(may_end.set)
        assert list(call.result().outputs["length"].int_val) == [3]
        stopping.result(30)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"port": 65536}, "--port=65536 is not a port"),
        ({"grpc_max_threads": 0}, "--grpc_max_threads=0 must be at least 1"),
        ({"grpc_channel_arguments": "a=1,b"}, "'b' is not NAME=VALUE"),
    ],
)
def test_wrong_flags_are_refused(flags, message):
    with pytest.raises(InputError, match=message):
        options(**flags)


def test_channel_arguments_are_numbers_where_they_can_be():
    given = options(grpc_channel_arguments="grpc.max_connection_age_ms=2000,a=x,b=99999999999,")
    assert given.channel_arguments() == {
        "grpc.max_connection_age_ms": 2000,
        "a": "x",
        "b": "99999999999",
    }
