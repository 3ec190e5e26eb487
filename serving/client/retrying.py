"""When a request is sent again, and the time that is left for it."""

import random
import time

from serving.client.settings import Retry
from serving.status import Code, ServingError

_RETRIED = (Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED)
_TOO_LARGE = "message larger than max"  # gRPC's words for RESOURCE_EXHAUSTED that stays


class Deadline:
    """The end of the time that a call may take."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left.

        Raises:
          ServingError: DEADLINE_EXCEEDED; there are none.
        """
        seconds = self._end - time.monotonic()
        if seconds <= 0:
            raise self.exceeded()
        return seconds

    def exceeded(self) -> ServingError:
        """The error of a call that takes too long."""
        return ServingError(
            Code.DEADLINE_EXCEEDED, f"No answer within {self._seconds:g} s, the client's deadline."
        )


def pause(retry: Retry, attempt: int, error: ServingError, deadline: Deadline) -> float:
    """Seconds to wait before a request is sent again.

    Args:
      attempt: the one that failed, from 1.

    Raises:
      ServingError: the given one, because another attempt would not help or is not allowed, or
        because there is no time for it.
    """
    may_help = error.code in _RETRIED and _TOO_LARGE not in error.message
    if not may_help or attempt >= retry.max_attempts:
        raise error
    longest = min(retry.max_seconds, retry.first_seconds * 2 ** (attempt - 1))
    # At random down to 0: https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter
    seconds = random.uniform(0, longest)
    try:
        left = deadline.left()
    except ServingError:
        raise error from None
    if seconds >= left:
        raise error
    return seconds
