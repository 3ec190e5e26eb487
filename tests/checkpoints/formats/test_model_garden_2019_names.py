import pytest

from bert_tf.checkpoints.formats import model_garden_2019_names as names
from bert_tf.checkpoints.formats import tf1_names
from tests.modeling import harness

LAYER = "bert/encoder/layer_11"

# A variable of 2019, as it is called and where it is in the Keras layer, and its released name.
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
        f"{LAYER}/attention/self/query/kernel",
    ),
    (
        "encoder/layer_11/self_attention/value/bias",
        "encoder/layer11/attention_layer/value_dense/bias",
        f"{LAYER}/attention/self/value/bias",
    ),
    (
        "encoder/layer_11/self_attention_output/bias",
        "encoder/layers/11/attention_output_dense/bias",
        f"{LAYER}/attention/output/dense/bias",
    ),
    (
        "encoder/layer_11/self_attention_layer_norm/beta",
        "encoder/layers/11/attention_layer_norm/beta",
        f"{LAYER}/attention/output/LayerNorm/beta",
    ),
    (
        "encoder/layer_11/intermediate/kernel",
        "encoder/layers/11/intermediate_dense/kernel",
        f"{LAYER}/intermediate/dense/kernel",
    ),
    (
        "encoder/layer_11/output/kernel",
        "encoder/layers/11/output_dense/kernel",
        f"{LAYER}/output/dense/kernel",
    ),
    (
        "encoder/layer_11/output_layer_norm/gamma",
        "encoder/layer11/output_layer_norm/gamma",
        f"{LAYER}/output/LayerNorm/gamma",
    ),
    ("pooler_transform/kernel", "pooler_transform/kernel", "bert/pooler/dense/kernel"),
]


@pytest.mark.parametrize(("variable", "attributes", "released"), RELEASED)
def test_every_name_stands_for_a_released_one(variable, attributes, released):
    assert names.canonical(f"bert_model/{variable}") == released
    for root in ("model/layer_with_weights-0", "model/layer-3", "bert_layer"):
        key = f"{root}/{attributes}/.ATTRIBUTES/VARIABLE_VALUE"
        assert names.canonical(key) == released
    assert released in {
        n for r in tf1_names.table(harness.config(num_hidden_layers=12)) for n in r.names
    }


@pytest.mark.parametrize(
    "name", ["cls/predictions/output_bias", "output_weights", "model/layer_with_weights-1/kernel"]
)
def test_other_names_stay_as_they_are(name):
    assert names.canonical(name) == name
