"""A server that keeps the contract."""

from tests.reference.model_endpoint_grpc import endpoint, running

__all__ = ["endpoint", "running"]
