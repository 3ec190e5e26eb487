"""The health service, as probes and load balancers ask it."""

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from serving.grpc_api.server import GrpcServer
from serving.options import Server

Response = health_pb2.HealthCheckResponse


def test_health_is_served_under_three_names(channel):
    stub = health_pb2_grpc.HealthStub(channel)
    for name in ("", "ModelService", "PredictionService"):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=30)
        assert answer.status == Response.SERVING
    with pytest.raises(grpc.RpcError) as raised:
        stub.Check(health_pb2.HealthCheckRequest(service="other"), timeout=30)
    assert raised.value.code() == grpc.StatusCode.NOT_FOUND


def test_a_watch_hears_of_the_end_and_does_not_delay_it(core, loop, tmp_path):
    options = Server(
        model_base_path="unused",
        port=0,
        grpc_socket_path=str(tmp_path / "s"),
        enable_grpc_healthcheck_service=True,
    )
    server = GrpcServer(options)
    loop.run(server.start(core))
    with grpc.insecure_channel(f"unix:{tmp_path / 's'}") as channel:
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(watch).status == Response.SERVING
        loop.run(server.stop(600), timeout=60)
        assert next(watch).status == Response.NOT_SERVING
        with pytest.raises(grpc.RpcError):
            next(watch)
