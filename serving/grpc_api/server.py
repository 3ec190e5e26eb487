"""The gRPC server: where it listens, with which credentials, and how it stops."""

import grpc

from bert_tf.errors import InputError
from serving.grpc_api import model_service, prediction_service, ssl_config
from serving.grpc_api.health import Health
from serving.methods.core import Core
from serving.options import Server as Options

_MAX_MESSAGE_BYTES = 2**31 - 1


class GrpcServer:
    """Both services on the running event loop, once it is started.

    Raises:
      InputError: --ssl_config_file is wrong.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._credentials = (
            ssl_config.credentials(options.ssl_config_file) if options.ssl_config_file else None
        )
        self._server: grpc.aio.Server | None = None
        self._health: Health | None = None

    @property
    def addresses(self) -> list[str]:
        """Where it listens, as gRPC names it; empty if the flags turn it off."""
        options = self._options
        host = f"[{options.host}]" if ":" in options.host else options.host
        found = [f"{host}:{options.port}"] if options.port else []
        return found + ([f"unix:{options.grpc_socket_path}"] if options.grpc_socket_path else [])

    async def start(self, core: Core) -> None:
        """Listens and answers, unless the flags turn it off.

        Raises:
          InputError: an address is taken or cannot be had.
        """
        if not self.addresses:
            return
        options = self._options
        server = grpc.aio.server(
            options=_arguments(options),
            maximum_concurrent_rpcs=options.grpc_max_threads,
        )
        server.add_generic_rpc_handlers(
            [
                prediction_service.handler(core, options),
                model_service.handler(core),
            ]
        )
        if options.enable_grpc_healthcheck_service:
            self._health = Health()
            await self._health.begin(server)
        for address in self.addresses:
            self._listen(server, address)
        await server.start()
        self._server = server

    def _listen(self, server: grpc.aio.Server, address: str) -> None:
        try:
            if self._credentials:
                server.add_secure_port(address, self._credentials)
            else:
                server.add_insecure_port(address)
        except RuntimeError as error:
            flag = "grpc_socket_path" if address.startswith("unix:") else "port"
            reason, _, _ = str(error).partition(";")  # then it speaks of debugging gRPC
            raise InputError(
                f"--{flag}={getattr(self._options, flag)} cannot be used: {reason}. Another server "
                f"may run there; stop it, or give another --{flag}."
            ) from None

    async def stop(self, grace_seconds: float) -> None:
        """Refuses new requests, and cancels those that are not answered in time."""
        if self._health:
            await self._health.end()
        if self._server:
            await self._server.stop(grace_seconds)


def _arguments(options: Options) -> list[tuple[str, int | str]]:
    """Arguments of the server; those of --grpc_channel_arguments replace ours."""
    arguments: dict[str, int | str] = {
        "grpc.max_receive_message_length": _MAX_MESSAGE_BYTES,
        "grpc.max_send_message_length": _MAX_MESSAGE_BYTES,
        # Otherwise two servers may share a port, and clients meet one of them by chance.
        "grpc.so_reuseport": 0,
    }
    return list((arguments | options.channel_arguments()).items())
