"""A run starts from inputs that fit each other, and from the weights that were asked for."""

import dataclasses
import os

import keras
import numpy as np
import pytest

from bert_tf import checkpoints, features
from bert_tf.checkpoints import model_directory
from bert_tf.checkpoints.hub import presets
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.opening import FORMATS, format_named
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.options import Classifier
from bert_tf.tasks import registry
from bert_tf.training import setup
from bert_tf.training.devices import strategies
from bert_tf.training.inputs import check
from bert_tf.training.monitoring.throughput import Meter
from bert_tf.training.optimization.optimizer import LAMB, AdamW
from bert_tf.training.optimization.schedules import Schedule
from bert_tf.training.phases import Phase
from tests.checkpoints import samples

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
CONFIG_OF_SAMPLES = dataclasses.replace(CONFIG, vocab_size=61)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
METADATA = {
    kind: model_directory.ModelMetadata(
        kind=kind,
        task="t",
        labels=("x", "y", "z") if kind == "classify" else (),
        do_lower_case=True,
        max_seq_length=11,
    )
    for kind in KINDS
}


def write_inputs(folder, tokens=TOKENS, config=CONFIG):
    """Writes vocab.txt and bert_config.json; returns their paths."""
    os.makedirs(folder, exist_ok=True)
    paths = os.path.join(folder, "vocab.txt"), os.path.join(folder, "bert_config.json")
    for path, text in zip(paths, ("\n".join(tokens) + "\n", config.to_json()), strict=True):
        with open(path, "w") as file:
            file.write(text)
    return paths


def options(folder, config=CONFIG, **changes):
    vocab_file, config_file = write_inputs(os.path.join(folder, "given"), config=config)
    values = {"bert_config_file": config_file, "vocab_file": vocab_file, "do_train": True}
    values |= {"data_dir": "d", "task_name": "t", "output_dir": "o"}
    return Classifier(**values | changes)


def write_checkpoint(folder, kind, seed=5, tokens=TOKENS, **changes):
    """Saves a model of that kind whose every variable is random; returns its weights."""
    model = model_directory.new_model(CONFIG, dataclasses.replace(METADATA[kind], **changes))
    rng = np.random.default_rng(seed)
    for variable in model.variables:
        variable.assign(rng.normal(size=variable.shape))
    checkpoints.save(model, folder)
    write_inputs(folder, tokens)
    return {variable.path: variable.numpy() for variable in model.variables}


def test_check_reads_what_was_given(tmp_path):
    inputs = check(options(tmp_path))
    assert inputs.config == CONFIG
    assert inputs.vocabulary.tokens == tuple(TOKENS)
    assert inputs.checkpoint is None


def test_check_opens_the_checkpoint(tmp_path):
    folder = str(tmp_path / "pretrained")
    write_checkpoint(folder, "pretrain")
    checkpoint = check(options(tmp_path, init_checkpoint=folder)).checkpoint
    assert checkpoint.path == os.path.join(folder, "bert_model.ckpt")


def test_check_takes_what_is_not_given_from_the_checkpoint(tmp_path):
    folder = str(tmp_path / "pretrained")
    write_checkpoint(folder, "pretrain")
    left_out = {"bert_config_file": None, "vocab_file": None}
    inputs = check(options(tmp_path, init_checkpoint=folder, **left_out))
    assert inputs.config == CONFIG
    assert inputs.vocab_file == os.path.join(folder, "vocab.txt")


def test_check_takes_the_vocabulary_beside_the_configuration_first(tmp_path):
    folder = str(tmp_path / "pretrained")
    write_checkpoint(folder, "pretrain")
    inputs = check(options(tmp_path, init_checkpoint=folder, vocab_file=None))
    assert inputs.vocab_file == str(tmp_path / "given" / "vocab.txt")


@pytest.mark.parametrize("name", ["bert_config_file", "vocab_file"])
def test_check_says_which_file_is_nowhere(tmp_path, name):
    folder = tmp_path / "pretrained"
    write_checkpoint(str(folder), "pretrain")
    (folder / "vocab.txt").unlink()
    (folder / "bert_config.json").unlink()
    given = options(tmp_path, init_checkpoint=str(folder), **{name: None})
    if name == "vocab_file":
        (tmp_path / "given" / "vocab.txt").unlink()
    with pytest.raises(InputError, match=f"--{name} is not given, and "):
        check(given)


