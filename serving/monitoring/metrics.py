"""Counters and histograms under TensorFlow Serving's names, and their page for Prometheus."""

import bisect
import itertools
import threading
from collections.abc import Iterator

# Microseconds: 10 * 1.8 ** i, TensorFlow Serving's buckets of request latencies.
LATENCY_BUCKETS = tuple(10 * 1.8**power for power in range(33))
_EXAMPLE_BUCKETS = tuple(float(2**power) for power in range(15))


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
    """Everything that a server counts."""

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

    def page(self) -> str:
        """What Prometheus reads; a line for the type of each metric, then its series."""
        lines = []
        for metric in vars(self).values():
            lines += [f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
        return "\n".join(lines) + "\n"
