"""What is printed at the end, and what to do next."""

import json

import pytest

from serving.loadtest import report
from serving.loadtest.options import LoadTest
from serving.loadtest.summary import Summary


def summary(**changes):
    figures = {
        "seconds": 10.0,
        "requests": 1234,
        "rows": 2468,
        "latency_ms": {"p50": 12.345, "p90": 20.0, "p99": 31.0, "max": 1234.5},
        "delay_ms": 0.5,
        "errors": {},
        "messages": {},
        "cpu_shares": [0.123],
        "is_growing": False,
    }
    return Summary(**figures | changes)


def test_the_table():
    options = LoadTest(model_name="m", batch_size=2, url="grpc://h:1")
    assert list(report.lines(options, 7, summary()))[:-2] == [
        "m, version 7, at grpc://h:1 (gRPC)",
        "8 requests of 2 rows in progress, 10 s",
        "",
        "requests  1,234, 123 requests/s",
        "rows      2,468, 247 rows/s",
        "latency   p50 12.3 ms, p90 20 ms, p99 31 ms, max 1.23 s",
        "errors    0",
        "client    12 % of a core",
        "",
    ]
    failed = summary(errors={"INTERNAL": 1200}, messages={"INTERNAL": "why"}, latency_ms={})
    lines = list(report.lines(LoadTest(model_name="m", rate=5.0), 7, failed))
    assert lines[1] == "5 requests of 1 row per second at random times, 10 s"
    assert "errors    1,200 INTERNAL: why" in lines
    assert not any(line.startswith("latency") for line in lines)


@pytest.mark.parametrize(
    ("flags", "figures", "words", "next_flags"),
    [
        ({}, {}, "do not wait for each other", "--rate=86"),
        ({"concurrency": 4}, {"cpu_shares": [0.97]}, "client is the bottleneck", "--concurrency=4"),
        ({}, {"cpu_shares": [0.97]}, "client is the bottleneck", "--processes=2"),
        ({}, {"errors": {"UNAVAILABLE": 1}}, "queue is full", "--concurrency=4"),
        ({"rate": 10.0}, {"errors": {"RESOURCE_EXHAUSTED": 1}}, "queue is full", "--rate=5"),
        ({"rate": 400.0}, {"is_growing": True}, "cannot keep up", "--model_name=m"),
        ({"rate": 124.0}, {}, "keeps up with this rate", "--rate=190"),
    ],
)
def test_what_to_type_next(flags, figures, words, next_flags):
    figures |= {"messages": dict.fromkeys(figures.get("errors", ()), "why")}
    *_, advice, command = report.lines(LoadTest(model_name="m", **flags), 7, summary(**figures))
    assert words in advice
    assert "-m serving.loadtest --model_name=m" in command
    assert next_flags in command.split()
    assert words != "cannot keep up" or "--rate" not in command


def test_the_file_has_all_digits_and_the_options():
    options = LoadTest(model_name="m")
    found = json.loads(report.to_json(options, 7, summary()))
    assert found["results"]["latency_ms"]["p50"] == 12.345
    assert found["results"]["requests_per_second"] == 123.4
    assert (found["options"]["model_name"], found["options"]["model_version"]) == ("m", 7)
