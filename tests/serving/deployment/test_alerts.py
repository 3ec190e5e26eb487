"""The rules, as Prometheus reads them."""

import re

import pytest

from serving.deployment.alerts import ALERTS
from tests.reference import promql


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_the_condition_names_metrics_that_there_are(alert):
    assert promql.check(alert.expression)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_a_summary_names_labels_that_the_condition_keeps(alert):
    named = set(re.findall(r"\$labels\.(\w+)", alert.summary))
    kept = set(re.findall(r"\bby \(([^)]*)\)", alert.expression))
    if kept:
        assert named <= {label.strip() for group in kept for label in group.split(",")}
    else:
        (metric,) = promql.check(alert.expression)
        assert named <= promql.series()[metric]


def test_every_alert_has_a_name_of_its_own_and_a_severity():
    names = [alert.name for alert in ALERTS]
    assert len(names) == len(set(names))
    assert {alert.severity for alert in ALERTS} == {"critical", "warning"}


@pytest.mark.parametrize(
    "wrong",
    [
        "rate(:tensorflow:serving:request_total[5m])",
        'rate(:tensorflow:serving:request_count{code="OK"}[5m])',
        "sum by (le) (rate(:tensorflow:serving:request_count[5m]))",
    ],
)
def test_a_wrong_name_would_be_found(wrong):
    with pytest.raises(AssertionError):
        promql.check(wrong)
