import types

import pytest

from serving import options
from serving.models import loading
from serving.monitoring.metrics import Metrics
from serving.status import Code, ServingError


@pytest.fixture
def load(monkeypatch):
    """`load(records or error, **flags)`: what is counted for a model with such a warm-up."""
    closed = []
    monkeypatch.setattr(
        loading,
        "Servable",
        lambda name, version, path, settings: types.SimpleNamespace(
            name=name, version=version, path=path, close=lambda: closed.append(path)
        ),
    )

    def run(outcome, **flags):
        def warm_up(servable, repeats):
            warm_up.repeats = repeats
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        monkeypatch.setattr(loading.warmup, "run", warm_up)
        metrics = Metrics()
        flags = options.ModelFlags(model_base_path="m", **flags)
        try:
            loading.ServableLoader(flags, metrics, run.lines.append)("m", 1, "/m/1")
        except ServingError as error:
            assert error is outcome
        counted = [line for line in metrics.page().splitlines() if "/m/1" in line]
        return counted, closed, getattr(warm_up, "repeats", None)

    run.lines = []
    return run


LOADED = ':tensorflow:cc:saved_model:load_attempt_count{model_path="/m/1",status="success"} 1'
READ = ':tensorflow:serving:model_warmup_records_read{model_path="/m/1",status="%s"} %d'


def test_loads_and_warm_ups_are_counted(load):
    lines, closed, repeats = load(3, num_request_iterations_for_warmup=2)
    assert LOADED in lines and READ % ("OK", 3) in lines
    assert (closed, repeats) == ([], 2)
    assert load.lines[0].startswith("m, version 1: 3 warm-up requests in ")


def test_what_cannot_be_warmed_up_is_unloaded(load):
    lines, closed, repeats = load(ServingError(Code.DATA_LOSS, "torn"))
    assert LOADED in lines and READ % ("DATA_LOSS: torn", 0) in lines
    assert (closed, repeats) == (["/m/1"], 1)


def test_a_version_without_warm_up_counts_none(load):
    assert not any("warmup" in line for line in load(0)[0])
    assert load(5, enable_model_warmup=False)[2] is None


def test_a_load_that_fails_is_counted(base_path):
    metrics = Metrics()
    loader = loading.ServableLoader(options.ModelFlags(model_base_path="m"), metrics, print)
    with pytest.raises(ServingError):
        loader("m", 3, str(base_path / "3"))
    assert metrics.load_attempt_count.value(str(base_path / "3"), "fail") == 1
