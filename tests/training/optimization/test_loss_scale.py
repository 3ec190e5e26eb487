"""The loss scale through growth and overflow."""

import pytest
import tensorflow as tf

from bert_tf.training.devices import strategies
from bert_tf.training.optimization.loss_scale import SMALLEST, LossScale


def recorder(replicas=1, **settings):
    """(loss scale, function that records one update), under that many replicas."""
    strategy = strategies.mirrored([f"/cpu:{i}" for i in range(replicas)])
    with strategy.scope():
        loss_scale = LossScale(**settings)

    @tf.function(autograph=False)
    def record(is_finite):
        def replica():
            tf.distribute.get_replica_context().merge_call(loss_scale.record, args=(is_finite,))

        strategy.run(replica)

    return loss_scale, lambda is_finite: record(tf.constant(is_finite))


def state(variable):
    """The value on every replica, which must agree."""
    values = {copy.numpy() for copy in getattr(variable, "values", [variable])}
    assert len(values) == 1
    return values.pop()


@pytest.mark.parametrize("replicas", [1, 2])
def test_it_grows_after_good_updates_in_a_row_and_halves_at_once(replicas):
    loss_scale, record = recorder(replicas, initial=64.0, growth_steps=3)
    wanted = [
        (True, 64.0, 1, 0),
        (True, 64.0, 2, 0),
        (False, 32.0, 0, 1),
        (True, 32.0, 1, 1),
        (True, 32.0, 2, 1),
        (True, 64.0, 0, 1),
        (True, 64.0, 1, 1),
        (False, 32.0, 0, 2),
        (False, 16.0, 0, 3),
    ]
    for is_finite, value, num_good, num_skipped in wanted:
        record(is_finite)
        found = (loss_scale.value, loss_scale.num_good, loss_scale.num_skipped)
        assert tuple(map(state, found)) == (value, num_good, num_skipped)


def test_it_starts_as_published_recipes_do():
    loss_scale = LossScale()
    assert loss_scale.value.numpy() == 32768.0
    assert len(loss_scale.variables) == 3
    assert not any(variable.trainable for variable in loss_scale.variables)


def test_two_thousand_good_updates_double_it():
    loss_scale, record = recorder(initial=8.0)
    loss_scale.num_good.assign(1998)
    record(True)
    assert loss_scale.value.numpy() == 8.0
    record(True)
    assert loss_scale.value.numpy() == 16.0


def test_it_stays_between_its_ends():
    loss_scale, record = recorder(initial=2.0, growth_steps=1)
    for _ in range(3):
        record(False)
    assert loss_scale.value.numpy() == SMALLEST == 1.0
    for _ in range(43):
        record(True)
    assert loss_scale.value.numpy() == 2.0**40
