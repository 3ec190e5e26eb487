"""The page is read with the parser that Prometheus' own client library has."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from serving.monitoring.metrics import Counter, Histogram, Metrics

SERVING = ":tensorflow:serving:"
# From the sources of TensorFlow Serving and of TensorFlow: kind and labels of each metric.
METRICS = {
    f"{SERVING}request_count": ("counter", "model_name", "status"),
    f"{SERVING}request_latency": ("histogram", "model_name", "API", "entrypoint"),
    f"{SERVING}runtime_latency": ("histogram", "model_name", "API", "runtime"),
    f"{SERVING}request_example_counts": ("histogram", "model"),
    f"{SERVING}request_example_count_total": ("counter", "model"),
    f"{SERVING}model_warmup_latency": ("histogram", "model_path", "status"),
    f"{SERVING}model_warmup_records_read": ("counter", "model_path", "status"),
    f"{SERVING}request_log_count": ("counter", "model_name", "status_code"),
    f"{SERVING}batching_session:queuing_latency": ("histogram", "thread_pool_name"),
    f"{SERVING}batching_session:wrapped_run_count": ("counter",),
    f"{SERVING}batching_session:padding_size": ("histogram", "execution_batch_size"),
    f"{SERVING}batching_session:input_batch_size": ("histogram",),
    f"{SERVING}batching_session:processed_batch_size": ("histogram",),
    ":tensorflow:cc:saved_model:load_attempt_count": ("counter", "model_path", "status"),
    ":tensorflow:cc:saved_model:load_latency": ("counter", "model_path"),
    ":tensorflow:core:graph_runs": ("counter",),
    ":tensorflow:core:graph_run_time_usecs": ("counter",),
}


def read(page):
    """From the name of each series on the page to its samples: (labels, value)."""
    series = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            # The parser adds _total to the names of counters that lack it.
            is_there = f"\n{sample.name}{{" in page
            name = sample.name if is_there else sample.name.removesuffix("_total")
            series.setdefault(name, []).append((sample.labels, sample.value))
    return series


@pytest.fixture
def used():
    """Metrics in which each has one value, with odd characters in its labels."""
    metrics = Metrics()
    for metric in vars(metrics).values():
        labels = [f'a "{label}" \\ b' for label in metric.labels]
        if isinstance(metric, Counter):
            metric.add(*labels, amount=3)
        else:
            metric.observe(150, *labels)
    return metrics


def test_every_metric_has_its_name_kind_and_labels():
    given = {m.name: (m.kind, *m.labels) for m in vars(Metrics()).values()}
    assert given == METRICS


def test_the_page_can_be_parsed(used):
    page = used.page()
    assert "# HELP" not in page
    series = read(page)
    for name, (kind, *labels) in METRICS.items():
        wanted = {label: f'a "{label}" \\ b' for label in labels}
        if kind == "counter":
            assert series[name] == [(wanted, 3)]
        else:
            assert series[f"{name}_count"] == [(wanted, 1)]
            assert series[f"{name}_sum"] == [(wanted, 150)]
            below = {float(given["le"]): value for given, value in series[f"{name}_bucket"]}
            assert below[float("inf")] == 1
            assert {bound >= 150 for bound, value in below.items() if value} == {True}


@pytest.mark.parametrize(
    ("name", "first", "last", "count"),
    [
        # Exponential buckets of the sources: scale, then scale * factor ** (count - 1).
        ("request_latency", 10, 10 * 1.8**32, 33),
        ("batching_queuing_latency", 100, 100 * 1.2**51, 52),
        ("batching_padding_size", 1, 2**13, 14),
        ("request_example_counts", 1, 2**14, 15),
    ],
)
def test_buckets_are_those_of_the_sources(name, first, last, count):
    buckets = getattr(Metrics(), name).buckets
    assert (buckets[0], len(buckets)) == (first, count)
    assert buckets[-1] == pytest.approx(last)


def test_a_bucket_counts_the_smaller_ones_too():
    histogram = Histogram("latency", buckets=(1.0, 2.0, 4.0))
    for value in (0.5, 2.0, 3.0, 9.0):
        histogram.observe(value)
    assert list(histogram.lines()) == [
        'latency_bucket{le="1"} 1',
        'latency_bucket{le="2"} 2',
        'latency_bucket{le="4"} 3',
        'latency_bucket{le="+Inf"} 4',
        "latency_sum{} 14.5",
        "latency_count{} 4",
    ]


def test_a_series_without_labels_has_empty_braces():
    counter = Counter("runs")
    counter.add()
    counter.add(amount=2)
    assert list(counter.lines()) == ["runs{} 3"]


def test_runs_are_counted_with_their_time():
    metrics = Metrics()
    metrics.count_graph_run(0.0015)
    assert read(metrics.page())[":tensorflow:core:graph_run_time_usecs"] == [({}, 1500)]
