import dataclasses
import os
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from bert_tf import checkpoints
from bert_tf.checkpoints import saving
from bert_tf.modeling import models
from bert_tf.modeling.encoder import Encoder
from tests.modeling import harness

TINY = pathlib.Path(__file__).parent.parent / "data" / "tiny-tf1"

MAKERS = {
    "encoder": Encoder,
    "pretraining": models.PretrainingModel,
    "classification": lambda config: models.ClassifierModel(config, num_classes=3),
    "spans": models.SpanModel,
    "left-to-right": lambda config: models.PretrainingModel(
        dataclasses.replace(config, is_causal=True), has_next_sentence=False
    ),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_round_trip_gives_every_bit_back(kind, tmp_path):
    model = harness.randomize(MAKERS[kind](harness.config()))
    checkpoints.save(model, tmp_path / "out")
    checkpoint = checkpoints.open_checkpoint(tmp_path / "out")
    assert checkpoint.config == model.config
    copy = MAKERS[kind](harness.config())
    report = checkpoints.load(copy, checkpoint)
    assert not report.fresh and not report.skipped and not report.not_weights
    for one, other in zip(copy.get_weights(), model.get_weights(), strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_released_checkpoint_is_written_as_it_was(tmp_path):
    released = checkpoints.open_checkpoint(TINY)
    model = models.PretrainingModel(released.config)
    checkpoints.load(model, released)
    checkpoints.save(model, tmp_path / "out")
    written = checkpoints.open_checkpoint(tmp_path / "out")
    slots = {n for n in released.names if n.endswith(("/adam_m", "/adam_v", "global_step"))}
    assert set(written.names) == set(released.names) - slots
    for name in written.names:
        assert written.read(name).tobytes() == released.read(name).tobytes()
        assert written.read(name).dtype == np.float32


def test_the_files_are_those_of_a_released_checkpoint(tmp_path):
    checkpoints.save(harness.randomize(Encoder(harness.config())), tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out")) == [
        "bert_config.json",
        "bert_model.ckpt.data-00000-of-00001",
        "bert_model.ckpt.index",
    ]
    assert os.listdir(tmp_path) == ["out"]


def test_what_was_there_is_replaced_whole(tmp_path):
    model = harness.randomize(models.SpanModel(harness.config()))
    checkpoints.save(model, tmp_path / "out")
    (tmp_path / "out" / "left_over").write_text("x")
    checkpoints.save(harness.randomize(model, seed=9), tmp_path / "out")
    assert "left_over" not in os.listdir(tmp_path / "out")
    checkpoint = checkpoints.open_checkpoint(tmp_path / "out")
    np.testing.assert_array_equal(checkpoint.read("cls/squad/output_bias"), model.span.bias.value)


def test_a_failed_write_leaves_the_old_one(tmp_path, monkeypatch):
    model = harness.randomize(Encoder(harness.config()))
    checkpoints.save(model, tmp_path / "out")

    def fail(**_):
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    monkeypatch.setattr(tf.raw_ops, "SaveV2", fail)
    with pytest.raises(tf.errors.ResourceExhaustedError):
        checkpoints.save(harness.randomize(model, seed=9), tmp_path / "out")
    assert os.listdir(tmp_path) == ["out"]
    harness.randomize(model)
    checkpoints.load(Encoder(harness.config()), checkpoints.open_checkpoint(tmp_path / "out"))


def test_half_precision_models_write_float32(tmp_path):
    model = Encoder(harness.config(), dtype="mixed_bfloat16")
    assert {array.dtype.name for array in saving.to_arrays(model).values()} == {"float32"}


def test_a_variable_without_a_row_is_an_error():
    model = Encoder(harness.config(), name="another")
    with pytest.raises(ValueError, match="TensorFlow 1 has no row for .*another/"):
        saving.to_arrays(model)