def test_check_takes_a_name_for_the_model_of_that_name(tmp_path, monkeypatch):
    folder = str(tmp_path / "fetched")
    write_checkpoint(folder, "pretrain")
    monkeypatch.setattr(presets, "resolve", {"bert-base-uncased": folder}.get)
    left_out = {"bert_config_file": None, "vocab_file": None}
    inputs = check(options(tmp_path, init_checkpoint="bert-base-uncased", **left_out))
    assert inputs.checkpoint.path == os.path.join(folder, "bert_model.ckpt")


def test_check_refuses_another_vocabulary_than_the_checkpoint_s(tmp_path):
    folder = str(tmp_path / "pretrained")
    write_checkpoint(folder, "pretrain", tokens=[*TOKENS[:-1], "B"])
    message = r"\(7 tokens, uncased\) is not .*\(7 tokens, cased\). Give --vocab_file=.*pretrained"
    with pytest.raises(InputError, match=message):
        check(options(tmp_path, init_checkpoint=folder))


def test_check_refuses_tokens_without_an_embedding_and_warns_of_the_reverse(tmp_path, capsys):
    vocab_file, _ = write_inputs(tmp_path / "more", [*TOKENS, "c"])
    with pytest.raises(InputError, match="8 tokens, the config vocab_size=7"):
        check(options(tmp_path, vocab_file=vocab_file))
    vocab_file, _ = write_inputs(tmp_path / "fewer", TOKENS[:-1])
    check(options(tmp_path, vocab_file=vocab_file))
    assert "WARNING: The vocabulary has 6 tokens" in capsys.readouterr().out


@pytest.fixture
def float32():
    yield
    keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize(
    ("dtype", "policy"),
    [("float32", "float32"), ("bfloat16", "mixed_bfloat16"), ("float16", "mixed_float16")],
)
def test_set_up_sets_the_compute_type_and_keeps_weights_float32(tmp_path, float32, dtype, policy):
    setup.set_up_devices(options(tmp_path, dtype=dtype))
    assert keras.config.dtype_policy().name == policy
    model = model_directory.new_model(CONFIG, METADATA["classify"])
    assert {variable.dtype for variable in model.trainable_variables} == {"float32"}


def test_set_up_seeds_the_initial_weights(tmp_path):
    def kernel(seed):
        setup.set_up_devices(options(tmp_path, random_seed=seed))
        model = model_directory.new_model(CONFIG, METADATA["classify"])
        return model.classifier.kernel.numpy()

    np.testing.assert_array_equal(kernel(3), kernel(3))
    assert np.any(kernel(3) != kernel(4))


def new_loop(tmp_path, kind, config=CONFIG, **changes):
    given = options(tmp_path, config, **changes)
    directory = model_directory.create(
        str(tmp_path / kind), config, given.vocab_file, METADATA[kind]
    )
    keras.utils.set_random_seed(3)
    run = setup.Run(check(given), strategies.make("one_device"), directory)
    return run.new_loop(registry.REGISTRY["cola"], setup.new_schedule(given, 7, 2), {"seed": 3})


def weights(loop):
    return {variable.path: variable.numpy() for variable in loop.model.variables}


def started(tmp_path, kind, checkpoint, config=CONFIG, **changes):
    """Weights of the model of a new loop that starts from a checkpoint, or from none."""
    return weights(new_loop(tmp_path, kind, config, init_checkpoint=checkpoint, **changes))


@pytest.mark.parametrize(
    ("kind", "source", "heads_are_kept"),
    [
        ("classify", "pretrain", False),
        ("classify", "classify", False),
        ("classify", "span", False),
        ("regress", "classify", False),
        ("span", "pretrain", False),
        ("span", "classify", False),
        ("span", "span", True),
        ("pretrain", "pretrain", True),
        ("pretrain", "classify", False),
    ],
)
def test_weights_of_the_checkpoint_fill_the_encoder_and_a_head_of_the_same_kind(
    tmp_path, capsys, kind, source, heads_are_kept
):
    folder = str(tmp_path / "source")
    saved = write_checkpoint(folder, source)
    found = started(tmp_path, kind, folder)
    kept = {name for name in found if np.array_equal(found[name], saved.get(name))}
    wanted = {name for name in found if heads_are_kept or name.startswith("encoder/")}
    assert kept == wanted
    assert f"Loaded {len(wanted)} variables from {folder}" in capsys.readouterr().out


