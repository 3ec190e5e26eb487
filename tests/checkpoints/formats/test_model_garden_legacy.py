import numpy as np
import pytest

from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.formats import tf1
from bert_tf.checkpoints.formats.model_garden_legacy import ModelGardenLegacy
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness

FORMAT = ModelGardenLegacy()

H, A, D, I = harness.H, harness.A, harness.D, harness.I  # noqa: E741
QUERY = "transformer/layer_0/self_attention/query/kernel"
FIRST_QUERY = "bert_model/encoder/layer_0/self_attention/query/kernel"


def written(kind, folder):
    given = samples.state_dict(kind, folder / "source")
    (folder / "target").mkdir()
    FORMAT.write(given, folder / "target")
    return given, folder / "target"


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind, tmp_path):
    wanted, target = written(kind, tmp_path)
    checkpoint = open_checkpoint(target)
    state_dict, _ = reading.read(checkpoint, kind=kind)
    assert checkpoint.format.name == "model_garden_legacy"
    assert checkpoint.shapes[QUERY] == (H, A, D)
    samples.assert_equal_arrays(state_dict.arrays, wanted.arrays)
    query = checkpoint.read(QUERY)
    np.testing.assert_array_equal(
        query.reshape(H, H), wanted.arrays["encoder/layer_0/attention/qkv/kernel"][:, :H]
    )


def test_another_number_of_heads_is_refused(tmp_path):
    _, target = written("encoder", tmp_path)
    (target / "bert_config.json").unlink()  # which would be asked first
    config = harness.config(num_attention_heads=harness.D)  # H is A * D: both divide it
    with pytest.raises(InputError, match="attention/qkv/kernel is"):
        reading.read(open_checkpoint(target), config=config)


@pytest.mark.parametrize(("shape", "is_legacy"), [((H, A, D), True), ((H, H), False)])
def test_first_names_are_told_apart_by_their_shapes(shape, is_legacy, tmp_path):
    """With --num_heads the first converter reshaped attention; without, it did not."""
    prefix = str(tmp_path / "bert_model.ckpt")
    tf1.write_tensors({FIRST_QUERY: np.zeros(shape, np.float32)}, prefix)
    assert (FORMAT.find(prefix) == prefix) == is_legacy


# What Model Garden's converter makes of the names of TensorFlow 1, for layer 1.
LAYER = {
    "self_attention/query/kernel": (H, A, D),
    "self_attention/query/bias": (A, D),
    "self_attention/key/kernel": (H, A, D),
    "self_attention/key/bias": (A, D),
    "self_attention/value/kernel": (H, A, D),
    "self_attention/value/bias": (A, D),
    "self_attention/attention_output/kernel": (A, D, H),
    "self_attention/attention_output/bias": (H,),
    "self_attention_layer_norm/gamma": (H,),
    "self_attention_layer_norm/beta": (H,),
    "intermediate/kernel": (H, I),
    "intermediate/bias": (I,),
    "output/kernel": (I, H),
    "output/bias": (H,),
    "output_layer_norm/gamma": (H,),
    "output_layer_norm/beta": (H,),
}
OUTER = [
    "word_embeddings/embeddings",
    "position_embedding/embeddings",
    "type_embeddings/embeddings",
    "embeddings/layer_norm/gamma",
    "embeddings/layer_norm/beta",
    "pooler_transform/kernel",
    "pooler_transform/bias",
    "bert/cls/predictions/transform/dense/kernel",
    "bert/cls/predictions/transform/dense/bias",
    "bert/cls/predictions/transform/LayerNorm/gamma",
    "bert/cls/predictions/transform/LayerNorm/beta",
    "bert/cls/predictions/output_bias/bias",
    "predictions/transform/logits/kernel",
    "predictions/transform/logits/bias",
    "output_weights",
    "output_bias",
    "cls/squad/output_weights",
    "cls/squad/output_bias",
]
SIZES = {
    "attention/qkv/kernel": (H, 3 * H),
    "attention/qkv/bias": (3 * H,),
    "attention/output/kernel": (H, H),
    "intermediate/kernel": (H, I),
    "intermediate/bias": (I,),
    "feed_forward/output/kernel": (I, H),
}


def test_a_layer_has_the_names_and_shapes_that_the_converter_writes():
    shapes = {}
    for row in FORMAT.rows(harness.config()):
        if row.path.startswith("encoder/layer_1/"):
            shape = next((s for end, s in SIZES.items() if row.path.endswith(end)), (H,))
            parts = row.split(np.zeros(shape, np.float32))
            shapes.update(zip(row.names, (part.shape for part in parts), strict=True))
    assert shapes == {f"transformer/layer_1/{name}": shape for name, shape in LAYER.items()}


def test_all_other_names():
    table = FORMAT.rows(harness.config())
    held = [n for row in table for n in row.names if "layer_0" not in n and "layer_1" not in n]
    assert held == OUTER


def test_only_the_released_heads_are_transposed():
    """The converter transposes next sentence prediction's [2 H] and knows no other head."""
    by_path = {row.path: row for row in FORMAT.rows(harness.config())}
    array = np.zeros((H, 2), np.float32)
    for head, shape in (("next_sentence", (H, 2)), ("classifier", (2, H)), ("span", (2, H))):
        assert by_path[f"{head}/kernel"].split(array)[0].shape == shape


@pytest.mark.parametrize(
    ("first", "today"),
    [
        ("bert_model/word_embeddings/embeddings", "word_embeddings/embeddings"),
        ("bert_model/embedding_postprocessor/type_embeddings", "type_embeddings/embeddings"),
        ("bert_model/embedding_postprocessor/position_embeddings", "position_embedding/embeddings"),
        ("bert_model/embedding_postprocessor/layer_norm/beta", "embeddings/layer_norm/beta"),
        (
            "bert_model/encoder/layer_11/self_attention/key/bias",
            "transformer/layer_11/self_attention/key/bias",
        ),
        (
            "bert_model/encoder/layer_0/self_attention_output/kernel",
            "transformer/layer_0/self_attention/attention_output/kernel",
        ),
        (
            "bert_model/encoder/layer_0/self_attention_layer_norm/gamma",
            "transformer/layer_0/self_attention_layer_norm/gamma",
        ),
        ("bert_model/pooler_transform/bias", "pooler_transform/bias"),
        ("cls/predictions/output_bias", "bert/cls/predictions/output_bias/bias"),
        ("cls/predictions/transform/dense/bias", "bert/cls/predictions/transform/dense/bias"),
        ("bert/cls/predictions/output_bias/bias", "bert/cls/predictions/output_bias/bias"),
    ],
)
def test_names_of_the_converter_s_first_table(first, today):
    assert FORMAT.canonical_name(first) == today
