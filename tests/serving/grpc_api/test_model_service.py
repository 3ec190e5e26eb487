"""ModelService over gRPC, asked with the stubs of tensorflow-serving-api."""

import grpc
import pytest
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
)

INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture(scope="module")
def stub(channel):
    return model_service_pb2_grpc.ModelServiceStub(channel)


def failure(call, request):
    with pytest.raises(grpc.RpcError) as raised:
        call(request, timeout=60)
    return raised.value.code(), raised.value.details()


def test_status_lists_versions_newest_first(stub):
    request = get_model_status_pb2.GetModelStatusRequest()
    assert failure(stub.GetModelStatus, request) == (INVALID, "Missing ModelSpec")
    request.model_spec.name = "tiny"
    answer = stub.GetModelStatus(request, timeout=60)
    states = get_model_status_pb2.ModelVersionStatus
    assert [
        (each.version, each.state, each.status.error_code, each.status.error_message)
        for each in answer.model_version_status
    ] == [(7, states.AVAILABLE, 0, ""), (6, states.END, 3, "broken")]
    request.model_spec.version.value = 7
    assert len(stub.GetModelStatus(request, timeout=60).model_version_status) == 1
    request.model_spec.name = "other"
    assert failure(stub.GetModelStatus, request)[0] == grpc.StatusCode.NOT_FOUND


def test_reload_configures_and_gives_increases_of_counters(stub, core):
    request = model_management_pb2.ReloadConfigRequest()
    code, details = failure(stub.HandleReloadConfigRequest, request)
    assert code == INVALID
    assert details == (
        "ServerModelConfig type not supported by HandleReloadConfigRequest. Only ModelConfigList "
        "is currently supported"
    )
    request.config.model_config_list.config.add(name="new", base_path="/m/new")
    request.metric_names.append("/tensorflow/serving/request_count")
    answer = stub.HandleReloadConfigRequest(request, timeout=60)
    assert answer.status.error_code == 0
    assert [(each.name, each.int64_value_increase) for each in answer.metric] == [
        ("/tensorflow/serving/request_count", 0)
    ]
    (config,) = core.models.configured[-1]
    assert (config.name, config.base_path) == ("new", "/m/new")
