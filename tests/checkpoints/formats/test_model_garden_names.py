import numpy as np
import pytest

from bert_tf.checkpoints.formats import model_garden_names as names
from tests.checkpoints import garden
from tests.modeling import harness

KERNEL = "_transformer_layers/0/_attention_layer/_query_dense/kernel"


def test_the_table_has_every_name_of_an_encoder_and_its_shape():
    """As Model Garden 2.20 saves a `BertEncoderV2`."""
    found = {}
    for row in names.table(harness.config()):
        if row.path.startswith("encoder/"):
            shape = harness_shape(row.path)
            parts = row.split(np.zeros(shape, np.float32))
            found.update(zip(row.names, (part.shape for part in parts), strict=True))
    assert found == garden.attributes()


def harness_shape(path):
    """Shape of a variable of our encoder, from the paper's sizes."""
    h, i = harness.H, harness.I
    ends = {
        "word": (harness.V, h),
        "position": (17, h),
        "type": (2, h),
        "qkv/kernel": (h, 3 * h),
        "qkv/bias": (3 * h,),
        "intermediate/kernel": (h, i),
        "intermediate/bias": (i,),
        "feed_forward/output/kernel": (i, h),
        "kernel": (h, h),
    }
    return next((shape for end, shape in ends.items() if path.endswith(f"/{end}")), (h,))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("layer_with_weights-0/embeddings", "_embedding_layer/embeddings"),
        ("layer_with_weights-1/embeddings", "_position_embedding_layer/embeddings"),
        ("layer_with_weights-1/_position_embeddings", "_position_embedding_layer/embeddings"),
        ("layer_with_weights-2/embeddings", "_type_embedding_layer/embeddings"),
        ("layer_with_weights-3/gamma", "_embedding_norm_layer/gamma"),
        ("layer_with_weights-4/_attention_layer/_query_dense/kernel", KERNEL),
        ("layer_with_weights-15/_output_dense/bias", "_transformer_layers/11/_output_dense/bias"),
        ("layer_with_weights-16/kernel", "_pooler_layer/kernel"),
        ("layer_with_weights-28/bias", "_pooler_layer/bias"),
        (
            "layer_with_weights-5/_attention_output_dense/kernel",
            "_transformer_layers/1/_attention_layer/_output_dense/kernel",
        ),
    ],
)
def test_numbers_of_the_encoder_stand_for_attributes(theirs, ours):
    assert names.canonical(f"encoder/{theirs}") == f"encoder/{ours}"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("masked_lm/output_bias/bias", "masked_lm/bias"),
        ("masked_lm/dense/bias", "masked_lm/dense/bias"),
        ("next_sentence.pooler_dense/kernel", "encoder/_pooler_layer/kernel"),
        ("sentence_prediction.pooler_dense/bias", "encoder/_pooler_layer/bias"),
        ("model/classifier/dense/bias", "encoder/_pooler_layer/bias"),
        ("model/classification_heads/0/dense/kernel", "encoder/_pooler_layer/kernel"),
        (
            "model/classification/layer_with_weights-0/kernel",
            "model/classification_heads/0/out_proj/kernel",
        ),
        ("model/classifier/kernel", "model/classifier/out_proj/kernel"),
        ("model/classifier/layer_with_weights-0/bias", "model/classifier/out_proj/bias"),
        (
            "model/classification_heads/1/out_proj/bias",
            "model/classification_heads/1/out_proj/bias",
        ),
    ],
)
def test_heads_of_all_its_models(theirs, ours):
    assert names.canonical(theirs) == ours


@pytest.mark.parametrize(
    ("name", "is_weight"),
    [
        ("_CHECKPOINTABLE_OBJECT_GRAPH", False),
        ("save_counter", False),
        ("global_step", False),
        ("model/layer_with_weights-1/out_proj/bias/.OPTIMIZER_SLOT/optimizer/m", False),
        ("optimizer/_variables/3", False),
        ("optimizer/iter", False),
        ("keras_api/metrics/0/total", False),
        ("layer-0/.ATTRIBUTES/OBJECT_CONFIG_JSON", False),
        ("encoder/layer_with_weights-6/kernel (unused)", False),
        ("encoder/layer_with_weights-6/kernel", True),
        ("masked_lm/dense/kernel", True),
    ],
)
def test_what_is_no_weight(name, is_weight):
    from bert_tf.checkpoints import coverage

    assert coverage.matches(names.NOT_WEIGHTS, name) != is_weight
