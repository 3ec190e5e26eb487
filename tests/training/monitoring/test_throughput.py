"""Rates by hand, with a clock that the tests advance."""

import pytest

from bert_tf.training.monitoring.throughput import Meter, Rates
from bert_tf.training.phases import Phase


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def phase(length, steps, batch):
    return Phase(max_seq_length=length, num_steps=steps, batch_size=batch, learning_rate=0.1)


def test_nothing_is_known_before_the_first_update(clock):
    assert Meter([phase(11, 20, 4)], clock=clock).rates() is None


def test_rates_by_hand(clock):
    # 4 rows of 11: 44 positions an update, of which 33 were computed and 22 were real.
    meter = Meter([phase(11, 20, 4)], 0, [50.0], 6600.0, clock)
    clock.now += 30.0  # tracing and compiling
    meter.advance(1, 22, 33)
    clock.now += 2.0
    meter.advance(4, 88, 132)
    assert meter.rates() == Rates(
        steps_per_second=2.0,  # 4 in 2 seconds: the first call no longer counts
        examples_per_second=8.0,
        tokens_per_second=44.0,
        real_share=pytest.approx(2 / 3),
        mfu=pytest.approx(0.5),  # 132 * 50 FLOPs in 2 seconds are 3300 a second
        seconds_left=7.5,  # 15 updates
    )


def test_a_utilisation_above_all_is_not_shown(clock):
    # 132 positions of 50 FLOPs in 2 seconds are 3300 a second, above what was measured.
    meter = Meter([phase(11, 20, 4)], 0, [50.0], 3000.0, clock)
    meter.advance(1, 22, 33)
    clock.now += 2.0
    meter.advance(4, 88, 132)
    assert meter.rates().mfu is None
    assert meter.rates().steps_per_second == 2.0


@pytest.mark.parametrize("step", [0, 6])
def test_the_first_call_says_nothing(clock, step):
    meter = Meter([phase(11, 20, 4)], step, clock=clock)
    clock.now += 10.0
    meter.advance(5, 100, 200)
    assert meter.rates() is None


def test_the_first_call_of_a_phase_says_nothing(clock):
    meter = Meter([phase(11, 20, 4), phase(17, 20, 4)], clock=clock)
    for steps in (1, 19):
        clock.now += 1.0
        meter.advance(steps, 10, 10)
    assert meter.rates() is not None
    clock.now += 30.0
    meter.advance(1, 10, 10)
    assert meter.rates() is None
    clock.now += 2.0
    meter.advance(4, 10, 10)
    assert meter.rates().steps_per_second == 2.0


def test_only_the_last_minute_counts(clock):
    meter = Meter([phase(7, 1000, 3)], clock=clock)
    meter.advance(1, 10, 21)
    for steps in (100, 100, 10, 10, 10):
        clock.now += 20.0
        meter.advance(steps, 10 * steps, 21 * steps)
    assert meter.rates().steps_per_second == pytest.approx(30 / 60)
    assert meter.rates().tokens_per_second == pytest.approx(300 / 60)


def test_a_call_longer_than_a_minute_counts_whole(clock):
    meter = Meter([phase(7, 1000, 3)], clock=clock)
    meter.advance(1, 10, 21)
    clock.now += 5.0
    meter.advance(50, 10, 21)
    clock.now += 200.0
    meter.advance(40, 10, 21)
    assert meter.rates().steps_per_second == pytest.approx(40 / 200)


def test_the_time_left_is_that_of_all_phases(clock):
    phases = [phase(10, 100, 2), phase(40, 30, 1)]
    # An update: 2 * 10 * 6 = 120 FLOPs, then 1 * 40 * 9 = 360.
    meter = Meter(phases, 0, [6.0, 9.0], 1e6, clock)
    meter.advance(1, 20, 20)
    clock.now += 8.0
    meter.advance(79, 20, 20)
    # 79 updates in 8 seconds. Left: 20 short updates, and 30 that cost three times as much.
    assert meter.rates().seconds_left == pytest.approx((20 + 3 * 30) * 8 / 79)
    clock.now += 2.0
    meter.advance(20, 20, 20)
    clock.now += 50.0
    meter.advance(1, 40, 40)  # compiles for the new length
    clock.now += 9.0
    meter.advance(3, 120, 120)
    rates = meter.rates()
    assert rates.steps_per_second == pytest.approx(3 / 9)
    assert rates.seconds_left == pytest.approx(26 * 3)
    assert rates.mfu == pytest.approx(120 * 9 / 9 / 1e6)


def test_without_flops_a_position_costs_the_same_everywhere(clock):
    meter = Meter([phase(10, 100, 2), phase(40, 30, 1)], peak_flops=1e6, clock=clock)
    meter.advance(1, 20, 20)
    clock.now += 10.0
    meter.advance(99, 20, 20)
    assert meter.rates().seconds_left == pytest.approx(30 * 2 * 10 / 99)
    assert meter.rates().mfu is None


def test_a_restart_counts_from_where_it_goes_on(clock):
    meter = Meter([phase(10, 100, 2), phase(40, 30, 1)], 110, [6.0, 9.0], 1e6, clock)
    meter.advance(1, 40, 40)
    clock.now += 4.0
    meter.advance(2, 80, 80)
    rates = meter.rates()
    assert rates.mfu == pytest.approx(80 * 9 / 4 / 1e6)
    assert rates.seconds_left == pytest.approx((130 - 113) * 2)


def test_at_the_end_nothing_is_left(clock):
    meter = Meter([phase(10, 5, 2)], clock=clock)
    meter.advance(1, 20, 20)
    clock.now += 1.0
    meter.advance(4, 20, 20)
    assert meter.rates().seconds_left == 0.0


def test_what_is_logged_and_shown():
    rates = Rates(2.0, 8.0, 4412.3, 0.66666, 0.4567, 7500.0)
    assert rates.values() == {
        "steps_per_second": 2.0,
        "examples_per_second": 8.0,
        "tokens_per_second": 4412.3,
        "real_share": 0.66666,
        "mfu": 0.4567,
    }
    # In this order: a narrow terminal shows the first ones only.
    assert list(rates.note().items()) == [
        ("steps/s", "2"),
        ("tokens/s", "4,412"),
        ("MFU", "46 %"),
        ("not padding", "67 %"),
    ]
    assert "mfu" not in Rates(2.0, 8.0, 4.0, 0.5, None, 1.0).values()
    assert "MFU" not in Rates(2.0, 8.0, 4.0, 0.5, None, 1.0).note()
