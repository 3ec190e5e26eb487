"""ModelService: GetModelStatus and HandleReloadConfigRequest."""

import grpc
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2,
)

from serving.grpc_api import handling, messages
from serving.grpc_api.handling import Call
from serving.methods import reload, status
from serving.methods.core import Core
from serving.status import invalid


def handler(core: Core) -> grpc.GenericRpcHandler:
    """The service."""
    service = _ModelService(core)
    return handling.handler(
        model_service_pb2.DESCRIPTOR.services_by_name["ModelService"],
        {
            "GetModelStatus": service.get_model_status,
            "HandleReloadConfigRequest": service.handle_reload_config_request,
        },
    )


class _ModelService:
    def __init__(self, core: Core) -> None:
        self._core = core

    async def get_model_status(
        self, request: get_model_status_pb2.GetModelStatusRequest, call: Call
    ) -> get_model_status_pb2.GetModelStatusResponse:
        response = get_model_status_pb2.GetModelStatusResponse()
        states = get_model_status_pb2.ModelVersionStatus.State
        for each in status.model_status(self._core, messages.model_spec(request)):
            entry = response.model_version_status.add(
                version=each.version, state=states.Value(each.state)
            )
            entry.status.error_code = int(each.code)
            entry.status.error_message = each.message
        return response

    async def handle_reload_config_request(
        self, request: model_management_pb2.ReloadConfigRequest, call: Call
    ) -> model_management_pb2.ReloadConfigResponse:
        if request.config.WhichOneof("config") != "model_config_list":
            raise invalid(
                "ServerModelConfig type not supported by HandleReloadConfigRequest. Only "
                "ModelConfigList is currently supported"
            )
        metrics = self._core.metrics
        before = reload.counters(metrics, request.metric_names)
        await reload.reload(self._core, request.config.model_config_list.config)
        response = model_management_pb2.ReloadConfigResponse()
        response.status.SetInParent()
        for name, value in reload.counters(metrics, request.metric_names).items():
            response.metric.add(name=name, int64_value_increase=value - before[name])
        return response