@pytest.mark.parametrize("name", [row.name for row in FORMATS if row.is_written])
@pytest.mark.parametrize("kind", ["classify", "span"])
def test_a_run_starts_from_a_checkpoint_of_any_format(tmp_path, name, kind):
    """With a masked LM head in it, which the run leaves there."""
    given = samples.state_dict(
        "pretrain", tmp_path / "sample", ("next_sentence",), CONFIG_OF_SAMPLES
    )
    folder = tmp_path / "source"
    folder.mkdir()
    format_named(name).write(given, str(folder))
    vocab_file = str(tmp_path / "sample" / "vocab.txt")
    found = started(tmp_path, kind, str(folder), given.config, vocab_file=vocab_file)
    for path, value in found.items():
        same = path in given.arrays and np.array_equal(value, given.arrays[path])
        assert same == path.startswith("encoder/"), path


def test_an_encoder_that_the_checkpoint_fills_in_part_only_is_refused(tmp_path):
    folder = str(tmp_path / "source")
    write_checkpoint(folder, "pretrain")
    deeper = dataclasses.replace(CONFIG, num_hidden_layers=2)
    with pytest.raises(InputError, match="in the model, not in the file"):
        started(tmp_path, "classify", folder, deeper)


def test_no_checkpoint_is_said_aloud(tmp_path, capsys):
    started(tmp_path, "classify", None)
    assert "No --init_checkpoint: every weight starts random." in capsys.readouterr().out


def test_the_schedule_is_the_one_asked_for(tmp_path):
    plain = setup.new_schedule(options(tmp_path, learning_rate=0.5), 11, 3)
    assert plain == Schedule(0.5, 11, 3, "linear", 1.0, 0.0)
    changes = {"lr_schedule": "polynomial", "lr_power": 0.5, "lr_end_ratio": 0.2}
    asked = setup.new_schedule(options(tmp_path, learning_rate=0.5, **changes), 11, 3)
    assert asked == Schedule(0.5, 11, 3, "polynomial", 0.5, 0.2)


@pytest.mark.parametrize(("name", "kind"), [("adamw", AdamW), ("lamb", LAMB)])
def test_a_new_loop_has_the_optimizer_asked_for(tmp_path, name, kind):
    loop = new_loop(tmp_path, "classify", optimizer=name)
    assert type(loop._update.optimizer) is kind
    assert loop._update.optimizer.loss_scale is None


def batches(num_batches):
    """Batches of three rows, for one replica, in one micro-batch."""
    word_ids = np.array([[2, 5, 6, 3, 0], [2, 6, 3, 0, 0], [2, 5, 5, 5, 3]], np.int32)
    batch = {
        features.WORD_IDS.name: word_ids,
        features.MASK.name: (word_ids > 0).astype(np.int32),
        features.TYPE_IDS.name: np.zeros_like(word_ids),
        features.LABEL_IDS.name: np.array([0, 1, 2], np.int32),
    }
    return num_batches * [[(batch,)]]


def test_float16_trains_and_skips_what_overflows(tmp_path, float32):
    setup.set_up_devices(options(tmp_path, dtype="float16"))
    loop = new_loop(tmp_path, "classify", dtype="float16", learning_rate=1e-2)
    before, loss_scale = weights(loop), loop._update.optimizer.loss_scale
    loss_scale.value.assign(2.0**40)
    loop.restore()
    meter = Meter([Phase(5, 7, 3, 1e-2)])
    loop.run(batches(1), 1, meter)  # gradients of 1e-3 and more overflow
    assert loss_scale.value.numpy() == 2.0**39
    for name, value in weights(loop).items():
        np.testing.assert_array_equal(value, before[name], err_msg=name)
    loss_scale.value.assign(2.0**10)
    loop.run(batches(6), 7, meter)
    assert (loss_scale.num_skipped.numpy(), loss_scale.num_good.numpy()) == (1, 6)
    for name, value in weights(loop).items():
        assert value.dtype == np.float32
        assert np.isfinite(value).all() and np.any(value != before[name]), name


