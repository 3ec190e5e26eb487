"""A diverged run is stopped; one that only looks diverged continues."""

import json
import math

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.errors import InputError, UnfinishedError
from bert_tf.training.devices import strategies
from bert_tf.training.monitoring.guards import DivergedError, LossGuard, ReplicaCheck

WINDOW, PATIENCE = 100, 400


def guard(**arguments):
    return LossGuard(lambda: "training/step-7", window=WINDOW, patience=PATIENCE, **arguments)


def stopped_at(losses, guard):
    """Index of the loss that the guard stops at, or None."""
    for index, loss in enumerate(losses):
        try:
            guard.check(index, float(loss))
        except DivergedError:
            return index
    return None


def decay(num_steps, first=10.4, last=2.1, rate=700.0):
    return last + (first - last) * np.exp(-np.arange(num_steps) / rate)


def noise(num_steps, scale, seed=0):
    return np.random.default_rng(seed).normal(0.0, scale, num_steps)


def heavy_noise(num_steps, seed=0):
    """Single losses up to a hundred times their median, as in the fine-tuning of a small set."""
    return 0.02 * np.random.default_rng(seed).lognormal(0.0, 1.7, num_steps)


def spikes(num_steps, every, height, num_wide):
    """A rise every so often that falls off again with the given width."""
    return height * np.exp(-(np.arange(num_steps) % every) / num_wide)


