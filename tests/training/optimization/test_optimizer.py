"""AdamW and LAMB against NumPy implementations written from their papers."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.training.devices import strategies
from bert_tf.training.optimization.loss_scale import LossScale
from bert_tf.training.optimization.optimizer import LAMB, AdamW
from bert_tf.training.optimization.parameter_groups import ParameterGroup
from bert_tf.training.optimization.schedules import Schedule

SHAPES = {"matrix": (3, 5), "bias": (7,), "table": (11, 2), "fused": (2, 9), "unused": (2, 3)}
GROUPS = {
    "matrix": ParameterGroup(decays=True),
    "bias": ParameterGroup(decays=False),
    "table": ParameterGroup(decays=False),  # the group decides, not the rank
    "fused": ParameterGroup(decays=True, num_blocks=3),
    "unused": ParameterGroup(decays=True),
}
# Rates that differ from variable to variable.
SLOWER = GROUPS | {
    "matrix": ParameterGroup(decays=True, rate_factor=0.25),
    "bias": ParameterGroup(decays=False, rate_factor=0.5),
}
NO_ANCHORS = {}  # every variable decays towards 0
ANCHORS = {
    name: np.random.default_rng(13).normal(size=SHAPES[name]) for name in ("matrix", "fused")
}
ANCHOR_OF_2_7 = np.ones((2, 7))
NUM_STEPS = 5
SCHEDULE = Schedule(0.02, NUM_STEPS, 2)
RATES = [0.01, 0.02, 0.015, 0.01, 0.005]  # up in two updates, then a line to 0 after the fifth
SETTINGS = {"weight_decay_rate": 0.3, "bias_correction": True, "max_grad_norm": 0.7}


def reference(kind, weights, gradients, rates, settings, groups=GROUPS, anchors=NO_ANCHORS):
    """Kingma and Ba 2015, algorithm 1, decay as Loshchilov's; You et al. 2020, algorithm 2.

    The rate of a group is a share of the rate. Decay is a step towards the anchor, as the gradient
    of the penalty of Li et al. 2018, section 3, is.
    """
    weights = {name: value.astype(np.float64) for name, value in weights.items()}
    first = {name: np.zeros_like(value) for name, value in weights.items()}
    second = {name: np.zeros_like(value) for name, value in weights.items()}
    for step, (gradient, rate) in enumerate(zip(gradients, rates, strict=True), start=1):
        norm = np.sqrt(sum(np.sum(np.square(g, dtype=np.float64)) for g in gradient.values()))
        for name, g in gradient.items():
            g = g * min(1.0, settings["max_grad_norm"] / norm)
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.999 * second[name] + 0.001 * g**2
            m, v = first[name], second[name]
            if settings["bias_correction"]:
                m, v = m / (1 - 0.9**step), v / (1 - 0.999**step)
            change = m / (np.sqrt(v) + 1e-6)
            if groups[name].decays:
                away = weights[name] - anchors.get(name, 0.0)
                change = change + settings["weight_decay_rate"] * away
                if kind is LAMB:
                    change = adapted(change, weights[name], groups[name].num_blocks)
            weights[name] = weights[name] - rate * groups[name].rate_factor * change
    return weights


def adapted(change, weights, num_blocks):
    """Each block of columns of the change as long as that of the weights; none may be 0 here."""
    pairs = zip(
        np.split(change, num_blocks, axis=1), np.split(weights, num_blocks, axis=1), strict=True
    )
    return np.concatenate(
        [part * np.linalg.norm(of) / np.linalg.norm(part) for part, of in pairs], axis=1
    )


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


def make(
    kind,
    weights,
    strategy,
    schedule=SCHEDULE,
    loss_scale=None,
    groups=GROUPS,
    anchors=NO_ANCHORS,
    **settings,
):
    """(variables, optimizer) under the strategy's scope."""
    with strategy.scope():
        variables = [tf.Variable(value) for value in weights.values()]
        anchored = {
            name: dataclasses.replace(
                groups[name], anchor=tf.Variable(value.astype(np.float32), trainable=False)
            )
            for name, value in anchors.items()
        }
        return variables, kind(
            variables,
            schedule,
            groups=[(groups | anchored)[name] for name in weights],
            loss_scale=loss_scale() if loss_scale else None,
            **SETTINGS | settings,
        )


