"""AdamW against one written from its papers in NumPy, and the schedule against its corners."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training import strategy as strategy_lib
from bert_tf.training.optimizer import AdamW, Schedule

SHAPES = {"matrix": (3, 5), "bias": (7,), "table": (11, 2), "unused": (2, 3)}
NUM_STEPS = 5


def reference(
    weights, gradients, rates, *, decay, bias_correction, max_norm, decaying=("matrix", "table")
):
    """AdamW in float64: Kingma and Ba 2015, algorithm 1; decay beside it, as Loshchilov's.

    The released code is the same without the correction of the bias.
    """
    weights = {name: value.astype(np.float64) for name, value in weights.items()}
    first = {name: np.zeros_like(value) for name, value in weights.items()}
    second = {name: np.zeros_like(value) for name, value in weights.items()}
    for step, (gradient, rate) in enumerate(zip(gradients, rates, strict=True), start=1):
        norm = np.sqrt(sum(np.sum(np.square(g, dtype=np.float64)) for g in gradient.values()))
        for name, g in gradient.items():
            g = g * min(1.0, max_norm / norm)
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.999 * second[name] + 0.001 * g**2
            m, v = first[name], second[name]
            if bias_correction:
                m, v = m / (1 - 0.9**step), v / (1 - 0.999**step)
            change = m / (np.sqrt(v) + 1e-6)
            if name in decaying:
                change = change + decay * weights[name]
            weights[name] = weights[name] - rate * change
    return weights


def data():
    """Initial weights and gradients; some so small that the epsilon counts."""
    rng = np.random.default_rng(5)
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}
    gradients = [
        {
            name: (rng.normal(size=shape) * (1e-5 if name == "bias" else 1.0)).astype(np.float32)
            for name, shape in SHAPES.items()
            if name != "unused"
        }
        for _ in range(NUM_STEPS)
    ]
    return weights, gradients


def train(weights, gradients, schedule, strategy=None, **settings):
    """Weights after the updates, and the norms that `apply` returned."""
    strategy = strategy or tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        variables = [tf.Variable(value) for value in weights.values()]
        optimizer = AdamW(variables, schedule, **settings)

    @tf.function
    def update(gradient, step):
        norms = strategy.run(
            lambda: optimizer.apply([gradient.get(name) for name in weights], variables, step)
        )
        return strategy.experimental_local_results(norms)[0]

    norms = [
        update(gradient, tf.constant(step, tf.int64)).numpy()
        for step, gradient in enumerate(gradients, start=1)
    ]
    return {name: v.numpy() for name, v in zip(weights, variables, strict=True)}, norms


@pytest.mark.parametrize("bias_correction", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("max_norm", [1e9, 0.7])
def test_updates_are_those_of_the_reference(bias_correction, decay, max_norm):
    weights, gradients = data()
    schedule = Schedule(0.02, NUM_STEPS, 2)
    found, _ = train(
        weights,
        gradients,
        schedule,
        weight_decay_rate=decay,
        bias_correction=bias_correction,
        max_grad_norm=max_norm,
    )
    wanted = reference(
        weights,
        gradients,
        [0.01, 0.02, 0.015, 0.01, 0.005],  # up in two updates, then a line to 0 after the fifth
        decay=decay,
        bias_correction=bias_correction,
        max_norm=max_norm,
    )
    for name, before in weights.items():
        largest = np.abs(wanted[name] - before).max()
        assert largest > 0.005 or name == "unused"
        # In float32, 1 - 0.999 is off by 1.3e-5 of itself; the update, which has its root, by half.
        np.testing.assert_allclose(
            found[name] - before, wanted[name] - before, atol=1e-5 * largest + 5e-7, err_msg=name
        )


def test_the_norm_is_that_before_clipping():
    weights, gradients = data()
    settings = {"weight_decay_rate": 0.0, "bias_correction": True, "max_grad_norm": 0.7}
    _, norms = train(weights, gradients, Schedule(0.02, NUM_STEPS, 2), **settings)
    wanted = [
        np.linalg.norm(np.concatenate([value.ravel() for value in gradient.values()]))
        for gradient in gradients
    ]
    assert min(wanted) > 1.0
    np.testing.assert_allclose(norms, wanted, rtol=1e-5)


def test_only_matrices_decay():
    weights, _ = data()
    gradients = [{name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()}]
    found, _ = train(
        weights,
        gradients,
        lambda update: 0.5,
        weight_decay_rate=0.2,
        bias_correction=True,
        max_grad_norm=1.0,
    )
    for name, shape in SHAPES.items():
        factor = 0.9 if len(shape) == 2 else 1.0
        np.testing.assert_allclose(found[name], weights[name] * factor, rtol=1e-6, err_msg=name)


def test_replicas_that_hold_the_same_gradients_stay_equal_to_one():
    weights, gradients = data()
    settings = {"weight_decay_rate": 0.1, "bias_correction": True, "max_grad_norm": 0.7}
    schedule = Schedule(0.02, NUM_STEPS, 2)
    one, _ = train(weights, gradients, schedule, **settings)
    two, _ = train(
        weights, gradients, schedule, strategy_lib.mirrored(["/cpu:0", "/cpu:1"]), **settings
    )
    for name in weights:
        np.testing.assert_array_equal(one[name], two[name], err_msg=name)


def test_the_moments_are_part_of_a_checkpoint():
    variables = [tf.Variable(tf.zeros(shape)) for shape in ((3, 5), (7,))]
    optimizer = AdamW(
        variables,
        Schedule(1.0, 2, 1),
        weight_decay_rate=0.0,
        bias_correction=True,
        max_grad_norm=1.0,
    )
    assert sorted(tuple(v.shape) for v in optimizer.variables) == [(3, 5), (3, 5), (7,), (7,)]
    assert not any(v.trainable for v in optimizer.variables)


def rates(schedule):
    updates = range(1, schedule.num_steps + 1)
    return np.array([schedule(tf.constant(n, tf.int64)).numpy() for n in updates])


def test_schedule_rises_to_its_peak_and_falls_to_zero_behind_the_last_update():
    found = rates(Schedule(12.0, 10, 4))
    wanted = [3.0, 6.0, 9.0, 12.0, 72 / 7, 60 / 7, 48 / 7, 36 / 7, 24 / 7, 12 / 7]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert Schedule(12.0, 10, 4)(11).numpy() == 0.0
    assert Schedule(12.0, 10, 4)(12).numpy() == 0.0


@pytest.mark.parametrize(
    ("num_steps", "num_warmup_steps"), [(1, 0), (2, 0), (2, 1), (97, 0), (97, 13), (97, 96)]
)
def test_schedule_moves_every_update_and_does_not_jump(num_steps, num_warmup_steps):
    found = rates(Schedule(1.0, num_steps, num_warmup_steps))
    assert found.min() > 0.0
    largest_step = max(1 / max(1, num_warmup_steps), 1 / (num_steps + 1 - num_warmup_steps))
    assert np.abs(np.diff([0.0, *found, 0.0])).max() <= max(largest_step, found[0]) + 1e-6
    if num_warmup_steps:
        assert found.argmax() == num_warmup_steps - 1
        assert found.max() == 1.0
    else:
        assert found.argmax() == 0


def test_schedule_of_the_paper():
    schedule = Schedule(1e-4, 1_000_000, 10_000)
    for update, wanted in [(1, 1e-8), (5_000, 5e-5), (10_000, 1e-4), (505_000, 5.00001e-5)]:
        np.testing.assert_allclose(schedule(tf.constant(update, tf.int64)).numpy(), wanted, 1e-4)
    assert 0 < schedule(tf.constant(1_000_000, tf.int64)).numpy() < 1.1e-10
