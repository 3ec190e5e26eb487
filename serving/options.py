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
    rest_api_port: int = option(8501, "Port of the REST API.")
    rest_api_num_threads: int | None = option(
        None, "Maximum requests in progress at once; default: four per CPU core."
    )
    rest_api_timeout_in_ms: int = option(30_000, "Maximum time the model may take for a request.")

    def __post_init__(self) -> None:
        if not 0 < self.rest_api_port < 2**16:
            raise InputError(
                f"--rest_api_port={self.rest_api_port} is not a port; give one from 1 to 65535."
            )
        for name in ("rest_api_timeout_in_ms", "rest_api_num_threads"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InputError(f"--{name}={getattr(self, name)} must be at least 1.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PageFlags:
    """The page at `/`."""

    enable_page: bool = option(
        True, "(new) Answer / with a page on which the models can be tried in a browser."
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Server(ModelFlags, RestFlags, PageFlags):
    """Flags of the embedded server, by the part of it that reads them."""

    def __post_init__(self) -> None:
        ModelFlags.__post_init__(self)
        RestFlags.__post_init__(self)
