import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints.formats import model_garden_graph as graph
from bert_tf.checkpoints.formats.tf1 import OBJECT_GRAPH
from bert_tf.errors import InputError
from tests.checkpoints import garden


def named(folder):
    """Dict from our name to the key in the file, less the suffix every key has."""
    prefix = str(folder / "bert_model.ckpt")
    reader = tf.train.load_checkpoint(prefix)
    keys = graph.names(prefix, reader.get_variable_to_shape_map())
    return {name: key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, key in keys.items()}


@pytest.mark.parametrize(
    "root",
    [
        "encoder",
        "model",
        "model/layer_with_weights-0",
        "model/encoder_network",
        "a/b/c",
        "_network",
    ],
)
@pytest.mark.parametrize("layout", [garden.numbered, garden.attributes])
def test_the_encoder_has_the_same_names_wherever_it_was_saved(root, layout, tmp_path):
    garden.save(tmp_path, garden.random(layout(root)))
    keys_by_name = named(tmp_path)
    assert keys_by_name.keys() - {"_CHECKPOINTABLE_OBJECT_GRAPH", "save_counter"} == layout().keys()
    assert {key for name, key in keys_by_name.items() if name.startswith("encoder/")} == layout(
        root
    ).keys()


@pytest.mark.parametrize(
    ("attribute", "below"),
    [
        ("classifier", "out_proj/kernel"),
        ("classifier", "kernel"),
        ("classifier", "layer_with_weights-0/kernel"),
        ("classification", "layer_with_weights-0/kernel"),
        ("span_labeling", "layer_with_weights-0/kernel"),
    ],
)
def test_a_head_is_named_by_its_attribute_not_by_its_number(attribute, below, tmp_path):
    """Numbers alone would not distinguish a span head from a classifier of two classes."""
    arrays = garden.random(garden.numbered("model/layer_with_weights-0"))
    arrays[f"model/layer_with_weights-1/{below}"] = np.ones((garden.H, 2), np.float32)
    garden.save(tmp_path, arrays, [(f"model/{attribute}", "model/layer_with_weights-1")])
    keys = named(tmp_path)
    assert keys[f"model/{attribute}/{below}"] == f"model/layer_with_weights-1/{below}"


def test_the_encoder_s_pooler_is_marked_where_the_head_has_one(tmp_path):
    shapes = garden.numbered() | garden.dense("next_sentence.pooler_dense", garden.H)
    garden.save(tmp_path, garden.random(shapes))
    keys = named(tmp_path)
    for part in ("kernel", "bias"):
        assert keys[f"encoder/layer_with_weights-6/{part} (unused)"]
        assert keys[f"next_sentence.pooler_dense/{part}"] == f"next_sentence..pooler_dense/{part}"
    assert "encoder/layer_with_weights-6/kernel" not in keys


def test_what_belongs_to_no_head_keeps_its_key(tmp_path):
    arrays = garden.random(garden.numbered() | {"teacher/temperature": (3,)})
    garden.save(tmp_path, arrays)
    assert named(tmp_path)["teacher/temperature"] == "teacher/temperature"


def test_another_model_is_refused(tmp_path):
    garden.save(tmp_path, garden.random(garden.dense("net/dense", 3)))
    with pytest.raises(InputError, match=r"holds 0 BERT encoders.*At its root: net, save_counter"):
        named(tmp_path)


def test_two_encoders_are_refused(tmp_path):
    garden.save(tmp_path, garden.random(garden.numbered("left") | garden.attributes("right")))
    with pytest.raises(InputError, match="holds 2 BERT encoders"):
        named(tmp_path)


def test_factorized_embeddings_are_refused(tmp_path):
    """The layers then start at 5, and what is at 4 would be taken for the pooler."""
    shapes = {}
    for name, shape in garden.numbered(num_layers=1).items():
        shapes[name.replace("-5/", "-6/").replace("-4/", "-5/")] = shape
    shapes |= garden.dense("encoder/layer_with_weights-4", garden.H)
    garden.save(tmp_path, garden.random(shapes))
    with pytest.raises(InputError, match=r"\[5\] are the Transformer's; BERT's are 4 to 4.*ALBERT"):
        named(tmp_path)


def test_a_damaged_graph_is_refused(tmp_path):
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "bert_model.ckpt"),
        tensor_names=[OBJECT_GRAPH],
        shape_and_slices=[""],
        tensors=[tf.constant(b"\xff\xff no graph")],
    )
    with pytest.raises(InputError, match=f"{OBJECT_GRAPH} cannot be read from"):
        named(tmp_path)
