import numpy as np
import pytest

from bert_tf.checkpoints import opening, variables
from bert_tf.checkpoints import state_dict as contents_lib
from bert_tf.checkpoints.formats import model_garden_legacy_files, tf1_files
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness

H, A, D = harness.H, harness.A, harness.D
QUERY = "transformer/layer_0/self_attention/query/kernel"
FIRST_QUERY = "bert_model/encoder/layer_0/self_attention/query/kernel"


def written(kind, folder):
    found = samples.contents(kind, folder / "source")
    (folder / "target").mkdir()
    model_garden_legacy_files.write(found, folder / "target")
    return found, folder / "target"


@pytest.mark.parametrize("kind", variables.KINDS)
def test_round_trip(kind, tmp_path):
    wanted, target = written(kind, tmp_path)
    checkpoint = opening.open_checkpoint(target)
    found, _ = contents_lib.read(checkpoint, kind=kind)
    assert checkpoint.format == "model_garden_legacy"
    assert checkpoint.shapes[QUERY] == (H, A, D)
    samples.assert_equal_arrays(found.arrays, wanted.arrays)
    query = checkpoint.read(QUERY)
    np.testing.assert_array_equal(
        query.reshape(H, H), wanted.arrays["encoder/layer_0/attention/qkv/kernel"][:, :H]
    )


def test_another_number_of_heads_is_refused(tmp_path):
    _, target = written("encoder", tmp_path)
    (target / "bert_config.json").unlink()  # which would be asked first
    config = harness.config(num_attention_heads=harness.D)  # H is A * D: both divide it
    with pytest.raises(InputError, match="attention/qkv/kernel is"):
        contents_lib.read(opening.open_checkpoint(target), config=config)


@pytest.mark.parametrize(("shape", "is_legacy"), [((H, A, D), True), ((H, H), False)])
def test_first_names_are_told_apart_by_their_shapes(shape, is_legacy, tmp_path):
    """With --num_heads the first converter reshaped attention; without, it did not."""
    prefix = str(tmp_path / "bert_model.ckpt")
    tf1_files.write_tensors({FIRST_QUERY: np.zeros(shape, np.float32)}, prefix)
    assert (model_garden_legacy_files.find(prefix) == prefix) == is_legacy
