"""New, frozen, slower and anchored weights are those that the flags name, in every start."""

import keras
import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.checkpoints import model_directory
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.options import Classifier
from bert_tf.tasks import registry
from bert_tf.training import setup
from bert_tf.training.devices import strategies
from bert_tf.training.finetuning import stability
from bert_tf.training.inputs import check

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=3,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b"]
METADATA = model_directory.ModelMetadata(
    kind="classify", task="t", labels=("x", "y"), do_lower_case=True, max_seq_length=11
)


def write_checkpoint(folder, seed=5):
    """Saves a pre-trained model whose every variable is random; returns its weights."""
    metadata = model_directory.ModelMetadata(
        kind="pretrain", task="", labels=(), do_lower_case=True, max_seq_length=11
    )
    model = model_directory.new_model(CONFIG, metadata)
    rng = np.random.default_rng(seed)
    for variable in model.variables:
        variable.assign(rng.normal(size=variable.shape))
    checkpoints.save(model, str(folder))
    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (folder / "bert_config.json").write_text(CONFIG.to_json())
    return {variable.path: variable.numpy() for variable in model.variables}


@pytest.fixture
def start(tmp_path):
    """Makes the run of a directory with the flags that are given."""
    folder = tmp_path / "pretrained"
    folder.mkdir()
    saved = write_checkpoint(folder)

    def run(seed=3, **flags):
        given = {"data_dir": "d", "task_name": "t", "init_checkpoint": str(folder)}
        options = Classifier(**given, output_dir=str(tmp_path / "run"), do_train=True, **flags)
        keras.utils.set_random_seed(seed)
        inputs = check(options)
        directory = model_directory.create(options.output_dir, CONFIG, inputs.vocab_file, METADATA)
        return setup.Run(inputs, strategies.make("one_device"), directory)

    run.folder, run.weights = folder, saved
    return run


def initial(run):
    model, loaded = setup.initial_model(run.inputs, run.directory)
    return {variable.path: variable.numpy() for variable in model.variables}, loaded


def new_weights(seed=3):
    keras.utils.set_random_seed(seed)
    model = model_directory.new_model(CONFIG, METADATA)
    return {variable.path: variable.numpy() for variable in model.variables}


@pytest.mark.parametrize(
    ("num_layers", "new", "said"),
    [
        (0, ("encoder/pooler",), "the pooler."),
        (1, ("encoder/pooler", "encoder/layer_2"), "the pooler and layer 3."),
        (2, ("encoder/pooler", "encoder/layer_2", "encoder/layer_1"), "the pooler and layers 2 to"),
    ],
)
def test_the_top_layers_and_the_pooler_start_as_those_of_a_new_model(
    start, capsys, num_layers, new, said
):
    found, loaded = initial(start(reinit_layers=num_layers))
    fresh = new_weights()
    for path, value in found.items():
        is_new = path.startswith((*new, "classifier"))
        np.testing.assert_array_equal(value, (fresh if is_new else start.weights)[path], path)
        assert (path in loaded) != is_new
    assert f"Random as initialised (--reinit_layers): {said}" in capsys.readouterr().out


def test_new_layers_follow_from_the_seed(start):
    path = "encoder/layer_2/attention/qkv/kernel"
    first, again, other = (initial(start(seed, reinit_layers=1))[0][path] for seed in (3, 3, 4))
    np.testing.assert_array_equal(again, first)
    assert np.all(other != first)
    assert 0.015 < first.std() < 0.025  # standard deviation 0.02, cut off at twice that


@pytest.mark.parametrize("num_layers", [None, 0, 2, 3])
def test_frozen_layers_are_not_trained(start, capsys, num_layers):
    run = start(freeze_layers=num_layers)
    model, _ = setup.initial_model(run.inputs, run.directory)
    frozen = ["embeddings", "layer_0", "layer_1", "layer_2"][: (num_layers or 0) + 1]
    frozen = [] if num_layers is None else frozen
    trained = {variable.path for variable in model.trainable_variables}
    starts = tuple(f"encoder/{name}" for name in frozen)
    for variable in model.variables:
        is_frozen = bool(starts) and variable.path.startswith(starts)
        assert (variable.path in trained) != is_frozen, variable.path
    assert ("Not trained (--freeze_layers): the emb" in capsys.readouterr().out) == bool(starts)


def test_weights_of_the_checkpoint_decay_towards_their_start_and_new_ones_towards_0(start):
    run = start(weight_decay_to_start=True, reinit_layers=1, layer_lr_decay=0.5)
    model, loaded = setup.initial_model(run.inputs, run.directory)
    groups = stability.groups(run.inputs.options, model, loaded)
    new = ("encoder/pooler", "encoder/layer_2", "classifier")
    for variable, group in zip(model.trainable_variables, groups, strict=True):
        assert (group.anchor is not None) == (group.decays and not variable.path.startswith(new))
        if group.anchor is not None:
            np.testing.assert_array_equal(group.anchor.numpy(), start.weights[variable.path])
    assert {group.rate_factor for group in groups} == {1.0, 0.5, 0.25, 0.125, 0.0625}


def test_other_weights_to_decay_towards_are_refused_in_a_later_start(start):
    def begin():
        run = start(weight_decay_to_start=True)
        schedule = setup.new_schedule(run.inputs.options, 7, 2)
        loop = run.new_loop(registry.REGISTRY["cola"], schedule, {})
        loop.restore()
        loop.close()

    begin()
    write_checkpoint(start.folder, seed=7)
    with pytest.raises(InputError, match="the weights of --init_checkpoint are others now"):
        begin()