def train(kind, weights, gradients, strategy=None, compiled=False, **settings):
    """Weights after the updates, the norms that `apply` returned, and the optimizer."""
    strategy = strategy or tf.distribute.OneDeviceStrategy("/cpu:0")
    variables, optimizer = make(kind, weights, strategy, **settings)

    @tf.function(jit_compile=compiled, autograph=False)
    def update(gradient, step):
        norms = strategy.run(
            lambda: optimizer.apply([gradient.get(name) for name in weights], variables, step)
        )
        return strategy.experimental_local_results(norms)[0]

    norms = [
        update(gradient, tf.constant(step, tf.int64)).numpy()
        for step, gradient in enumerate(gradients, start=1)
    ]
    return {n: v.numpy() for n, v in zip(weights, variables, strict=True)}, norms, optimizer


def assert_changes_are(wanted, found, before, share=1e-5):
    """What was added is as wanted, to a share of the largest change of the variable."""
    for name, start in before.items():
        largest = np.abs(wanted[name] - start).max()
        assert largest > 0.005 or name == "unused"
        np.testing.assert_allclose(
            found[name] - start, wanted[name] - start, atol=share * largest + 5e-7, err_msg=name
        )


@pytest.mark.parametrize("kind", [AdamW, LAMB])
@pytest.mark.parametrize("bias_correction", [True, False])
@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("max_norm", [1e9, 0.7])
def test_updates_are_those_of_the_reference(kind, bias_correction, decay, max_norm):
    weights, gradients = data()
    settings = {
        "weight_decay_rate": decay,
        "bias_correction": bias_correction,
        "max_grad_norm": max_norm,
    }
    found, _, _ = train(kind, weights, gradients, **settings)
    assert_changes_are(reference(kind, weights, gradients, RATES, settings), found, weights)


@pytest.mark.parametrize("num_replicas", [1, 2])
@pytest.mark.parametrize("kind", [AdamW, LAMB])
def test_rates_and_anchors_of_groups_are_those_of_the_reference(kind, num_replicas):
    weights, gradients = data()
    found, _, optimizer = train(
        kind,
        weights,
        gradients,
        strategies.mirrored([f"/cpu:{i}" for i in range(num_replicas)]),
        groups=SLOWER,
        anchors=ANCHORS,
    )
    wanted = reference(kind, weights, gradients, RATES, SETTINGS, SLOWER, ANCHORS)
    assert_changes_are(wanted, found, weights)
    assert len(optimizer.variables) == 2 * len(weights)  # the moments: a state has no anchors


def test_decay_towards_an_anchor_by_hand():
    """A tenth of the way for each update; at a quarter of the rate, a fortieth."""
    weights = {"matrix": np.array([[3.0, -1.0]], np.float32), "fused": np.zeros((1, 3), np.float32)}
    anchors = {"matrix": np.array([[1.0, 1.0]]), "fused": np.full((1, 3), 10.0)}
    gradients = [{name: np.zeros_like(value) for name, value in weights.items()}]
    found, _, _ = train(
        AdamW,
        weights,
        gradients,
        schedule=lambda n: 0.5,
        weight_decay_rate=0.2,
        groups=SLOWER,
        anchors=anchors,
    )
    np.testing.assert_allclose(found["matrix"], [[2.95, -0.95]], rtol=1e-6)
    np.testing.assert_allclose(found["fused"], [[1.0, 1.0, 1.0]], rtol=1e-6)


def test_the_rate_of_a_group_by_hand():
    """The first corrected update of Adam is the sign of the gradient times the rate."""
    weights = {name: np.zeros(SHAPES[name], np.float32) for name in ("matrix", "bias", "table")}
    gradients = [{name: np.full_like(value, -0.5) for name, value in weights.items()}]
    found, _, _ = train(
        AdamW, weights, gradients, schedule=lambda n: 0.1, groups=SLOWER, max_grad_norm=0.0
    )
    for name, wanted in (("matrix", 0.025), ("bias", 0.05), ("table", 0.1)):
        np.testing.assert_allclose(found[name], np.full(SHAPES[name], wanted), rtol=1e-5)


@pytest.mark.parametrize("kind", [AdamW, LAMB])
def test_compiled_by_xla_it_is_the_same(kind):
    weights, gradients = data()
    (plain, norms, _), (compiled, compiled_norms, _) = (
        train(kind, weights, gradients, compiled=compiled) for compiled in (False, True)
    )
    for name in weights:
        np.testing.assert_allclose(compiled[name], plain[name], atol=1e-6, err_msg=name)
    np.testing.assert_allclose(compiled_norms, norms, rtol=1e-6)


