"""Computes a batch in a thread: merges its requests, runs the signature, divides the answer."""

import logging
import time
from collections.abc import Collection, Sequence

from serving.execution import merging
from serving.execution.exported import Merging
from serving.execution.parameters import BatchingParameters
from serving.execution.queues import Answer, Share
from serving.monitoring.metrics import Metrics
from serving.status import Code, ServingError

# After these, the rows of a batch are not tried again: their time is over.
_FINAL = (Code.DEADLINE_EXCEEDED, Code.CANCELLED)
_POOL_NAME = ""  # as TensorFlow Serving's batching leaves it


class Computer:
    """Answers batches of one signature for the same outputs, of one version."""

    def __init__(
        self,
        signature_name: str,
        outputs: Collection[str],
        merge: Merging,
        parameters: BatchingParameters,
        metrics: Metrics,
    ) -> None:
        self._signature_name, self._outputs = signature_name, outputs
        self._merge, self._parameters, self._metrics = merge, parameters, metrics

    def answers(self, shares: Sequence[Share]) -> list[Answer | Exception]:
        """The answer of each share, or its error."""
        now = time.monotonic()
        for share in shares:
            waited = 1e6 * (now - share.task.arrival)
            self._metrics.batching_queuing_latency.observe(waited, _POOL_NAME)
        try:
            return self._answers(shares)
        except Exception as error:  # out of memory, perhaps; nobody may wait for ever
            return _same(_internal(error, shares), shares)

    def _answers(self, shares: Sequence[Share]) -> list[Answer | Exception]:
        sizes = [share.num_rows for share in shares]
        num_filled = self._parameters.filled_size(sum(sizes))
        try:
            batch = merging.merged(
                [share.feeds for share in shares], num_filled, self._merge.padding
            )
        except ServingError as error:
            return _same(error, shares)
        self._count(num_filled, sum(sizes))
        start = time.perf_counter()
        try:
            answer = shares[0].task.servable.run(
                self._signature_name, batch, self._outputs, _seconds_left(shares)
            )
        except Exception as error:
            return self._apart(shares, error)
        finally:
            self._metrics.count_graph_run(time.perf_counter() - start)
        try:
            merging.check_answer(answer, num_filled)
        except ServingError as error:
            return _same(error, shares)
        divided = merging.divided(answer, sizes)
        if len(shares) == 1 and num_filled == sizes[0]:
            return list(divided)
        return [self._merge.cut(each) for each in divided]

    def _count(self, num_filled: int, num_rows: int) -> None:
        self._metrics.batching_wrapped_run_count.add()
        self._metrics.batching_processed_batch_size.observe(num_filled)
        self._metrics.batching_padding_size.observe(num_filled - num_rows, str(num_filled))

    def _apart(self, shares: Sequence[Share], error: Exception) -> list[Answer | Exception]:
        """The answers of a batch that failed: those of its halves, down to single requests."""
        if not isinstance(error, ServingError):
            error = _internal(error, shares)
        if len(shares) == 1 or error.code in _FINAL:
            return _same(error, shares)
        half = len(shares) // 2
        return self._answers(shares[:half]) + self._answers(shares[half:])


def _internal(error: Exception, shares: Sequence[Share]) -> ServingError:
    logging.error("A batch of %d requests failed.", len(shares), exc_info=error)
    return ServingError(Code.INTERNAL, "Internal error; the server's log has the details.")


def _same(error: ServingError, shares: Sequence[Share]) -> list[Answer | Exception]:
    """The same error for each; an exception of its own, as each is raised somewhere else."""
    return [ServingError(error.code, error.message) for _ in shares]


def _seconds_left(shares: Sequence[Share]) -> float | None:
    """How long the batch may take: as long as the last of its requests may."""
    deadlines = [share.task.deadline for share in shares]
    if None in deadlines:
        return None
    latest = max(deadline for deadline in deadlines if deadline is not None)
    return max(latest - time.monotonic(), 1e-3)
