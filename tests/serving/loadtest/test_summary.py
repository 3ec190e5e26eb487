"""Figures of a load test."""

import array

import numpy as np
import pytest

from serving.loadtest import summary
from serving.loadtest.worker import Record
from serving.status import Code


@pytest.mark.parametrize("count", [1, 2, 3, 10, 99, 100, 101, 1000])
def test_percentiles_are_those_of_numpy_without_interpolation(count):
    values = np.random.default_rng(count).exponential(size=count)
    for share in (0.5, 0.9, 0.99, 1.0):
        expected = np.percentile(values, 100 * share, method="inverted_cdf")
        assert summary.percentile(values, share) == expected


def record(latencies, errors, **rest):
    found = Record(
        latencies=array.array("d", latencies), delays=array.array("d", latencies), **rest
    )
    found.errors.update(errors)
    found.messages = {code: f"{code.name} of {len(latencies)}" for code in errors}
    return found


def test_processes_are_added_up():
    records = [
        record([0.5, 0.1], {Code.UNAVAILABLE: 2}, answered=2, seconds=10.0, cpu_share=0.5),
        record(
            [0.2], {Code.INTERNAL: 3, Code.UNAVAILABLE: 2}, answered=1, seconds=12.0, cpu_share=0.9
        ),
    ]
    found = summary.of(records, batch_size=8)
    assert (found.requests, found.rows, found.seconds) == (3, 24, 12.0)
    assert (found.requests_per_second, found.rows_per_second) == (0.25, 2.0)
    assert found.latency_ms == {"p50": 200.0, "p90": 500.0, "p99": 500.0, "max": 500.0}
    assert found.errors == {"UNAVAILABLE": 4, "INTERNAL": 3}
    assert found.messages["UNAVAILABLE"] == "UNAVAILABLE of 2"
    assert found.is_client_full


def test_latency_that_grows_is_told_from_latency_that_varies():
    generator = np.random.default_rng(0)
    steady = generator.exponential(size=200)
    waiting = steady + np.linspace(0, 5, 200)  # of a queue that never empties
    assert not summary.of([record(steady, {}, seconds=1.0)], 1).is_growing
    assert summary.of([record(waiting, {}, seconds=1.0)] * 2, 1).is_growing
    assert not summary.of([record(waiting[::20], {}, seconds=1.0)], 1).is_growing


def test_nothing_answered_has_no_latency():
    found = summary.of([record([], {Code.UNAVAILABLE: 1}, seconds=1.0)], batch_size=1)
    assert (found.latency_ms, found.requests_per_second, found.delay_ms) == ({}, 0.0, 0.0)
    assert not found.is_client_full
