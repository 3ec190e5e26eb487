"""What an operator is told of: conditions in PromQL on TensorFlow Serving's metrics."""

import dataclasses

# Of the server's own doing; the others are what clients do wrong.
_SERVER_ERRORS = "INTERNAL|UNKNOWN|UNAVAILABLE|DEADLINE_EXCEEDED|RESOURCE_EXHAUSTED|DATA_LOSS"
_REQUESTS = ":tensorflow:serving:request_count"
_LATENCY = ":tensorflow:serving:request_latency"
_WAITING = ":tensorflow:serving:batching_session:queuing_latency"
_LOADS = ":tensorflow:cc:saved_model:load_attempt_count"


@dataclasses.dataclass(frozen=True)
class Alert:
    """A rule.

    Attributes:
      expression: PromQL; true where it has a value.
      minutes: how long it must be true.
      summary: one line, which may name labels.
    """

    name: str
    expression: str
    minutes: int
    severity: str
    summary: str


def _share(statuses: str) -> str:
    chosen = f'sum by (model_name) (rate({_REQUESTS}{{status=~"{statuses}"}}[5m]))'
    return f"{chosen} / sum by (model_name) (rate({_REQUESTS}[5m]))"


ALERTS = (
    Alert(
        "TensorFlowServingDown",
        'up{job="tensorflow-serving"} == 0',
        2,
        "critical",
        "{{ $labels.instance }} does not answer Prometheus.",
    ),
    Alert(
        "TensorFlowServingErrors",
        f"{_share(_SERVER_ERRORS)} > 0.01",
        5,
        "critical",
        "{{ $labels.model_name }}: more than 1 % of requests fail in the server.",
    ),
    Alert(
        "TensorFlowServingBadRequests",
        f"{_share('INVALID_ARGUMENT|NOT_FOUND|FAILED_PRECONDITION')} > 0.2",
        15,
        "warning",
        "{{ $labels.model_name }}: more than 20 % of requests are wrong. Did inputs change?",
    ),
    Alert(
        "TensorFlowServingSlow",
        # Microseconds.
        f"histogram_quantile(0.99, sum by (le, model_name) (rate({_LATENCY}_bucket[5m])))"
        " > 1000000",
        10,
        "warning",
        "{{ $labels.model_name }}: one request in a hundred takes more than a second.",
    ),
    Alert(
        "TensorFlowServingQueue",
        f"histogram_quantile(0.9, sum by (le, instance) (rate({_WAITING}_bucket[5m]))) > 250000",
        10,
        "warning",
        "{{ $labels.instance }}: one request in ten waits for more than 0.25 s to be computed.",
    ),
    Alert(
        "TensorFlowServingLoadFailed",
        f'increase({_LOADS}{{status="fail"}}[15m]) > 0',
        0,
        "critical",
        "{{ $labels.model_path }} cannot be loaded; the version before it goes on answering.",
    ),
)
