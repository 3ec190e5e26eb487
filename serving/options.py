"""Flags of `python -m serving`, named as those of tensorflow_model_server where it has one."""

import dataclasses

from bert_tf.errors import InputError
from bert_tf.flagging import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelFlags:
    """Which models are loaded, and how."""

    model_base_path: str | None = option(
        None, "Directory whose numeric sub-directories are versions of the model.", is_path=True
    )
    model_name: str = option("default", "Name of the model in URLs.")
    tensorflow_intra_op_parallelism: int = option(0, "Threads within an operation; 0: automatic.")
    tensorflow_inter_op_parallelism: int = option(0, "Operations at once; 0: automatic.")
    enable_model_warmup: bool = option(
        True, "Run the requests in assets.extra/tf_serving_warmup_requests before answering."
    )

    def __post_init__(self) -> None:
        if not self.model_base_path:
            raise InputError(
                "--model_base_path is missing; give the directory that holds the model's versions."
            )
        if not self.model_name or set(self.model_name) & set("/:"):
            raise InputError(
                f"--model_name={self.model_name!r} must not be empty or hold '/' or ':'; it is a "
                "part of the URL."
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
class Server(ModelFlags, RestFlags):
    """Flags of the embedded server, by the part of it that reads them."""

    def __post_init__(self) -> None:
        ModelFlags.__post_init__(self)
        RestFlags.__post_init__(self)