@pytest.mark.parametrize("loss_scale", [None, LossScale])
def test_a_norm_of_0_switches_clipping_off(loss_scale):
    weights, gradients = data()
    if loss_scale:
        scale = loss_scale().value.numpy()
        gradients = [{name: value * scale for name, value in each.items()} for each in gradients]
    off, norms, _ = train(AdamW, weights, gradients, max_grad_norm=0.0, loss_scale=loss_scale)
    never, same_norms, _ = train(
        AdamW, weights, gradients, max_grad_norm=1e30, loss_scale=loss_scale
    )
    assert min(norms) > SETTINGS["max_grad_norm"] and norms == same_norms
    for name in weights:
        np.testing.assert_array_equal(off[name], never[name], err_msg=name)


@pytest.mark.parametrize("kind", [AdamW, LAMB])
def test_the_norm_is_that_before_clipping(kind):
    weights, gradients = data()
    _, norms, _ = train(kind, weights, gradients)
    wanted = [
        np.linalg.norm(np.concatenate([value.ravel() for value in gradient.values()]))
        for gradient in gradients
    ]
    assert min(wanted) > 1.0
    np.testing.assert_allclose(norms, wanted, rtol=1e-5)


def test_adamw_decays_what_its_group_says():
    weights, _ = data()
    gradients = [{name: np.zeros(shape, np.float32) for name, shape in SHAPES.items()}]
    found, _, _ = train(AdamW, weights, gradients, schedule=lambda n: 0.5, weight_decay_rate=0.2)
    for name in SHAPES:
        factor = 0.9 if GROUPS[name].decays else 1.0
        np.testing.assert_allclose(found[name], weights[name] * factor, rtol=1e-6, err_msg=name)


def test_lamb_by_hand_of_one_update():
    # The first corrected update is the sign of the gradient: of norm 2 against weights of norm 10,
    # and, block by block, of norms sqrt(2) against 5 and 0.
    weights = {"matrix": np.array([[5.0, 5.0], [5.0, 5.0]], np.float32)}
    weights["fused"] = np.array([[3.0, 0.0, 0.0], [4.0, 0.0, 0.0]], np.float32)
    weights["bias"] = np.array([7.0], np.float32)
    gradients = [{name: np.full_like(value, -0.5) for name, value in weights.items()}]
    found, _, _ = train(
        LAMB, weights, gradients, schedule=lambda n: 0.1, weight_decay_rate=0.0, max_grad_norm=1e9
    )
    np.testing.assert_allclose(found["matrix"], 5.5 * np.ones((2, 2)), rtol=1e-5)
    grown = 0.1 * 5 / np.sqrt(2)
    wanted = [[3 + grown, 0.1, 0.1], [4 + grown, 0.1, 0.1]]  # a norm of 0 leaves the rate alone
    np.testing.assert_allclose(found["fused"], wanted, rtol=1e-5)
    np.testing.assert_allclose(found["bias"], [7.1], rtol=1e-5)


def test_lamb_stays_finite_without_gradients_or_weights():
    weights, _ = data()
    weights = {name: np.zeros_like(value) for name, value in weights.items()}
    found, _, _ = train(LAMB, weights, [weights])
    assert all(np.array_equal(value, weights[name]) for name, value in found.items())


@pytest.mark.parametrize("kind", [AdamW, LAMB])
def test_the_moments_are_part_of_a_checkpoint(kind):
    weights = {"matrix": np.zeros((3, 5), np.float32), "bias": np.zeros(7, np.float32)}
    _, optimizer = make(kind, weights, tf.distribute.OneDeviceStrategy("/cpu:0"))
    assert sorted(tuple(v.shape) for v in optimizer.variables) == [(3, 5), (3, 5), (7,), (7,)]
    assert not any(v.trainable for v in optimizer.variables)
    _, scaled = make(kind, weights, tf.distribute.get_strategy(), loss_scale=LossScale)
    assert len(scaled.variables) == 7


