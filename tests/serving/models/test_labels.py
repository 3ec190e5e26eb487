import pytest

from serving.models import labels
from serving.models.config import ModelConfig
from serving.status import Code, ServingError


def assign(wanted, available=(), old=None, *, allow_unavailable=False):
    configs = [ModelConfig("m", "/m", labels=wanted)]
    old = {"m": old} if old else {}
    return labels.assigned(configs, {"m": available}, old, allow_unavailable=allow_unavailable)


def test_labels_of_available_versions():
    assert assign({"stable": 1, "canary": 2}, {1, 2}) == {"m": {"stable": 1, "canary": 2}}
    assert assign({}, {1}, {"stable": 1}) == {}


def refusal(*args, **kwargs):
    with pytest.raises(ServingError) as raised:
        assign(*args, **kwargs)
    assert raised.value.code == Code.FAILED_PRECONDITION
    return raised.value.message


def test_a_version_that_is_not_available_has_no_label():
    assert refusal({"canary": 2}, {1}) == (
        "Request to assign label to version 2 of model m, which is not currently available for "
        "inference"
    )


def test_the_flag_allows_it_to_labels_that_do_not_move():
    allowed = {"allow_unavailable": True}
    assert assign({"canary": 2}, {1}, **allowed) == {"m": {"canary": 2}}
    assert assign({"canary": 2}, {1}, {"canary": 2}, **allowed) == {"m": {"canary": 2}}
    assert "version 2" in refusal({"canary": 2}, {1}, {"canary": 1}, **allowed)
