"""What the tests of training share."""

import types

import pytest


@pytest.fixture(autouse=True)
def known_peak(monkeypatch):
    """The peak of the machine, which takes a run seconds to measure; `test_peak` measures it."""
    peak = types.SimpleNamespace(of_strategy=lambda *_: 1e11)
    monkeypatch.setattr("bert_tf.training.pretraining.pretrain.peak", peak)
