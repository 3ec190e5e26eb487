"""What every method works with: models, a way to run them, and what an operator watches."""

import dataclasses
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np

from serving.models.servable import Servable, Tensors
from serving.models.spec import ModelSpec, VersionStatus
from serving.monitoring.metrics import Metrics
from serving.monitoring.prediction_logs import Target
from serving.monitoring.request_log import RequestLogs
from serving.status import invalid


class Models(Protocol):
    """The models of a server. May be called from any thread."""

    def lease(self, spec: ModelSpec) -> AbstractContextManager[Servable]:
        """What answers a request; it is not unloaded before the context ends.

        Raises:
          ServingError: NOT_FOUND, or INVALID_ARGUMENT for a label.
        """
        ...

    def statuses(self, name: str, version: int | None = None) -> Sequence[VersionStatus]:
        """Newest version first.

        Raises:
          ServingError: NOT_FOUND.
        """
        ...

    def configure(self, configs: Sequence[Any]) -> None:
        """Replaces the configuration; returns once its models are available.

        Args:
          configs: ModelConfig messages.

        Raises:
          ServingError: the configuration is refused, or a model cannot be loaded.
        """
        ...


class Runner(Protocol):
    """Runs signatures, each request alone or in batches."""

    async def run(
        self,
        servable: Servable,
        signature_name: str,
        feeds: Tensors,
        outputs: Collection[str] = (),
        timeout_seconds: float | None = None,
    ) -> dict[str, np.ndarray]:
        """Runs a signature of a servable that the caller holds a lease of.

        Args:
          feeds: by input name; strings are bytes in arrays of objects.
          outputs: names of those wanted; none: all.
          timeout_seconds: None: no limit.

        Returns:
          Tensors by output name.

        Raises:
          ServingError: DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED or UNAVAILABLE from waiting; else with
            TensorFlow's code and message.
        """
        ...


@dataclasses.dataclass(frozen=True)
class Core:
    """What the REST and the gRPC API share.

    Attributes:
      timeout_seconds: maximum time that a REST request may take in the runner.
      request_logs: None: nothing is logged.
    """

    models: Models
    runner: Runner
    metrics: Metrics
    timeout_seconds: float
    request_logs: RequestLogs | None = None

    def lease(self, spec: ModelSpec) -> AbstractContextManager[Servable]:
        """What answers a request; see `Models.lease`.

        Raises:
          ServingError: INVALID_ARGUMENT, there is no name; else as `Models.lease`.
        """
        if not spec.name:
            raise invalid("ModelSpec has no name specified.")
        return self.models.lease(spec)

    def log(self, servable: Servable, spec: ModelSpec, make: Callable[[Target], Any]) -> None:
        """Logs a request that was answered, if it is in the sample of a log.

        Args:
          make: makes the PredictionLog, later and in another thread.
        """
        if self.request_logs:
            name, version = servable.name, servable.version
            target = Target(name, version, spec.signature_name)
            self.request_logs.log(name, lambda: make(target))
