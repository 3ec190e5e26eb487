"""Every kind of schedule against its corners and values computed by hand."""

import math

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.optimization.schedules import Schedule

KINDS = ("linear", "polynomial", "cosine", "constant")


def rates(schedule):
    updates = range(1, schedule.num_steps + 1)
    return np.array([schedule(tf.constant(n, tf.int64)).numpy() for n in updates])


def test_linear_rises_to_its_peak_and_falls_to_zero_behind_the_last_update():
    found = rates(Schedule(12.0, 10, 4))
    wanted = [3.0, 6.0, 9.0, 12.0, 72 / 7, 60 / 7, 48 / 7, 36 / 7, 24 / 7, 12 / 7]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert Schedule(12.0, 10, 4)(11).numpy() == 0.0
    assert Schedule(12.0, 10, 4)(12).numpy() == 0.0


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        # Six updates after the peak would reach the end: 5/6, 4/6, 3/6, 2/6, 1/6 are ahead.
        ({"kind": "polynomial", "power": 2.0}, [8 * 25 / 36, 8 * 16 / 36, 2.0, 8 / 9, 2 / 9]),
        ({"kind": "polynomial", "power": 0.5}, [8 * math.sqrt(n / 6) for n in (5, 4, 3, 2, 1)]),
        (
            {"kind": "polynomial", "power": 2.0, "end_ratio": 0.25},
            [2 + 6 * 25 / 36, 2 + 6 * 16 / 36, 3.5, 2 + 6 / 9, 2 + 6 / 36],
        ),
        # 30, 60, 90, 120 and 150 degrees.
        (
            {"kind": "cosine"},
            [4 + 2 * math.sqrt(3), 6.0, 4.0, 2.0, 4 - 2 * math.sqrt(3)],
        ),
        ({"kind": "cosine", "end_ratio": 0.5}, [6 + math.sqrt(3), 7.0, 6.0, 5.0, 6 - math.sqrt(3)]),
        ({"kind": "linear", "end_ratio": 0.1}, [6.8, 5.6, 4.4, 3.2, 2.0]),
        ({"kind": "constant"}, [8.0, 8.0, 8.0, 8.0, 8.0]),
    ],
)
def test_each_kind_falls_as_its_formula_says(settings, wanted):
    found = rates(Schedule(8.0, 7, 2, **settings))
    np.testing.assert_allclose(found, [4.0, 8.0, *wanted], rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_behind_the_last_update_the_end_is_reached_and_kept(kind):
    end = 1.0 if kind == "constant" else 0.0
    for update in (8, 9, 1000):
        assert Schedule(1.0, 7, 2, kind)(tf.constant(update, tf.int64)).numpy() == end


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("num_steps", "num_warmup_steps"), [(1, 0), (2, 0), (2, 1), (97, 0), (97, 13), (97, 96)]
)
def test_warm_up_meets_the_decay_at_the_peak(kind, num_steps, num_warmup_steps):
    found = rates(Schedule(1.0, num_steps, num_warmup_steps, kind))
    assert found.min() > 0.0
    # A cosine is at most pi/2 times as steep as the line.
    fall = {"constant": 0.0, "cosine": math.pi / 2}.get(kind, 1.0)
    fall /= num_steps + 1 - num_warmup_steps
    rise = 1 / max(1, num_warmup_steps)
    assert np.abs(np.diff(found)).max(initial=0.0) <= max(rise, fall) + 1e-6
    if num_warmup_steps:
        np.testing.assert_allclose(found[0], rise, rtol=1e-6)
        assert found[num_warmup_steps - 1] == found.max() == 1.0
    else:
        assert found.argmax() == 0
        assert found[0] >= 1 - fall - 1e-6


def test_schedule_of_the_paper():
    schedule = Schedule(1e-4, 1_000_000, 10_000)
    for update, wanted in [(1, 1e-8), (5_000, 5e-5), (10_000, 1e-4), (505_000, 5.00001e-5)]:
        np.testing.assert_allclose(schedule(tf.constant(update, tf.int64)).numpy(), wanted, 1e-4)
    assert 0 < schedule(tf.constant(1_000_000, tf.int64)).numpy() < 1.1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_in_a_compiled_loop(kind):
    schedule = Schedule(3.0, 11, 3, kind, power=2.0)

    @tf.function(jit_compile=True, autograph=False)
    def total():
        return tf.while_loop(
            lambda update, _: update <= 11,
            lambda update, sum_: (update + 1, sum_ + schedule(update)),
            (tf.constant(1, tf.int64), tf.constant(0.0)),
        )[1]

    np.testing.assert_allclose(total().numpy(), rates(schedule).sum(), rtol=1e-5)
