"""The dashboard, as Grafana imports it."""

import itertools
import json
import re

import pytest

from serving.deployment import dashboard
from tests.reference import promql

DOCUMENT = json.loads(json.dumps(dashboard.document("a title")))
EXPRESSIONS = [target["expr"] for panel in DOCUMENT["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_query_names_metrics_that_there_are(expression):
    assert promql.check(expression)


def test_legends_name_labels_that_the_query_keeps():
    for panel in DOCUMENT["panels"]:
        for target in panel["targets"]:
            kept = re.search(r"\bby \(([^)]*)\)", target["expr"])
            kept = {label.strip() for label in kept[1].split(",")} if kept else set()
            assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= kept


def test_panels_are_numbered_and_do_not_overlap():
    places = [panel["gridPos"] for panel in DOCUMENT["panels"]]
    assert [panel["id"] for panel in DOCUMENT["panels"]] == list(range(1, len(places) + 1))
    for one, other in itertools.combinations(places, 2):
        apart = abs(one["x"] - other["x"]) >= min(one["w"], other["w"]) or abs(
            one["y"] - other["y"]
        ) >= min(one["h"], other["h"])
        assert apart
    assert all(place["x"] + place["w"] <= 24 for place in places)


def test_variables_that_queries_use_are_defined():
    text = json.dumps(DOCUMENT)
    used = set(re.findall(r"\$\{?([a-z]\w*)", text))
    assert used == {variable["name"] for variable in DOCUMENT["templating"]["list"]}
    query = next(
        each["query"] for each in DOCUMENT["templating"]["list"] if each["name"] == "model"
    )
    name, label = re.fullmatch(r"label_values\((\S+), (\w+)\)", query).groups()
    assert label in promql.series()[name]
