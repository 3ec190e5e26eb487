"""Clients of any server that speaks TensorFlow Serving's contract (docs/clients.md)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from serving.client.connecting import connect
    from serving.client.grpc_clients import AsyncGrpcClient, GrpcClient
    from serving.client.rest import AsyncRestClient, RestClient
    from serving.client.results import Answer, Metadata, SignatureInfo, TensorInfo
    from serving.client.settings import Retry, Settings, Tls
    from serving.models.spec import VersionStatus
    from serving.status import Code, ServingError

# The module of each name: each is loaded when it is first used, because gRPC and both HTTP
# libraries take half a second together, and most programs use one of them.
_MODULES = {
    "Answer": "serving.client.results",
    "AsyncGrpcClient": "serving.client.grpc_clients",
    "AsyncRestClient": "serving.client.rest",
    "Code": "serving.status",
    "GrpcClient": "serving.client.grpc_clients",
    "Metadata": "serving.client.results",
    "RestClient": "serving.client.rest",
    "Retry": "serving.client.settings",
    "ServingError": "serving.status",
    "Settings": "serving.client.settings",
    "SignatureInfo": "serving.client.results",
    "TensorInfo": "serving.client.results",
    "Tls": "serving.client.settings",
    "VersionStatus": "serving.models.spec",
    "connect": "serving.client.connecting",
}

__all__ = [
    "Answer",
    "AsyncGrpcClient",
    "AsyncRestClient",
    "Code",
    "GrpcClient",
    "Metadata",
    "RestClient",
    "Retry",
    "ServingError",
    "Settings",
    "SignatureInfo",
    "TensorInfo",
    "Tls",
    "VersionStatus",
    "connect",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = value
    return value
