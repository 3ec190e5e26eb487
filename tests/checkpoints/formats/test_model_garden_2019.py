import numpy as np
import pytest

from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.formats import tf1
from bert_tf.checkpoints.formats.model_garden_2019 import ModelGarden2019
from bert_tf.checkpoints.formats.tf1 import TensorFlow1
from tests.checkpoints import garden, samples
from tests.modeling import harness

FORMAT = ModelGarden2019()

# In the order of the released names of a layer, and of what is before and after the layers.
LAYER = [
    *(
        f"attention_layer/{p}_dense/{k}"
        for k in ("kernel", "bias")
        for p in ("query", "key", "value")
    ),
    *("attention_output_dense/kernel", "attention_output_dense/bias"),
    *("attention_layer_norm/gamma", "attention_layer_norm/beta"),
    *("intermediate_dense/kernel", "intermediate_dense/bias"),
    *("output_dense/kernel", "output_dense/bias"),
    *("output_layer_norm/gamma", "output_layer_norm/beta"),
]
EMBEDDINGS = ["embedding_lookup/embeddings"] + [
    f"embedding_postprocessor/{name}"
    for name in ("position_embeddings", "type_embeddings")
    + ("output_layer_norm/gamma", "output_layer_norm/beta")
]
POOLER = ["pooler_transform/kernel", "pooler_transform/bias"]


def released(given):
    """(names, arrays) of an encoder in TensorFlow 1, in the order of its table."""
    arrays = TensorFlow1().arrays(given)
    table = [row for row in TensorFlow1().rows(given.config) if row.path in given.arrays]
    ordered = [name for row in table for name in row.names]
    return ordered, [arrays[name] for name in ordered]


@pytest.mark.parametrize("root", ["model/layer_with_weights-0", "bert_layer"])
def test_an_object_based_encoder(root, tmp_path):
    wanted = samples.state_dict("encoder", tmp_path / "source")
    layers = [f"encoder/layers/{i}/{name}" for i in range(garden.L) for name in LAYER]
    theirs = [f"{root}/{name}" for name in (*EMBEDDINGS, *layers, *POOLER)]
    garden.save(tmp_path / "saved", dict(zip(theirs, released(wanted)[1], strict=True)))
    checkpoint = open_checkpoint(tmp_path / "saved")
    read_back, report = reading.read(checkpoint)
    assert (checkpoint.format.name, read_back.kind) == ("model_garden_2019", "encoder")
    assert len(report.not_weights) == 2
    samples.assert_equal_arrays(read_back.arrays, wanted.arrays)


def test_names_of_the_converter_and_released_heads(tmp_path):
    """The replacements that it makes, one after the other."""
    wanted = samples.state_dict("pretrain", tmp_path / "source")
    arrays = {}
    for name, array in zip(*released(wanted), strict=True):
        for old, new in (
            ("bert", "bert_model"),
            ("embeddings/word_embeddings", "word_embeddings/embeddings"),
            ("embeddings/token_type_embeddings", "embedding_postprocessor/type_embeddings"),
            ("embeddings/position_embeddings", "embedding_postprocessor/position_embeddings"),
            ("embeddings/LayerNorm", "embedding_postprocessor/layer_norm"),
            ("attention/self", "self_attention"),
            ("attention/output/dense", "self_attention_output"),
            ("attention/output/LayerNorm", "self_attention_layer_norm"),
            ("intermediate/dense", "intermediate"),
            ("output/dense", "output"),
            ("output/LayerNorm", "output_layer_norm"),
            ("pooler/dense", "pooler_transform"),
        ):
            name = name.replace(old, new)
        arrays[name] = np.ascontiguousarray(array)
    arrays["global_step"] = np.int64(7)
    (tmp_path / "saved").mkdir()
    tf1.write_tensors(arrays, str(tmp_path / "saved" / "bert_model.ckpt"))
    (tmp_path / "saved" / "bert_config.json").write_text(wanted.config.to_json())
    checkpoint = open_checkpoint(tmp_path / "saved")
    read_back, report = reading.read(checkpoint)
    assert checkpoint.format.name == "model_garden_2019"
    assert (read_back.kind, report.not_weights) == ("pretrain", ("global_step",))
    samples.assert_equal_arrays(read_back.arrays, wanted.arrays)


RELEASED_LAYER = "bert/encoder/layer_11"

# A variable of 2019, by its name and by its place in the Keras layer, and its released name.
RELEASED = [
    (
        "word_embeddings/embeddings",
        "embedding_lookup/embeddings",
        "bert/embeddings/word_embeddings",
    ),
    (
        "embedding_postprocessor/type_embeddings",
        "embedding_postprocessor/type_embeddings",
        "bert/embeddings/token_type_embeddings",
    ),
    (
        "embedding_postprocessor/position_embeddings",
        "embedding_postprocessor/position_embeddings",
        "bert/embeddings/position_embeddings",
    ),
    (
        "embedding_postprocessor/layer_norm/gamma",
        "embedding_postprocessor/output_layer_norm/gamma",
        "bert/embeddings/LayerNorm/gamma",
    ),
    (
        "encoder/layer_11/self_attention/query/kernel",
        "encoder/layers/11/attention_layer/query_dense/kernel",
        f"{RELEASED_LAYER}/attention/self/query/kernel",
    ),
    (
        "encoder/layer_11/self_attention/value/bias",
        "encoder/layer11/attention_layer/value_dense/bias",
        f"{RELEASED_LAYER}/attention/self/value/bias",
    ),
    (
        "encoder/layer_11/self_attention_output/bias",
        "encoder/layers/11/attention_output_dense/bias",
        f"{RELEASED_LAYER}/attention/output/dense/bias",
    ),
    (
        "encoder/layer_11/self_attention_layer_norm/beta",
        "encoder/layers/11/attention_layer_norm/beta",
        f"{RELEASED_LAYER}/attention/output/LayerNorm/beta",
    ),
    (
        "encoder/layer_11/intermediate/kernel",
        "encoder/layers/11/intermediate_dense/kernel",
        f"{RELEASED_LAYER}/intermediate/dense/kernel",
    ),
    (
        "encoder/layer_11/output/kernel",
        "encoder/layers/11/output_dense/kernel",
        f"{RELEASED_LAYER}/output/dense/kernel",
    ),
    (
        "encoder/layer_11/output_layer_norm/gamma",
        "encoder/layer11/output_layer_norm/gamma",
        f"{RELEASED_LAYER}/output/LayerNorm/gamma",
    ),
    ("pooler_transform/kernel", "pooler_transform/kernel", "bert/pooler/dense/kernel"),
]


@pytest.mark.parametrize(("variable", "attributes", "released"), RELEASED)
def test_every_name_stands_for_a_released_one(variable, attributes, released):
    assert FORMAT.canonical_name(f"bert_model/{variable}") == released
    for root in ("model/layer_with_weights-0", "model/layer-3", "bert_layer"):
        key = f"{root}/{attributes}/.ATTRIBUTES/VARIABLE_VALUE"
        assert FORMAT.canonical_name(key) == released
    assert released in {
        n for r in TensorFlow1().rows(harness.config(num_hidden_layers=12)) for n in r.names
    }


@pytest.mark.parametrize(
    "name", ["cls/predictions/output_bias", "output_weights", "model/layer_with_weights-1/kernel"]
)
def test_other_names_stay_as_they_are(name):
    assert FORMAT.canonical_name(name) == name
