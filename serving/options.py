"""Flags of `python -m serving`, named as those of tensorflow_model_server where it has one."""

import dataclasses
import re

from bert_tf.errors import InputError
from bert_tf.flagging import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """Which models are loaded, and how."""

    model_base_path: str | None = option(
        None, "Directory whose numeric sub-directories are versions of the model.", is_path=True
    )
    model_name: str = option("default", "Name of the model in URLs.")
    model_config_file: str | None = option(
        None,
        "ModelServerConfig in text format: several models, version policies, labels. "
        "--model_name and --model_base_path are then ignored.",
        is_path=True,
    )
    model_config_file_poll_wait_seconds: int = option(
        0, "Seconds between two looks at --model_config_file; 0: it is read once."
    )
    file_system_poll_wait_seconds: int = option(
        1, "Seconds between two looks for new and removed versions; 0: one look at the start."
    )
    allow_version_labels_for_unavailable_models: bool = option(
        False, "A new label may point at a version that is not loaded yet."
    )
    num_load_threads: int = option(0, "Versions loaded at once after the start; 0: one.")
    num_unload_threads: int = option(0, "Versions unloaded at once; 0: one.")
    max_num_load_retries: int = option(5, "How often a load that failed is tried again.")
    load_retry_interval_micros: int = option(
        60_000_000, "Microseconds between two tries; negative: none."
    )
    saved_model_tags: str = option(
        "serve", "Tags of the graph to load from a SavedModel, separated by commas."
    )
    tensorflow_session_parallelism: int = option(
        0, "Threads within an operation, and operations at once; 0: automatic."
    )
    tensorflow_intra_op_parallelism: int = option(0, "Threads within an operation; 0: automatic.")
    tensorflow_inter_op_parallelism: int = option(0, "Operations at once; 0: automatic.")
    enable_model_warmup: bool = option(
        True, "Run the requests in assets.extra/tf_serving_warmup_requests before answering."
    )
    num_request_iterations_for_warmup: int = option(
        0, "How often each warm-up request is run; 0: once."
    )

    def __post_init__(self) -> None:
        if not self.model_config_file:
            self._check_single_model()
        for name in _NOT_NEGATIVE:
            if getattr(self, name) < 0:
                raise InputError(f"--{name}={getattr(self, name)} must not be negative.")
        if not all(self.saved_model_tags.split(",")):
            raise InputError(
                f"--saved_model_tags={self.saved_model_tags!r} has an empty tag; wanted: tags "
                "separated by commas, such as serve."
            )
        separate = self.tensorflow_intra_op_parallelism and self.tensorflow_inter_op_parallelism
        if separate and self.tensorflow_session_parallelism:
            raise InputError(
                "--tensorflow_session_parallelism sets both --tensorflow_intra_op_parallelism and "
                "--tensorflow_inter_op_parallelism; give it alone, or the two others."
            )

    def _check_single_model(self) -> None:
        if not self.model_base_path:
            raise InputError(
                "--model_base_path is missing; give the directory that holds the model's versions, "
                "or --model_config_file for several models."
            )
        if not self.model_name or set(self.model_name) & set("/:"):
            raise InputError(
                f"--model_name={self.model_name!r} must not be empty or hold '/' or ':'; it is a "
                "part of the URL."
            )

    @property
    def session_threads(self) -> tuple[int, int]:
        """Threads within an operation, and operations at once; 0: automatic."""
        separate = (self.tensorflow_intra_op_parallelism, self.tensorflow_inter_op_parallelism)
        return separate if any(separate) else (self.tensorflow_session_parallelism,) * 2


_NOT_NEGATIVE = (
    "model_config_file_poll_wait_seconds",
    "file_system_poll_wait_seconds",
    "num_load_threads",
    "num_unload_threads",
    "max_num_load_retries",
    "tensorflow_session_parallelism",
    "tensorflow_intra_op_parallelism",
    "tensorflow_inter_op_parallelism",
    "num_request_iterations_for_warmup",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RestFlags:
    """The REST API."""

    host: str = option(
        "127.0.0.1", "(new) Address to listen on; 0.0.0.0 answers other machines too."
    )
    rest_api_port: int = option(8501, "Port of the REST API; 0: none.")
    rest_api_num_threads: int | None = option(
        None, "Maximum requests in progress at once; default: four per CPU core."
    )
    rest_api_timeout_in_ms: int = option(
        30_000, "Maximum time the model may take for a request; 0: no limit."
    )
    rest_api_enable_cors_support: bool = option(
        False, "Pages of other sites may call the REST API from a browser."
    )
    rest_api_max_request_bytes: int = option(
        128 * 2**20, "(new) Largest body of a request; a larger one is answered with 413."
    )
    rest_api_max_text_bytes: int = option(
        8 * 2**20, "(new) Largest string in a request; a larger one is answered with 400."
    )
    rest_api_header_timeout_in_ms: int = option(
        10_000, "(new) Maximum time a client may take to send the headers of a request."
    )
    rest_api_client_timeout_in_ms: int = option(
        50_000,
        "(new) Maximum pause of a client within a body, before it reads its answer, or between two "
        "requests on a connection.",
    )

    def __post_init__(self) -> None:
        if not 0 <= self.rest_api_port < 2**16:
            raise InputError(
                f"--rest_api_port={self.rest_api_port} is not a port; give one from 1 to 65535, or "
                "0 for none."
            )
        if self.rest_api_timeout_in_ms < 0:
            raise InputError(
                f"--rest_api_timeout_in_ms={self.rest_api_timeout_in_ms} must not be negative; 0 "
                "is no limit."
            )
        for name in _AT_LEAST_1:
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"--{name}={getattr(self, name)} must be at least 1.")


