import types

import pytest

from serving import catalogue
from serving.status import Code, ServingError


@pytest.fixture
def models():
    models = catalogue.Catalogue()
    for version in (5, 11, 2):
        models.add(types.SimpleNamespace(name="m", version=version))
    return models


def test_the_largest_version_answers_unless_one_is_named(models):
    assert models.find("m").version == 11
    assert models.find("m", version=5).version == 5


def test_status_is_newest_first(models):
    listed = models.status("m")["model_version_status"]
    assert [entry["version"] for entry in listed] == ["11", "5", "2"]


def test_what_is_unknown_is_not_found(models):
    with pytest.raises(ServingError, match=r"Specific\(m, 3\)") as raised:
        models.find("m", version=3)
    assert raised.value.code == Code.NOT_FOUND
    with pytest.raises(ServingError, match="label: stable") as raised:
        models.find("m", label="stable")
    assert raised.value.code == Code.INVALID_ARGUMENT
