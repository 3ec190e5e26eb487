"""Scalars as TensorBoard reads them, a restart included."""

import numpy as np
import pytest

from bert_tf.training.monitoring.event_file import EventFile


@pytest.fixture
def shown(tmp_path):
    """Reads the curve of a tag with TensorBoard's own reader: list of (step, value)."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")

    def read(tag):
        found = accumulator.EventAccumulator(str(tmp_path))
        found.Reload()
        return [
            (event.step, float(np.float32(event.value)))
            if hasattr(event, "value")
            else (event.step, float(event.tensor_proto.float_val[0]))
            for event in (
                found.Scalars(tag) if tag in found.Tags()["scalars"] else found.Tensors(tag)
            )
        ]

    return read


def test_scalars(tmp_path, shown):
    events = EventFile(tmp_path, 1, 0, 1000.0)
    events.add(3, 1001.0, {"loss": 2.5, "norm": 7})
    events.add(5, 1002.0, {"loss": 1.5})
    events.close()
    assert shown("loss") == [(3, 2.5), (5, 1.5)]
    assert shown("norm") == [(3, 7.0)]


def test_what_is_flushed_is_seen_while_the_file_is_open(tmp_path, shown):
    events = EventFile(tmp_path, 1, 0, 1000.0)
    events.add(3, 1001.0, {"loss": 2.5})
    events.flush()
    assert shown("loss") == [(3, 2.5)]
    events.close()


def test_a_restart_takes_the_place_of_what_came_after_its_step(tmp_path, shown):
    before = EventFile(tmp_path, 1, 0, 1000.0)
    for step in (2, 4, 6, 8):
        before.add(step, 1000.0 + step, {"loss": float(step)})
    before.close()
    # Within the same second: the number of the start keeps the order.
    again = EventFile(tmp_path, 2, 4, 1000.5)
    again.add(7, 1009.0, {"loss": 70.0})
    again.close()
    assert shown("loss") == [(2, 2.0), (4, 4.0), (7, 70.0)]
    assert len(list(tmp_path.iterdir())) == 2
