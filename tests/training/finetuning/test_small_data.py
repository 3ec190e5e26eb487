"""Runs with the flags for small data sets learn what they should, and are resumed exactly."""

import numpy as np
import pytest

from bert_tf import checkpoints
from bert_tf.checkpoints import model_directory
from tests.training.finetuning import test_finetune as runs

train = runs.train
EVERY_FLAG = {
    "layer_lr_decay": 0.5,
    "reinit_layers": 0,
    "freeze_layers": 0,
    "weight_decay_to_start": True,
    "weight_decay_rate": 0.5,
    "num_train_epochs": 2.0,
}


@pytest.fixture
def start(tmp_path):
    """The flag that names a checkpoint, and the weights in it."""
    metadata = model_directory.ModelMetadata(
        kind="pretrain", task="", labels=(), do_lower_case=True, max_seq_length=12
    )
    model = model_directory.new_model(runs.CONFIG, metadata)
    rng = np.random.default_rng(11)
    for variable in model.variables:
        variable.assign(0.3 * rng.normal(size=variable.shape))
    folder = tmp_path / "pretrained"
    folder.mkdir()
    checkpoints.save(model, str(folder))
    (folder / "bert_config.json").write_text(runs.CONFIG.to_json())
    return {"init_checkpoint": str(folder)}, runs.weights(model)


def test_a_killed_run_ends_as_if_it_had_not_been(train, start, tmp_path):
    flags, before = start
    flags = flags | EVERY_FLAG | {"save_checkpoints_steps": 5}
    wanted = runs.CopyingDevSet(tmp_path / "straight", tmp_path / "run", 2, 0.5, 0.75)
    train(wanted, name="straight", **flags)
    found = runs.DevSet(0.75)
    train(found, **flags)
    runs.assert_same(found.seen[0], wanted.seen[1])
    for path, value in wanted.seen[1].items():
        if path in before:
            is_frozen = path.startswith("encoder/embeddings/")
            assert np.array_equal(value, before[path]) == is_frozen, path
