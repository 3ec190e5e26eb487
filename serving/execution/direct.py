"""Runs each request alone, in a pool of threads."""

import asyncio
import time
from collections.abc import Collection
from concurrent.futures import Executor

import numpy as np

from serving.models.servable import Servable, Tensors
from serving.monitoring.metrics import Metrics


class DirectRunner:
    """A `Runner` without batching: the session runs in a thread of `executor`.

    Args:
      metrics: where runs are counted; None: nowhere.
    """

    def __init__(self, executor: Executor, metrics: Metrics | None = None) -> None:
        self._executor, self._metrics = executor, metrics

    async def run(
        self,
        servable: Servable,
        signature_name: str,
        feeds: Tensors,
        outputs: Collection[str] = (),
        timeout_seconds: float | None = None,
    ) -> dict[str, np.ndarray]:
        """See `serving.methods.core.Runner`.

        A request whose client has gone ends when its run does, since its servable may be unloaded
        then.
        """
        job = self._executor.submit(
            self._run, servable, signature_name, feeds, outputs, timeout_seconds
        )
        done = asyncio.wrap_future(job)
        try:
            return await asyncio.shield(done)
        except asyncio.CancelledError:
            if not job.cancel():
                await asyncio.wait([done])
            raise

    def _run(
        self,
        servable: Servable,
        signature_name: str,
        feeds: Tensors,
        outputs: Collection[str],
        timeout_seconds: float | None,
    ) -> dict[str, np.ndarray]:
        start = time.perf_counter()
        try:
            return servable.run(signature_name, feeds, outputs, timeout_seconds)
        finally:
            if self._metrics:
                self._metrics.count_graph_run(time.perf_counter() - start)
