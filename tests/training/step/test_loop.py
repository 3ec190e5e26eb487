"""The same global batch gives the same weights however it is shared out, cut or interrupted."""

import os
import re
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf import checkpoints, features, progress
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.examples import batching
from bert_tf.examples.rows import Rows
from bert_tf.modeling import layer, models
from bert_tf.modeling.encoder import Embeddings
from bert_tf.modeling.heads import ClassificationHead
from bert_tf.tasks import registry
from bert_tf.training.devices.strategies import mirrored
from bert_tf.training.monitoring import history
from bert_tf.training.monitoring.throughput import Meter
from bert_tf.training.optimization import parameter_groups
from bert_tf.training.optimization.loss_scale import LossScale
from bert_tf.training.optimization.optimizer import AdamW
from bert_tf.training.optimization.schedules import Schedule
from bert_tf.training.phases import Phase
from bert_tf.training.step.loop import Loop
from bert_tf.training.step.update import Update

NUM_STEPS, NUM_ROWS, BATCH_SIZE = 7, 29, 8


@pytest.fixture(autouse=True, scope="module")
def _deterministic_sums():
    tf.config.experimental.enable_op_determinism()


def config(dropout):
    return BertConfig(
        vocab_size=31,
        hidden_size=22,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=37,
        max_position_embeddings=17,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
    )


def rows():
    """Rows that repeat word ids, so that the embedding gradients have duplicate rows."""
    rng = np.random.default_rng(5)
    word_ids = [rng.integers(1, 31, rng.integers(3, 17)).tolist() for _ in range(NUM_ROWS)]
    type_ids = [[0] * len(row) for row in word_ids]
    labels = rng.integers(0, 3, NUM_ROWS).astype(np.int32)
    return Rows(word_ids, type_ids, {features.LABEL_IDS.name: labels})


def bert(config):
    return models.ClassifierModel(config, num_classes=3)


class Shallow(layer.ConfigLayer):
    """A classifier of first tokens without a layer: all that a loop needs, and soon traced."""

    def __init__(self, config):
        super().__init__(config)
        self.embeddings = self.new(Embeddings, name="embeddings")
        self.embeddings.build()
        self.classifier = self.new(ClassificationHead, 3, dropout_rate=0.0)
        self.built = True

    def call(self, batch, training=False):
        ids, types = (batch[each.name] for each in (features.WORD_IDS, features.TYPE_IDS))
        hidden = self.embeddings(ids, types, training=training)
        return {"logits": self.classifier(hidden[:, 0], training=training)}


def make_loop(directory, replicas=1, dropout=0.0, new_model=None, loss_scale=None, **changes):
    """A loop, by default over a BERT classifier.

    Args:
      changes: `seed` of the dropout, and of the arguments of `Loop`.
    """
    given = {"seed": 3, "save_steps": 1000} | changes
    keras.utils.set_random_seed(3)
    strategy = mirrored([f"/cpu:{i}" for i in range(replicas)])
    with strategy.scope():
        model = (new_model or bert)(config(dropout))
        optimizer = AdamW(
            [variable.value for variable in model.trainable_variables],
            Schedule(2e-3, NUM_STEPS, 2),
            groups=parameter_groups.of(model),
            weight_decay_rate=0.01,
            bias_correction=True,
            max_grad_norm=0.5,  # below the norms of this run, so clipping is at work
            loss_scale=loss_scale and LossScale(initial=loss_scale),
        )
    seed = given.pop("seed")
    identity = given.pop("identity", {"seed": seed})
    update = Update(model, registry.REGISTRY["cola"], optimizer, strategy, random_seed=seed)
    loop = Loop(update, str(directory), identity, peak_step=2, **given)
    loop.restore()
    return loop


def run(loop, batches, num_steps, after_update=None):
    loop.run(batches, num_steps, Meter([Phase(17, NUM_STEPS, BATCH_SIZE, 2e-3)]), after_update)


def batches(replicas=1, micro_batches=1, first_step=0):
    return batching.training_batches(
        rows(),
        batch_size=BATCH_SIZE,
        random_seed=11,
        replicas=replicas,
        num_micro_batches=micro_batches,
        first_step=first_step,
    )


def weights(loop):
    return {v.path: v.numpy() for v in loop.model.trainable_variables}