NUM_STEPS = 5003
ONWARDS = np.arange(NUM_STEPS)
HEALTHY = {
    "smooth": decay(NUM_STEPS),
    "noisy": decay(NUM_STEPS) + noise(NUM_STEPS, 0.5),
    "very noisy": decay(NUM_STEPS, last=4.0) + noise(NUM_STEPS, 1.3),
    "noise that grows": decay(NUM_STEPS) + noise(NUM_STEPS, 1.0) * ONWARDS / NUM_STEPS,
    "no learning": 10.4 + noise(NUM_STEPS, 0.1),
    "no learning, no noise": np.full(NUM_STEPS, 0.7),
    "already at zero": np.abs(noise(NUM_STEPS, 1e-4)),
    "heavy tails near zero": decay(NUM_STEPS, first=0.7, last=0.0) + heavy_noise(NUM_STEPS),
    "one in fifty is a spike": decay(NUM_STEPS) + 30.0 * (ONWARDS % 50 == 49),
    "spikes that recover": decay(NUM_STEPS) + spikes(NUM_STEPS, 1009, 8.0, 130) * (ONWARDS > 1009),
    "a plateau of 300 that recovers": decay(NUM_STEPS) + 6.0 * (abs(ONWARDS - 3000) < 150),
    "a warm-up that undoes a little": 2.3
    + noise(NUM_STEPS, 0.03)
    + 0.3 * np.exp(-(((ONWARDS - 1500) / 600.0) ** 2)),
    "a rise of a third of the fall": decay(NUM_STEPS) + 2.5 * (ONWARDS > 3000),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_goes_on(name):
    assert stopped_at(HEALTHY[name], guard()) is None


ONSET = 2003
SINCE = np.maximum(0, ONWARDS - ONSET)
DIVERGED = {
    "back to the word frequencies": decay(NUM_STEPS) + 5.0 * (SINCE > 0) + noise(NUM_STEPS, 0.2),
    "blown up": decay(NUM_STEPS) + 1e6 * (SINCE > 0),
    "grows without end": decay(NUM_STEPS) + np.expm1(np.minimum(SINCE / 50.0, 60.0)),
    "swings ever wider": decay(NUM_STEPS) + np.exp(SINCE / 300.0) * (SINCE > 0) * (SINCE % 3 > 0),
    "loses what it brought along": 2.3 + noise(NUM_STEPS, 0.1) + 5.0 * (SINCE > 0),
    "fine-tuning that collapses": decay(NUM_STEPS, first=0.9, last=0.05)
    + heavy_noise(NUM_STEPS)
    + 0.7 * (SINCE > 0),
}


@pytest.mark.parametrize("name", DIVERGED)
def test_a_diverged_run_is_stopped(name):
    step = stopped_at(DIVERGED[name], guard())
    assert step is not None
    assert ONSET + PATIENCE < step < ONSET + 3 * PATIENCE


def test_half_of_what_was_learned_lost_at_once_is_seen_in_time():
    # The median turns after half a window, and then the patience runs.
    assert stopped_at(DIVERGED["blown up"], guard()) == ONSET + WINDOW // 2 + PATIENCE - 1


def test_a_slow_way_back_is_seen_where_it_crosses_the_limit():
    losses = np.concatenate([decay(3001), np.linspace(2.2, 9.0, 3001)])
    step = stopped_at(losses, guard())
    assert 6.0 < losses[step - PATIENCE] < 6.6  # half of the way from about 9.8 to 2.2 is 6.0


@pytest.mark.parametrize(
    ("loss", "norm"), [(math.nan, 1.0), (math.inf, 1.0), (2.0, math.nan), (2.0, math.inf)]
)
def test_a_value_that_is_not_finite_stops_at_once(loss, norm):
    found = guard(record_files=lambda step: ["a.tfrecord", f"{step}.tfrecord"])
    with pytest.raises(DivergedError) as caught:
        found.check(13, loss, norm)
    assert caught.value.step == 13
    assert caught.value.last_good == "training/step-7"
    assert caught.value.record_files == ["a.tfrecord", "13.tfrecord"]
    message = str(caught.value)
    assert "Step 13: the loss is " in message
    assert "Its batch was read from a.tfrecord, 13.tfrecord." in message
    assert "The last good state is training/step-7." in message
    assert "--learning_rate" in message
    assert isinstance(caught.value, InputError) and isinstance(caught.value, FloatingPointError)


def test_of_many_record_files_the_message_names_some():
    error = DivergedError("x.", 5, None, [f"{i}.tfrecord" for i in range(11)])
    assert "7.tfrecord and 3 more." in str(error)
    assert "No good state was saved." in str(error)


def test_an_infinite_norm_is_passed_over_where_it_is_left_out():
    guard().check(1, 2.0)


def test_a_guard_that_was_restored_stops_where_the_whole_one_does():
    losses = DIVERGED["back to the word frequencies"]
    whole = stopped_at(losses, guard())
    for killed_at in (50, 1500, whole - 200):
        first, second = guard(), guard()
        assert stopped_at(losses[:killed_at], first) is None
        second.load(json.loads(json.dumps(first.state())))
        assert stopped_at(losses[killed_at:], second) == whole - killed_at


def test_a_reset_makes_another_level_the_measure():
    found = guard()
    assert stopped_at(decay(3001), found) is None
    found.reset()
    assert stopped_at(np.full(3001, 9.7), found) is None


def test_states_are_suspicious_from_soon_after_the_onset_until_it_is_over():
    losses = HEALTHY["a plateau of 300 that recovers"]
    found, suspicious = guard(), []
    for step, loss in enumerate(losses):
        found.check(step, float(loss))
        if found.is_suspicious:
            suspicious.append(step)
    assert 2851 <= suspicious[0] < 2851 + 5
    assert suspicious == list(range(suspicious[0], suspicious[-1] + 1))
    assert 3149 < suspicious[-1] < 3149 + WINDOW


def test_the_first_losses_are_not_suspicious():
    found = guard()
    assert not found.is_suspicious
    found.check(1, 1e9)
    assert not found.is_suspicious


# Two replicas.


@pytest.fixture(scope="module")
def two():
    return strategies.mirrored(["/cpu:0", "/cpu:1"])


def copies(strategy, values):
    """A variable for each value, the same on every replica."""
    with strategy.scope():
        return [tf.Variable(v, name=f"v{i}", trainable=False) for i, v in enumerate(values)]


def values():
    rng = np.random.default_rng(7)
    return [
        rng.normal(size=[11, 3]).astype(np.float32),
        tf.constant(rng.normal(size=[5]), tf.bfloat16),
        tf.constant(rng.normal(size=[7]), tf.float16),
        np.arange(13, dtype=np.int64) << 31,
        np.array([True, False]),
        np.float32(0.0),
    ]


def change(strategy, variable, place, value):
    """Changes one value of the second replica's copy."""
    copy = strategy.experimental_local_results(variable)[1]
    changed = copy.numpy().reshape(-1)
    changed[place] = value
    copy.assign(changed.reshape(copy.shape))


def test_replicas_that_hold_the_same_agree(two):
    assert not ReplicaCheck(two, copies(two, values())).differing()
    assert not ReplicaCheck(
        tf.distribute.OneDeviceStrategy("/cpu:0"), [tf.Variable(1.0)]
    ).differing()


@pytest.mark.parametrize(
    ("index", "place", "value"),
    [(0, 32, 5.0), (1, 0, 5.0), (2, 6, 5.0), (3, 12, 13 << 40), (4, 1, True), (5, 0, -0.0)],
)
def test_one_changed_value_is_found_and_named(two, index, place, value):
    variables = copies(two, values())
    change(two, variables[index], place, value)
    assert ReplicaCheck(two, variables).differing()
    assert ReplicaCheck(two, variables).differing() == [variables[index].name]


def test_the_last_bit_counts(two):
    variables = copies(two, values())
    value = variables[0].numpy()[10, 2]
    change(two, variables[0], 32, np.nextafter(value, np.float32(np.inf)))
    assert ReplicaCheck(two, variables).differing()


def test_values_that_change_places_or_signs_are_found(two):
    variables = copies(two, [np.array([2.0, 3.0, 5.0, 7.0], np.float32)])
    check = ReplicaCheck(two, variables)
    for changed in ([3.0, 2.0, 5.0, 7.0], [-2.0, -3.0, 5.0, 7.0], [2.0, 3.0, 7.0, 5.0]):
        two.experimental_local_results(variables[0])[1].assign(changed)
        assert check.differing() == [variables[0].name]
    two.experimental_local_results(variables[0])[1].assign([2.0, 3.0, 5.0, 7.0])
    assert check.differing() == []


def test_replicas_that_have_come_apart_stop_the_run(two):
    variables = copies(two, values())
    check = ReplicaCheck(two, variables)
    check.check(7, None)
    change(two, variables[0], 3, 0.0)
    with pytest.raises(UnfinishedError, match=r"Step 11: .*v0.*last good state is x/step-7; the"):
        check.check(11, "x/step-7")
