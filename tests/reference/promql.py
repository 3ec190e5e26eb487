"""Expressions of Prometheus against what TensorFlow Serving exports."""

import re

import pytest

from serving.monitoring.metrics import Metrics

# What stock servers export, with labels, and the embedded one need not: read from their sources.
_STOCK = {
    ":tensorflow:serving:request_example_count_total": ("counter", {"model"}),
    ":tensorflow:serving:batching_session:queuing_latency": ("histogram", {"thread_pool_name"}),
    ":tensorflow:serving:batching_session:processed_batch_size": ("histogram", set()),
    ":tensorflow:serving:batching_session:padding_size": ("histogram", {"execution_batch_size"}),
    ":tensorflow:cc:saved_model:load_attempt_count": ("counter", {"model_path", "status"}),
}
_ADDED = {"job", "instance"}  # by Prometheus itself


def series():
    """From the name of each series to its labels."""
    metrics = {each.name: (each.kind, set(each.labels)) for each in vars(Metrics()).values()}
    found = {"up": _ADDED}
    for name, (kind, labels) in (_STOCK | metrics).items():
        if kind == "histogram":
            found |= {f"{name}_{part}": labels | _ADDED for part in ("sum", "count")}
            found[f"{name}_bucket"] = labels | _ADDED | {"le"}
        else:
            found[name] = labels | _ADDED
    return found


def check(expression):
    """Parses an expression, and looks up its series and labels; gives the names of the series.

    Skips the test where there is no parser.
    """
    parser = pytest.importorskip("promql_parser", reason="No parser of PromQL.")
    expression = expression.replace("$__rate_interval", "5m")
    parser.parse(expression)
    known = series()
    without_texts = re.sub(r'"[^"]*"', '""', expression)
    names = set(re.findall(r"(?<![\w:]):[\w:]+|\bup\b", without_texts))
    labels = set(re.findall(r"(\w+)(?:=~|!=|!~|=)(?=\")", without_texts))
    for group in re.findall(r"\bby \(([^)]*)\)", without_texts):
        labels |= set(group.replace(" ", "").split(","))
    assert names and names <= set(known), expression
    assert labels <= set.union(*(known[name] for name in names)), expression
    return names
