"""A new configuration, and the counters that a request may ask for with it."""

import asyncio

from serving.methods import reload
from serving.monitoring.metrics import Metrics


def test_the_models_are_configured(core):
    asyncio.run(reload.reload(core, ["a", "b"]))
    assert core.models.configured[-1] == ["a", "b"]


def test_counters_are_sums_over_labels_under_both_spellings():
    metrics = Metrics()
    metrics.request_count.add("m", "OK", amount=2)
    metrics.request_count.add("m", "NOT_FOUND")
    names = ["/tensorflow/serving/request_count", ":tensorflow:serving:request_count", "no"]
    assert reload.counters(metrics, names) == dict(zip(names, [3, 3, 0], strict=True))
