"""Handlers of gRPC methods: bytes to messages and back, errors to statuses.

They are built from the services' descriptors instead of the generated servicers, because those read
and write every message on the event loop.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import grpc
from google.protobuf import message_factory
from google.protobuf.message import DecodeError, Message

from serving.status import Code, ServingError

Method = Callable[[Any, "Call"], Awaitable[Message]]

LARGE = 2**18  # bytes; more are read and written in a thread
_MAX_ERROR_BYTES = 1024  # TensorFlow Serving's; gRPC's limit of headers is some times as much
_STATUSES = {status.value[0]: status for status in grpc.StatusCode}


class Call:
    """One request, apart from its message.

    Attributes:
      is_large: whether its message is so large that reading it takes long.
    """

    def __init__(self, context: grpc.aio.ServicerContext, is_large: bool) -> None:
        self._context = context
        self.is_large = is_large

    def timeout_seconds(self) -> float | None:
        """Time until the client's deadline; None: it has none."""
        left = self._context.time_remaining()
        return None if left is None else max(left, 0.001)


def handler(service: Any, methods: Mapping[str, Method]) -> grpc.GenericRpcHandler:
    """Serves methods of a service.

    Args:
      service: its descriptor.
      methods: by name in the service; those left out are UNIMPLEMENTED.
    """
    handlers = {}
    for name, method in methods.items():
        request_class = message_factory.GetMessageClass(service.methods_by_name[name].input_type)
        handlers[name] = grpc.unary_unary_rpc_method_handler(_unary(name, request_class, method))
    return grpc.method_handlers_generic_handler(service.full_name, handlers)


def _unary(
    name: str, request_class: type[Message], method: Method
) -> Callable[[bytes, grpc.aio.ServicerContext], Awaitable[bytes]]:
    async def answer(body: bytes, context: grpc.aio.ServicerContext) -> bytes:
        try:
            request = await in_thread_if(len(body) > LARGE, _parsed, request_class, body)
            response = await method(request, Call(context, len(body) > LARGE))
            return await in_thread_if(
                response.ByteSize() > LARGE, type(response).SerializeToString, response
            )
        except ServingError as error:
            code, message = error.code, error.message
        except Exception:
            logging.exception("%s failed", name)
            code, message = Code.INTERNAL, "Internal error; the server's log has the details."
        await context.abort(_STATUSES[code.value], _cut(message))
        raise AssertionError("abort() raises.")

    return answer


async def in_thread_if(is_large: bool, function: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a function, in a thread if it may take long."""
    if not is_large:
        return function(*arguments)
    return await asyncio.get_running_loop().run_in_executor(None, function, *arguments)


def _parsed(request_class: type[Message], body: bytes) -> Message:
    try:
        return request_class.FromString(body)
    except DecodeError:
        # TensorFlow Serving has this code, too: gRPC's C++ library answers before it is asked.
        raise ServingError(
            Code.INTERNAL, f"The request is not a {request_class.DESCRIPTOR.full_name} message."
        ) from None


def _cut(message: str) -> str:
    encoded = message.encode("utf-8", "replace")
    if len(encoded) <= _MAX_ERROR_BYTES:
        return encoded.decode()
    return encoded[:_MAX_ERROR_BYTES].decode("utf-8", "ignore") + "...TRUNCATED"
