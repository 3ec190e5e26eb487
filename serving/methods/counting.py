"""What is counted of every request, whichever transport it came by."""

import asyncio
import contextlib
import time
from collections.abc import Iterator

from serving.monitoring.metrics import Metrics
from serving.status import Code, ServingError


@contextlib.contextmanager
def request(metrics: Metrics, model_name: str, api: str, entrypoint: str) -> Iterator[None]:
    """Counts a request by its status, and the time of one that succeeds.

    A transport puts it around everything that it does for a request, reading and writing included:
    so does TensorFlow Serving, whose gRPC API counts Predict, Classify and Regress, and whose REST
    API counts everything under /v1/.

    Args:
      api: "Predict", "Classify" or "Regress" over gRPC; over REST "predict", "classify", "regress",
        or "" for status and metadata.
      entrypoint: "GRPC" or "REST".
    """
    start = time.perf_counter()
    try:
        yield
    except ServingError as error:
        code = error.code
        raise
    except asyncio.CancelledError:
        code = Code.CANCELLED
        raise
    except BaseException:
        code = Code.INTERNAL
        raise
    else:
        code = Code.OK
        metrics.request_latency.observe(_microseconds(start), model_name, api, entrypoint)
    finally:
        metrics.request_count.add(model_name, code.name)


@contextlib.contextmanager
def run(metrics: Metrics, model_name: str, api: str) -> Iterator[None]:
    """Observes the time of a run of the model that succeeds, waiting in a batcher included.

    Args:
      api: "Predict", "Classify" or "Regress".
    """
    start = time.perf_counter()
    yield
    metrics.runtime_latency.observe(_microseconds(start), model_name, api, "TF1")


def examples(metrics: Metrics, model_name: str, count: int) -> None:
    """Counts the tf.Examples of a request."""
    metrics.request_example_counts.observe(count, model_name)
    metrics.request_example_count_total.add(model_name, amount=count)


def _microseconds(start: float) -> float:
    return (time.perf_counter() - start) * 1e6
