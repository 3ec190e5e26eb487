"""How a client asks: deadline, batches, retries, compression, certificates."""

import dataclasses

from bert_tf.errors import InputError


@dataclasses.dataclass(frozen=True, kw_only=True)
class Retry:
    """How often a request is sent again, and after which pause.

    Only what may go better the next time is sent again: UNAVAILABLE (HTTP status 503 and a
    connection that fails) and RESOURCE_EXHAUSTED (429). All requests of a client may be sent twice.

    Attributes:
      max_attempts: how often a request is sent at most; 1: never again.
      first_seconds: the longest pause before the second attempt. Each later one may be twice as
        long. The pause is drawn at random between 0 and that, so that clients that failed together
        do not come back together.
      max_seconds: what no pause exceeds.
    """

    max_attempts: int = 4
    first_seconds: float = 0.2
    max_seconds: float = 5.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Tls:
    """Certificates for https:// and grpcs://: PEM files.

    Attributes:
      root_certificates: of authorities that the server's certificate is checked with; None: those
        that the machine trusts.
      client_certificate, client_key: given to a server that asks for them.
      server_name: the name in the server's certificate if it is not that of the address; over gRPC
        only.
    """

    root_certificates: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    server_name: str | None = None

    def __post_init__(self) -> None:
        if (self.client_certificate is None) != (self.client_key is None):
            raise InputError(
                "A client certificate and its key go together; one of them is missing."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """How a client asks.

    Attributes:
      timeout_seconds: maximum time of a call, with all its batches, attempts and pauses.
      batch_size: maximum rows per request; larger inputs are split.
      concurrency: maximum requests of a call in progress at once.
      gzip_from_bytes: requests of this size or more are compressed; None: none.
    """

    timeout_seconds: float = 60.0
    batch_size: int = 32
    concurrency: int = 4
    retry: Retry = Retry()
    tls: Tls = Tls()
    gzip_from_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("timeout_seconds", "batch_size", "concurrency"):
            if getattr(self, name) <= 0:
                raise InputError(f"{name}={getattr(self, name)} must be more than 0.")


DEFAULTS = Settings()
