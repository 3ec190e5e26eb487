"""How large a request may be."""

import dataclasses

from serving.status import Code, ServingError

# TensorFlow Serving inflates no more, and takes what is larger for an empty body.
_MAX_INFLATED_BYTES = 100 * 2**20


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits on requests.

    Attributes:
      request_bytes: of a body, as sent and once inflated.
      text_bytes: of one string in it.
    """

    request_bytes: int
    text_bytes: int

    def of_parser(self) -> dict[str, int]:
        """What the process that reads large bodies must know."""
        return {
            "max_request_bytes": self.request_bytes,
            "max_inflated_bytes": _MAX_INFLATED_BYTES,
            "max_text_bytes": self.text_bytes,
        }

    def too_large(self, size: int) -> "RequestTooLargeError":
        """The error for a body of so many bytes, or more."""
        return RequestTooLargeError(
            f"The request's body has {size} bytes or more; the limit is {self.request_bytes}. "
            "Send fewer rows at once, or start the server with a larger "
            "--rest_api_max_request_bytes."
        )


class RequestTooLargeError(ServingError):
    """A body is beyond the limit: 413 over HTTP, for which the codes have no word."""

    def __init__(self, message: str) -> None:
        super().__init__(Code.INVALID_ARGUMENT, message)
