"""A client for an address of either API."""

from serving.client import address
from serving.client.blocking import Client
from serving.client.settings import DEFAULTS, Settings


def connect(url: str, model_name: str, settings: Settings = DEFAULTS) -> Client:
    """A client that blocks; nothing is sent yet.

    Args:
      url: HOST:PORT, http:// or https:// for the REST API; grpc://, grpcs:// or unix: for gRPC.

    Raises:
      InputError: it is not the address of a server.
    """
    if address.is_grpc(url):
        from serving.client.grpc_clients import GrpcClient

        return GrpcClient(url, model_name, settings)
    from serving.client.rest import RestClient

    return RestClient(url, model_name, settings)
