"""A Grafana dashboard of TensorFlow Serving's metrics."""

import dataclasses
from collections.abc import Sequence
from typing import Any

_WIDTH, _HEIGHT = 12, 8  # of a panel; a row is 24 wide
_MODEL = 'model_name=~"$model"'
_RATE = "[$__rate_interval]"
_SERVING = ":tensorflow:serving:"
_BATCHING = f"{_SERVING}batching_session:"


@dataclasses.dataclass(frozen=True)
class Query:
    """A line of a panel.

    Attributes:
      legend: its name, with labels in double braces.
    """

    expression: str
    legend: str


@dataclasses.dataclass(frozen=True)
class Panel:
    """A graph over time.

    Attributes:
      unit: a unit of Grafana.
    """

    title: str
    unit: str
    queries: Sequence[Query]
    description: str = ""


def _quantiles(metric: str, labels: str, by: str, legend: str) -> list[Query]:
    """Median, 95th and 99th percentile of a histogram."""
    return [
        Query(
            f"histogram_quantile({share}, sum by (le{by}) (rate({metric}_bucket{labels}{_RATE})))",
            f"p{100 * share:.0f} {legend}".strip(),
        )
        for share in (0.5, 0.95, 0.99)
    ]


_OF_MODEL = f"{{{_MODEL}}}"
PANELS = (
    Panel(
        "Requests",
        "reqps",
        [
            Query(
                f"sum by (model_name, status) (rate({_SERVING}request_count{_OF_MODEL}{_RATE}))",
                "{{model_name}} {{status}}",
            )
        ],
    ),
    Panel(
        "Share of requests that fail",
        "percentunit",
        [
            Query(
                f'sum by (model_name) (rate({_SERVING}request_count{{{_MODEL},status!="OK"}}'
                f"{_RATE})) / sum by (model_name) (rate({_SERVING}request_count{_OF_MODEL}"
                f"{_RATE}))",
                "{{model_name}}",
            )
        ],
    ),
    Panel(
        "Latency of requests",
        "µs",
        _quantiles(f"{_SERVING}request_latency", _OF_MODEL, ", model_name", "{{model_name}}"),
        "From the whole request to the whole answer, of requests that succeed.",
    ),
    Panel(
        "Latency in TensorFlow",
        "µs",
        _quantiles(f"{_SERVING}runtime_latency", _OF_MODEL, ", model_name", "{{model_name}}"),
        "Of the session, the wait for a batch included.",
    ),
    Panel(
        "99th percentile by API",
        "µs",
        [
            Query(
                "histogram_quantile(0.99, sum by (le, API, entrypoint) "
                f"(rate({_SERVING}request_latency_bucket{_OF_MODEL}{_RATE})))",
                "{{API}} {{entrypoint}}",
            )
        ],
    ),
    Panel(
        "Rows",
        "short",
        [
            Query(
                f"sum by (model) (rate({_SERVING}request_example_count_total"
                f'{{model=~"$model"}}{_RATE}))',
                "{{model}}",
            )
        ],
        "Per second.",
    ),
    Panel(
        "Wait for a batch",
        "µs",
        _quantiles(f"{_BATCHING}queuing_latency", "", "", ""),
        "Grows when servers are too few.",
    ),
    Panel(
        "Rows of a batch",
        "short",
        [
            *_quantiles(f"{_BATCHING}processed_batch_size", "", "", ""),
            Query(
                f"sum(rate({_BATCHING}padding_size_sum{_RATE})) / "
                f"sum(rate({_BATCHING}padding_size_count{_RATE}))",
                "filled up, mean",
            ),
        ],
        "1 means that batching finds no company for requests.",
    ),
    Panel(
        "Loads of models",
        "short",
        [
            Query(
                "sum by (model_path, status) "
                "(increase(:tensorflow:cc:saved_model:load_attempt_count[15m]))",
                "{{model_path}} {{status}}",
            )
        ],
        "In 15 minutes.",
    ),
    Panel(
        "Servers that answer",
        "short",
        [Query('sum(up{job="tensorflow-serving"})', "up")],
    ),
)


def document(title: str) -> dict[str, Any]:
    """The dashboard as Grafana imports it."""
    return {
        "title": title,
        "uid": "tensorflow-serving",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [_data_source(), _models()]},
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


def _data_source() -> dict[str, Any]:
    return {"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _models() -> dict[str, Any]:
    return {
        "name": "model",
        "label": "Model",
        "type": "query",
        "datasource": {"type": "prometheus", "uid": "${source}"},
        "query": f"label_values({_SERVING}request_count, model_name)",
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(number: int, panel: Panel) -> dict[str, Any]:
    source = {"type": "prometheus", "uid": "${source}"}
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": panel.title,
        "description": panel.description,
        "datasource": source,
        "gridPos": {
            "x": _WIDTH * (number % 2),
            "y": _HEIGHT * (number // 2),
            "w": _WIDTH,
            "h": _HEIGHT,
        },
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + index),
                "datasource": source,
                "expr": query.expression,
                "legendFormat": query.legend,
            }
            for index, query in enumerate(panel.queries)
        ],
    }
