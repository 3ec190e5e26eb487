"""The figures of a load test."""

import collections
import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from serving.loadtest.worker import Record

_PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
_FEW = 40  # latencies; of fewer no growth is told
_FULL_CORE = 0.85  # of a core: a process of Python that takes so much has no more to give


@dataclasses.dataclass(frozen=True)
class Summary:
    """What was measured.

    Attributes:
      seconds: from the first moment that counts to the last answer.
      requests, rows: answered without an error.
      latency_ms: percentiles, by name; of requests that were answered or given up after the
        timeout. Empty if there are none.
      delay_ms: 99 % of the requests were sent at most so much after they were due.
      errors: requests by the name of their code.
      messages: the first one of each code.
      cpu_shares: of a core that each process of the client took.
      is_growing: whether requests waited longer and longer: more were due than are answered.
    """

    seconds: float
    requests: int
    rows: int
    latency_ms: dict[str, float]
    delay_ms: float
    errors: dict[str, int]
    messages: dict[str, str]
    cpu_shares: list[float]
    is_growing: bool

    @property
    def requests_per_second(self) -> float:
        """Throughput."""
        return self.requests / self.seconds

    @property
    def rows_per_second(self) -> float:
        """Throughput."""
        return self.rows / self.seconds

    @property
    def is_client_full(self) -> bool:
        """Whether a process of the client took nearly all of a core, so that it is measured too."""
        return max(self.cpu_shares) >= _FULL_CORE


def of(records: Sequence[Record], batch_size: int) -> Summary:
    """The figures of all processes together."""
    latencies = np.concatenate([np.asarray(record.latencies) for record in records])
    delays = np.concatenate([np.asarray(record.delays) for record in records])
    errors: collections.Counter[str] = collections.Counter()
    messages: dict[str, str] = {}
    for record in records:
        errors.update({code.name: count for code, count in record.errors.items()})
        messages = {code.name: text for code, text in record.messages.items()} | messages
    answered = sum(record.answered for record in records)
    shares = _PERCENTILES if len(latencies) else {}
    return Summary(
        seconds=max(record.seconds for record in records),
        requests=answered,
        rows=answered * batch_size,
        latency_ms={name: 1000 * percentile(latencies, share) for name, share in shares.items()},
        delay_ms=1000 * percentile(delays, 0.99) if len(delays) else 0.0,
        errors=dict(errors.most_common()),
        messages=messages,
        cpu_shares=[record.cpu_share for record in records],
        is_growing=_is_growing(records),
    )


def _is_growing(records: Sequence[Record]) -> bool:
    """Whether the median latency of the last quarter is twice that of the first one."""
    if sum(len(record.latencies) for record in records) < _FEW:
        return False
    first, last = [], []
    for record in records:
        quarter = len(record.latencies) // 4
        first.append(np.asarray(record.latencies[:quarter]))
        last.append(np.asarray(record.latencies[len(record.latencies) - quarter :]))
    return bool(np.median(np.concatenate(last)) > 2 * np.median(np.concatenate(first)))


def percentile(values: np.ndarray, share: float) -> float:
    """The smallest value that at least this share of the values do not exceed (nearest rank)."""
    rank = max(1, math.ceil(share * len(values)))
    return float(np.partition(values, rank - 1)[rank - 1])
