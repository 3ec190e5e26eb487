"""Counters and histograms under TensorFlow Serving's names, and their page for Prometheus."""

import bisect
import itertools
import threading
from collections.abc import Iterator

# TensorFlow Serving's buckets: of latencies in microseconds, of time in a queue, and of sizes.
LATENCY_BUCKETS = tuple(10 * 1.8**power for power in range(33))
_QUEUING_BUCKETS = tuple(100 * 1.2**power for power in range(52))
_BATCH_SIZE_BUCKETS = tuple(2.0**power for power in range(14))
_EXAMPLE_BUCKETS = tuple(2.0**power for power in range(15))


class Counter:
    """A number that grows, for each combination of label values."""

    kind = "counter"

    def __init__(self, name: str, *labels: str) -> None:
        self.name, self.labels = name, labels
        self._values: dict[tuple[str, ...], float] = {}
        self._lock = threading.Lock()

    def add(self, *label_values: str, amount: float = 1) -> None:
        """Adds to the number of these labels, which are in the order of `labels`."""
        with self._lock:
            self._values[label_values] = self._values.get(label_values, 0) + amount

    def value(self, *label_values: str) -> float:
        """The number of these labels."""
        return self._values.get(label_values, 0)

    def total(self) -> float:
        """The sum over all labels."""
        with self._lock:
            return sum(self._values.values())

    def lines(self) -> Iterator[str]:
        """The series, in Prometheus' text format."""
        with self._lock:
            values = sorted(self._values.items())
        for label_values, value in values:
            yield f"{self.name}{_labels(self.labels, label_values)} {value:.15g}"


class Histogram:
    """How often values fell into buckets, for each combination of label values."""

    kind = "histogram"

    def __init__(
        self, name: str, *labels: str, buckets: tuple[float, ...] = LATENCY_BUCKETS
    ) -> None:
        self.name, self.labels, self.buckets = name, labels, buckets
        self._counts: dict[tuple[str, ...], list[int]] = {}
        self._sums: dict[tuple[str, ...], float] = {}
        self._lock = threading.Lock()

    def observe(self, value: float, *label_values: str) -> None:
        """Counts a value under these labels, which are in the order of `labels`."""
        with self._lock:
            counts = self._counts.setdefault(label_values, [0] * (len(self.buckets) + 1))
            counts[bisect.bisect_left(self.buckets, value)] += 1
            self._sums[label_values] = self._sums.get(label_values, 0.0) + value

    def lines(self) -> Iterator[str]:
        """The series, in Prometheus' text format; a bucket counts the smaller ones too."""
        with self._lock:
            snapshot = sorted((key, list(counts)) for key, counts in self._counts.items())
            sums = dict(self._sums)
        bounds = [f"{bound:.6g}" for bound in self.buckets] + ["+Inf"]
        for key, counts in snapshot:
            for bound, total in zip(bounds, itertools.accumulate(counts), strict=True):
                labels = _labels((*self.labels, "le"), (*key, bound))
                yield f"{self.name}_bucket{labels} {total}"
            yield f"{self.name}_sum{_labels(self.labels, key)} {sums[key]:.15g}"
            yield f"{self.name}_count{_labels(self.labels, key)} {sum(counts)}"


def _labels(names: tuple[str, ...], values: tuple[str, ...]) -> str:
    pairs = zip(names, values, strict=True)
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


class Metrics:
    """Everything that a server counts, under the names of tensorflow_model_server.

    Attributes are named after the end of their metric's name. Latencies are in microseconds.
    Statuses are names of codes, such as `OK`, but those of warm-ups are whole messages.
    """

    def __init__(self) -> None:
        serving = ":tensorflow:serving:"
        self.request_count = Counter(f"{serving}request_count", "model_name", "status")
        self.request_latency = Histogram(
            f"{serving}request_latency", "model_name", "API", "entrypoint"
        )
        self.runtime_latency = Histogram(
            f"{serving}runtime_latency", "model_name", "API", "runtime"
        )
        self.request_example_counts = Histogram(
            f"{serving}request_example_counts", "model", buckets=_EXAMPLE_BUCKETS
        )
        self.request_example_count_total = Counter(f"{serving}request_example_count_total", "model")
        self.model_warmup_latency = Histogram(
            f"{serving}model_warmup_latency", "model_path", "status"
        )
        self.model_warmup_records_read = Counter(
            f"{serving}model_warmup_records_read", "model_path", "status"
        )
        self.request_log_count = Counter(f"{serving}request_log_count", "model_name", "status_code")
        batching = f"{serving}batching_session:"
        self.batching_queuing_latency = Histogram(
            f"{batching}queuing_latency", "thread_pool_name", buckets=_QUEUING_BUCKETS
        )
        self.batching_wrapped_run_count = Counter(f"{batching}wrapped_run_count")
        self.batching_padding_size = Histogram(
            f"{batching}padding_size", "execution_batch_size", buckets=_BATCH_SIZE_BUCKETS
        )
        self.batching_input_batch_size = Histogram(
            f"{batching}input_batch_size", buckets=_BATCH_SIZE_BUCKETS
        )
        self.batching_processed_batch_size = Histogram(
            f"{batching}processed_batch_size", buckets=_BATCH_SIZE_BUCKETS
        )
        saved_model = ":tensorflow:cc:saved_model:"
        self.load_attempt_count = Counter(
            f"{saved_model}load_attempt_count", "model_path", "status"
        )
        self.load_latency = Counter(f"{saved_model}load_latency", "model_path")
        core = ":tensorflow:core:"
        self.graph_runs = Counter(f"{core}graph_runs")
        self.graph_run_time_usecs = Counter(f"{core}graph_run_time_usecs")

    def count_graph_run(self, seconds: float) -> None:
        """Counts a run of a session, failed ones too."""
        self.graph_runs.add()
        self.graph_run_time_usecs.add(amount=round(1e6 * seconds))

    def page(self) -> str:
        """What Prometheus reads; a line for the type of each metric, then its series."""
        lines = []
        for metric in vars(self).values():
            lines += [f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
        return "\n".join(lines) + "\n"
