"""Runs each request alone, in a pool of threads."""

import asyncio
from collections.abc import Collection
from concurrent.futures import Executor

import numpy as np

from serving.models.servable import Servable, Tensors


class DirectRunner:
    """A `Runner` without batching: the session runs in a thread of `executor`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    async def run(
        self,
        servable: Servable,
        signature_name: str,
        feeds: Tensors,
        outputs: Collection[str] = (),
        timeout_seconds: float | None = None,
    ) -> dict[str, np.ndarray]:
        """See `serving.methods.core.Runner`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(
            self._executor, servable.run, signature_name, feeds, outputs, timeout_seconds
        )