def trained(directory, replicas=1, micro_batches=1):
    loop = make_loop(directory, replicas)
    run(loop, batches(replicas, micro_batches), NUM_STEPS)
    return weights(loop)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Weights after training on one replica with whole batches."""
    return trained(tmp_path_factory.mktemp("whole"))


def test_weights_do_not_depend_on_replicas_or_micro_batches(whole, tmp_path):
    found = trained(tmp_path, replicas=4, micro_batches=2)
    assert found.keys() == whole.keys()
    for name, expected in whole.items():
        np.testing.assert_allclose(found[name], expected, atol=1e-6, err_msg=name)


def test_training_changes_every_weight(whole, tmp_path):
    fresh = weights(make_loop(tmp_path))
    assert [name for name in fresh if np.array_equal(fresh[name], whole[name])] == []


def test_a_restart_goes_on_bit_for_bit_with_dropout(tmp_path):
    def copied(step):
        """What a kill after update 5 leaves on the disk."""
        if step == 5:
            shutil.copytree(tmp_path / "straight", tmp_path / "killed")
        return False

    straight = make_loop(tmp_path / "straight", dropout=0.3, save_steps=3)
    run(straight, batches(micro_batches=2), NUM_STEPS, copied)

    again = make_loop(tmp_path / "killed", dropout=0.3, save_steps=3)
    assert again.step == 3
    run(again, batches(micro_batches=2, first_step=3), NUM_STEPS)

    expected = weights(straight)
    for name, value in weights(again).items():
        np.testing.assert_array_equal(value, expected[name], err_msg=name)


def test_dropout_masks_differ_between_replicas_and_steps(tmp_path):
    loop = make_loop(tmp_path, replicas=2, dropout=0.3)

    @tf.function(autograph=False)
    def seeds(number):
        values = loop._strategy.run(lambda: loop._update._dropout_seeds([{}], number)[0])
        return loop._strategy.experimental_local_results(values)

    found = [tuple(seed.numpy()) for step in (1, 2) for seed in seeds(tf.constant(step))]
    assert len(set(found)) == 4


def test_another_run_is_not_mixed_into_a_directory(tmp_path):
    make_loop(tmp_path, identity={"learning_rate": 0.1, "seed": 3})
    with pytest.raises(InputError, match="learning_rate is 0.1 there and 0.2 here"):
        make_loop(tmp_path, identity={"learning_rate": 0.2, "seed": 3})


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_state(tmp_path):
    loop = make_loop(tmp_path, save_steps=1, new_model=Shallow)
    run(loop, batches(), 1)
    loop.model.trainable_variables[0].assign(loop.model.trainable_variables[0] * np.nan)
    with pytest.raises(FloatingPointError, match="Step 2.*step-1"):
        run(loop, batches(first_step=1), NUM_STEPS)


@pytest.mark.parametrize(("largest_that_fits", "stops_at"), [(1.0, None), (0.5, 4)])
def test_every_loss_scale_down_to_one_is_tried_before_a_run_stops(
    tmp_path, largest_that_fits, stops_at
):
    """From 8: the updates have 8, 4, 2 and 1, so the fourth is the first that nothing can save."""
    loop = make_loop(tmp_path, loss_scale=8.0, new_model=Shallow)
    loss_scale = loop._update.optimizer.loss_scale

    def scaled(loss):
        fits = loss_scale.value <= largest_that_fits
        return loss * tf.where(fits, loss_scale.value, np.inf)

    loop._update.optimizer.scaled = scaled
    if stops_at:
        with pytest.raises(FloatingPointError, match=f"Step {stops_at}: the loss is .*norm"):
            run(loop, batches(), NUM_STEPS)
    else:
        run(loop, batches(), NUM_STEPS)
        assert (loss_scale.num_skipped.numpy(), loss_scale.value.numpy()) == (3, 1.0)
        assert loop.step == NUM_STEPS
    logged = history.read(tmp_path / history.NAME)
    assert logged.series("loss_scale")[1][:1] == [8.0]


def test_weights_take_the_room_of_a_state_that_a_newer_one_replaces(tmp_path, monkeypatch):
    """The disk has room for two states, or for one and the weights."""
    loop = make_loop(tmp_path, save_steps=3)
    run(loop, batches(), NUM_STEPS)
    training, save = tmp_path / "training", checkpoints.save
    assert {"step-6", "step-7"} < set(os.listdir(training))

    def limited(model, directory):
        if (training / "step-6").exists():
            raise tf.errors.ResourceExhaustedError(None, None, "x; No space left on device")
        save(model, directory)

    monkeypatch.setattr(checkpoints, "save", limited)
    loop.save_weights("last")
    assert (tmp_path / "last" / "bert_model.ckpt.index").exists()
    assert {"step-6", "step-7"} & set(os.listdir(training)) == {"step-7"}

    monkeypatch.setattr(checkpoints, "save", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        loop.save_weights("best")
    assert (training / "step-7").exists()


def test_no_state_is_saved_while_something_before_it_is_not_on_the_disk(tmp_path):
    loop = make_loop(tmp_path, save_steps=2, new_model=Shallow)
    answers = iter([False, True, False, False])
    loop.before_save = lambda: next(answers)
    run(loop, batches(), NUM_STEPS)
    names = {name for name in os.listdir(tmp_path / "training") if name.startswith("step-")}
    assert names == {"step-4"}


def test_a_start_removes_the_copies_that_a_killed_process_left(tmp_path):
    make_loop(tmp_path).close()
    for name in ("best", "last", "training/step-2"):
        folder, base = os.path.split(name)
        unfinished = tmp_path / folder / f".{base}.abcd1234"
        unfinished.mkdir()
        (unfinished / "half").write_text("half")
    for name in ("flags.txt", "report.html", "eval_results.txt", "training/identity.json"):
        folder, base = os.path.split(name)
        (tmp_path / folder / f".{base}.abcd1234").write_text("half")
    (tmp_path / ".best.old.abcd1234" / "old").mkdir(parents=True)
    (tmp_path / "metrics.jsonl").open("a").write('{"step": 5, "ti')
    make_loop(tmp_path).close()
    assert sorted(os.listdir(tmp_path)) == ["best", "metrics.jsonl", "tensorboard", "training"]
    assert sorted(os.listdir(tmp_path / "training")) == ["identity.json", "lock"]
    assert history.read(tmp_path / "metrics.jsonl").num_damaged == 0


class ManyUpdates:
    """Makes as many updates a call as it may, as devices that fetch their batches do."""

    def __init__(self, feed):
        self.feed = feed

    def advance(self, limit):
        for _ in range(limit):
            scalars, _ = self.feed.advance(1)
        return scalars, limit


def test_devices_pause_for_saves_and_where_they_are_asked_to(tmp_path, monkeypatch):
    loop = make_loop(tmp_path, save_steps=5, new_model=Shallow)
    feed = ManyUpdates(loop._feed(batches()))
    monkeypatch.setattr(loop, "_feed", lambda _: feed)
    paused = []
    meter = Meter([Phase(17, NUM_STEPS, BATCH_SIZE, 2e-3)])
    loop.run([], NUM_STEPS, meter, lambda n: bool(paused.append(n)), lambda n: n - n % 3 + 3)
    assert paused == [3, 5, 6, 7]


def test_a_run_that_is_told_to_end_saves_its_state(tmp_path):
    loop = make_loop(tmp_path, new_model=Shallow)
    run(loop, batches(), NUM_STEPS, lambda step: step == 3)
    assert loop.step == 3
    loop.close()
    assert make_loop(tmp_path, new_model=Shallow).step == 3


def test_the_highest_learning_rate_gets_a_line(tmp_path):
    # Its warm-up ends with update 2; every tenth has a line.
    loop = make_loop(tmp_path, new_model=Shallow)
    run(loop, batches(), NUM_STEPS)
    steps, rates = history.read(tmp_path / "metrics.jsonl").series("learning_rate")
    assert steps == [1, 2, NUM_STEPS]
    assert max(rates) == pytest.approx(2e-3)


def test_compiling_is_named_and_the_losses_are_rounded(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.05)
    run(make_loop(tmp_path, new_model=Shallow), batches(), 3)
    lines = capsys.readouterr().err.splitlines()
    assert "train: 0 steps of 3, compiling the update ... 0 s" in lines
    assert any(re.fullmatch(r"train: 3 steps of 3, loss \d\.\d{1,3}, .*", line) for line in lines)