@pytest.mark.parametrize("kind", [AdamW, LAMB])
@pytest.mark.parametrize("compiled", [False, True])
def test_an_update_that_overflows_has_not_happened_but_halves_the_scale(kind, compiled):
    weights, good = data()
    scaled = []
    for scale, gradient in zip([8.0, 8.0, 4.0, 2.0, 2.0], good, strict=True):
        scaled.append({name: value * scale for name, value in gradient.items()})
    bad = [{n: v.copy() for n, v in scaled[0].items()} for _ in range(2)]
    bad[0]["table"][3, 1] = np.inf
    bad[1]["bias"][2] = np.nan
    gradients = [scaled[0], scaled[1], bad[0], scaled[2], bad[1], scaled[3], scaled[4]]

    found, norms, optimizer = train(
        kind,
        weights,
        gradients,
        compiled=compiled,
        loss_scale=lambda: LossScale(initial=8.0, growth_steps=3),
    )
    # Halved twice; never three good ones in a row, which would double it.
    assert optimizer.loss_scale.value.numpy() == 2.0
    assert optimizer.loss_scale.num_skipped.numpy() == 2
    assert_changes_are(reference(kind, weights, good, RATES, SETTINGS), found, weights)
    assert np.isfinite(norms).tolist() == [True, True, False, True, False, True, True]
    # Seven updates, two of them skipped: the rate is the fifth.
    np.testing.assert_allclose(optimizer.learning_rate(7).numpy(), RATES[4], rtol=1e-6)


def test_the_scale_of_the_loss_is_that_taken_out_of_the_gradients():
    variables, optimizer = make(
        AdamW, {"bias": np.ones(7, np.float32)}, tf.distribute.get_strategy(), loss_scale=LossScale
    )
    assert optimizer.scaled(tf.constant(3.0)).numpy() == 3.0 * 2.0**15
    _, plain = make(AdamW, {"bias": np.ones(7, np.float32)}, tf.distribute.get_strategy())
    assert plain.scaled(tf.constant(3.0)).numpy() == 3.0


WORDS = np.random.default_rng(7).integers(0, 11, size=(30, 8, 3))  # by update and row; they repeat
TARGETS = np.random.default_rng(11).integers(0, 11, size=(30, 8))


def trained_on(replicas, kind, loss_scale=None, **groups):
    """Weights of a tied table, a kernel and a bias after 30 updates in one `tf.while_loop`."""
    strategy = strategies.mirrored([f"/cpu:{i}" for i in range(replicas)])
    rng = np.random.default_rng(3)
    weights = {name: rng.normal(size=SHAPES[name]).astype(np.float32) for name in ("table", "bias")}
    weights["matrix"] = rng.normal(size=(2, 7)).astype(np.float32)
    variables, optimizer = make(
        kind, weights, strategy, Schedule(0.01, 30, 4), loss_scale, max_grad_norm=0.05, **groups
    )
    share = 8 // replicas

    def replica_update(update):
        context = tf.distribute.get_replica_context()
        first = context.replica_id_in_sync_group * share
        words = tf.constant(WORDS)[update - 1, first : first + share]
        targets = tf.constant(TARGETS)[update - 1, first : first + share]
        with tf.GradientTape() as tape:
            table, bias, matrix = variables
            hidden = tf.reduce_sum(tf.gather(table, words), axis=1)
            hidden = tf.tanh(hidden @ matrix + bias) @ tf.transpose(matrix)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                targets, hidden @ tf.transpose(table)
            )
            loss = optimizer.scaled(tf.reduce_sum(losses) / 8)
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, variables)]
        return optimizer.apply(context.all_reduce("SUM", gradients), variables, update)

    @tf.function
    def run():
        smallest = tf.constant(np.inf)
        for update in tf.range(1, 31):
            norms = strategy.run(replica_update, args=(update,))
            smallest = tf.minimum(smallest, strategy.experimental_local_results(norms)[0])
        return smallest

    assert run().numpy() > 0.05  # clipping is at work in every update
    copies = [[copy.numpy() for copy in variable.values] for variable in variables]
    for each in copies:
        assert len(each) == replicas
        assert all(np.array_equal(copy, each[0]) for copy in each)
    return dict(zip(weights, (each[0] for each in copies), strict=True)), weights


@pytest.mark.parametrize(
    ("kind", "loss_scale", "groups", "least"),
    [
        (AdamW, None, {}, 0.05),
        (LAMB, LossScale, {"groups": SLOWER, "anchors": {"matrix": ANCHOR_OF_2_7}}, 0.02),
    ],
)
def test_1_2_and_4_replicas_train_alike(kind, loss_scale, groups, least):
    """Plainly; and with all at once, a loss scale, rates of groups and an anchor."""
    (one, start), (two, _), (four, _) = (
        trained_on(n, kind, loss_scale, **groups) for n in (1, 2, 4)
    )
    for name in one:
        assert np.abs(one[name] - start[name]).max() > least
        np.testing.assert_allclose(two[name], one[name], atol=1e-6, err_msg=name)
        np.testing.assert_allclose(four[name], one[name], atol=1e-6, err_msg=name)