def test_a_new_loop_writes_the_options_down(tmp_path):
    started(tmp_path, "classify", None)
    assert "--task_name=t\n" in (tmp_path / "classify" / "flags.txt").read_text()


def test_trained_model_takes_the_best_weights_then_those_of_the_checkpoint(tmp_path):
    folder = str(tmp_path / "other")
    of_checkpoint = write_checkpoint(folder, "classify", seed=5)
    given = options(tmp_path, init_checkpoint=folder)
    inputs = check(given)
    directory = model_directory.create(
        str(tmp_path / "run"), CONFIG, given.vocab_file, METADATA["classify"]
    )

    def found():
        model = setup.trained_model(inputs, directory)
        return {variable.path: variable.numpy() for variable in model.variables}

    for name, value in found().items():
        np.testing.assert_array_equal(value, of_checkpoint[name], err_msg=name)
    best = write_checkpoint(os.path.join(directory.path, "best"), "classify", seed=7)
    for name, value in found().items():
        np.testing.assert_array_equal(value, best[name], err_msg=name)


@pytest.mark.parametrize(
    "labels, order", [(("Z", "X", "y"), [1, 2, 0]), (("0", "1", "2"), [0, 1, 2]), ((), [0, 1, 2])]
)
def test_outputs_of_a_checkpoint_come_in_the_order_of_the_task(tmp_path, capsys, labels, order):
    folder = str(tmp_path / "other")
    of_checkpoint = write_checkpoint(folder, "classify")
    given = options(tmp_path, init_checkpoint=folder)
    inputs = check(given)
    inputs = dataclasses.replace(
        inputs, checkpoint=dataclasses.replace(inputs.checkpoint, labels=labels)
    )
    directory = model_directory.create(
        str(tmp_path / "run"), CONFIG, given.vocab_file, METADATA["classify"]
    )
    model = setup.trained_model(inputs, directory)
    for variable in model.variables:
        wanted = of_checkpoint[variable.path]
        if variable.path.startswith("classifier/"):
            wanted = wanted[..., order]
        np.testing.assert_array_equal(variable.numpy(), wanted, err_msg=variable.path)
    said = capsys.readouterr().out
    assert ("calls its outputs 0, 1, 2; they are taken, in this order, for x, y, z" in said) == (
        labels == ("0", "1", "2")
    )


def test_trained_model_needs_weights_with_a_head(tmp_path):
    given = options(tmp_path)
    directory = model_directory.create(
        str(tmp_path / "run"), CONFIG, given.vocab_file, METADATA["classify"]
    )
    with pytest.raises(InputError, match="holds no weights and --init_checkpoint is not given"):
        setup.trained_model(check(given), directory)
    folder = str(tmp_path / "pretrained")
    write_checkpoint(folder, "pretrain")
    inputs = check(dataclasses.replace(given, init_checkpoint=folder))
    with pytest.raises(InputError, match=r"not in the file \(2\):\s+classifier/kernel"):
        setup.trained_model(inputs, directory)


@pytest.mark.parametrize(
    "make",
    [lambda *given: setup.initial_model(*given)[0], setup.trained_model],
)
@pytest.mark.parametrize("num_texts", [1, 2])
def test_a_pre_training_model_takes_the_heads_that_it_has(tmp_path, make, num_texts):
    folder = str(tmp_path / "pretrained")
    of_checkpoint = write_checkpoint(folder, "pretrain", num_texts=2)
    given = options(tmp_path, init_checkpoint=folder)
    metadata = dataclasses.replace(METADATA["pretrain"], num_texts=num_texts)
    directory = model_directory.prepare(str(tmp_path / "run"), CONFIG, given.vocab_file, metadata)
    inputs = check(given)
    model = make(inputs, directory)
    assert any(v.path.startswith("next_sentence/") for v in model.variables) == (num_texts == 2)
    for variable in model.variables:
        np.testing.assert_array_equal(variable.numpy(), of_checkpoint[variable.path])
