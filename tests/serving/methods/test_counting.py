"""What is counted of requests, without a model."""

import asyncio

import pytest

from serving.methods import counting
from serving.monitoring.metrics import Metrics
from serving.status import Code, ServingError


def lines(metrics, name):
    return [line for line in metrics.page().splitlines() if line.startswith(f":{name}")]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (ServingError(Code.NOT_FOUND, "no"), "NOT_FOUND"),
        (asyncio.CancelledError(), "CANCELLED"),
        (KeyError("bug"), "INTERNAL"),
    ],
)
def test_a_failure_is_counted_by_its_status_and_has_no_latency(error, status):
    metrics = Metrics()
    with pytest.raises(type(error)), counting.request(metrics, "m", "Predict", "GRPC"):
        raise error
    assert lines(metrics, "tensorflow:serving:request_count") == [
        f':tensorflow:serving:request_count{{model_name="m",status="{status}"}} 1'
    ]
    assert lines(metrics, "tensorflow:serving:request_latency") == []


def test_a_success_is_counted_with_its_latency():
    metrics = Metrics()
    with counting.request(metrics, "m", "predict", "REST"):
        pass
    assert metrics.request_count.value("m", "OK") == 1
    name = ":tensorflow:serving:request_latency_count"
    assert f'{name}{{model_name="m",API="predict",entrypoint="REST"}} 1' in metrics.page()


def test_a_run_that_fails_has_no_latency():
    metrics = Metrics()
    with pytest.raises(KeyError), counting.run(metrics, "m", "Predict"):
        raise KeyError
    assert lines(metrics, "tensorflow:serving:runtime_latency") == []
    with counting.run(metrics, "m", "Predict"):
        pass
    name = ":tensorflow:serving:runtime_latency_count"
    assert f'{name}{{model_name="m",API="Predict",runtime="TF1"}} 1' in metrics.page()


def test_examples_are_added_up_and_sorted_into_powers_of_two():
    metrics = Metrics()
    for count in (3, 4, 20_000):
        counting.examples(metrics, "m", count)
    assert metrics.request_example_count_total.value("m") == 20_007
    buckets = lines(metrics, "tensorflow:serving:request_example_counts_bucket")
    assert len(buckets) == 16
    assert buckets[1].endswith('{model="m",le="2"} 0')
    assert buckets[2].endswith('{model="m",le="4"} 2')
    assert buckets[14].endswith('{model="m",le="16384"} 2')
    assert buckets[15].endswith('{model="m",le="+Inf"} 3')