_AT_LEAST_1 = (
    "rest_api_num_threads",
    "rest_api_max_request_bytes",
    "rest_api_max_text_bytes",
    "rest_api_header_timeout_in_ms",
    "rest_api_client_timeout_in_ms",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchingFlags:
    """Requests of several clients computed together."""

    enable_batching: bool = option(False, "Merge requests of several clients into batches.")
    batching_parameters_file: str | None = option(
        None,
        "BatchingParameters in protobuf's text format; default: each at its own default.",
        is_path=True,
    )
    enable_per_model_batching_parameters: bool = option(
        False,
        "Read batching_params.pbtxt of each version instead; of --batching_parameters_file, "
        "num_batch_threads alone counts then.",
    )

    def __post_init__(self) -> None:
        if self.batching_parameters_file and not self.enable_batching:
            raise InputError(
                f"--batching_parameters_file={self.batching_parameters_file} is set without "
                "--enable_batching; add that flag, or leave the file out."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MonitoringFlags:
    """What an operator watches."""

    monitoring_config_file: str | None = option(
        None,
        "MonitoringConfig in protobuf's text format, which turns on the page for Prometheus.",
        is_path=True,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class GrpcFlags:
    """The gRPC API."""

    port: int = option(8500, "Port of the gRPC API; 0: none.")
    grpc_socket_path: str | None = option(
        None, "Unix socket on which the gRPC API listens as well.", is_path=True
    )
    grpc_channel_arguments: str = option(
        "", "Arguments of the gRPC server, such as grpc.max_connection_age_ms=2000, by commas."
    )
    grpc_max_threads: int | None = option(
        None, "Maximum gRPC requests at once, others are RESOURCE_EXHAUSTED; default: no limit."
    )
    ssl_config_file: str | None = option(
        None, "SSLConfig in text format: key and certificate of the gRPC API.", is_path=True
    )
    enable_grpc_healthcheck_service: bool = option(False, "Serve grpc.health.v1.Health.")
    enable_serialization_as_tensor_content: bool = option(
        False, "Predict over gRPC answers with tensor_content instead of typed fields."
    )
    grpc_max_text_bytes: int = option(
        8 * 2**20, "(new) Largest string in a gRPC request; a larger one is INVALID_ARGUMENT."
    )

    def __post_init__(self) -> None:
        if not 0 <= self.port < 2**16:
            raise InputError(
                f"--port={self.port} is not a port; give one from 1 to 65535, or 0 for no gRPC API."
            )
        for name in ("grpc_max_threads", "grpc_max_text_bytes"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"--{name}={getattr(self, name)} must be at least 1.")
        self.channel_arguments()

    def channel_arguments(self) -> dict[str, int | str]:
        """What --grpc_channel_arguments says; a value is a number if it can be one of 32 bits.

        Raises:
          InputError: an entry is not NAME=VALUE.
        """
        arguments: dict[str, int | str] = {}
        for entry in filter(None, self.grpc_channel_arguments.split(",")):
            key, equals, value = entry.partition("=")
            if not key or not equals:
                raise InputError(
                    f"--grpc_channel_arguments={self.grpc_channel_arguments}: {entry!r} is not "
                    "NAME=VALUE; wanted: entries such as grpc.max_connection_age_ms=2000, "
                    "separated by commas."
                )
            is_number = re.fullmatch(r"[+-]?[0-9]{1,10}", value) and abs(int(value)) < 2**31
            arguments[key] = int(value) if is_number else value
        return arguments


@dataclasses.dataclass(frozen=True, kw_only=True)
class PageFlags:
    """The page at `/`."""

    enable_page: bool = option(
        True, "(new) Answer / with a page on which the models can be tried in a browser."
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunFlags:
    """How the process runs and ends."""

    drain_seconds: int = option(
        30, "(new) Maximum time for requests in progress after SIGTERM or Ctrl-C."
    )

    def __post_init__(self) -> None:
        if self.drain_seconds < 0:
            raise InputError(f"--drain_seconds={self.drain_seconds} must not be negative.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Server(ModelFlags, RestFlags, GrpcFlags, BatchingFlags, MonitoringFlags, PageFlags, RunFlags):
    """Flags of the embedded server, by the part of it that reads them."""

    def __post_init__(self) -> None:
        for part in Server.__bases__:
            if check := getattr(part, "__post_init__", None):
                check(self)
        if self.port and self.port == self.rest_api_port:
            raise InputError(
                f"--port and --rest_api_port are both {self.port}; give two ports, or 0 for the "
                "API that is not wanted."
            )
        if not (self.port or self.rest_api_port or self.grpc_socket_path):
            raise InputError(
                "No API is left: --port and --rest_api_port are 0. Give a port for one of them, or "
                "--grpc_socket_path."
            )

    @property
    def session_threads(self) -> tuple[int, int]:
        """Threads within an operation, and operations at once; 0: automatic.

        With batching one each, unless flags say more: a batch then runs on one CPU and the next one
        on another, which took 10 to 40 % less CPU time than one batch on two CPUs.
        """
        given = super().session_threads
        return (1, 1) if self.enable_batching and not any(given) else given
