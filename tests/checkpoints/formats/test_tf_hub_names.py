import pytest

from bert_tf.checkpoints.formats import tf_hub_names
from tests.modeling import harness

# What an export of Model Garden 2.20 named the variables of a layer.
LAYER = (
    [f"self_attention/{p}/{k}" for p in ("query", "key", "value") for k in ("kernel", "bias")]
    + [f"self_attention/attention_output/{kind}" for kind in ("kernel", "bias")]
    + [f"{part}/{kind}" for part in ("intermediate", "output") for kind in ("kernel", "bias")]
    + [f"{part}_layer_norm/{k}" for part in ("self_attention", "output") for k in ("gamma", "beta")]
)
OUTSIDE = [
    "word_embeddings/embeddings",
    "position_embedding/embeddings",
    "type_embeddings/embeddings",
    "embeddings/layer_norm/gamma",
    "embeddings/layer_norm/beta",
    "pooler_transform/kernel",
    "pooler_transform/bias",
]
MASKED_LM = [
    "bert/cls/predictions/output_bias/bias",
    "bert/cls/predictions/transform/dense/kernel",
    "bert/cls/predictions/transform/dense/bias",
    "bert/cls/predictions/transform/LayerNorm/gamma",
    "bert/cls/predictions/transform/LayerNorm/beta",
]


@pytest.mark.parametrize(
    ("top", "wanted"),
    [
        (
            "encoder",
            OUTSIDE + [f"transformer/layer_{index}/{name}" for index in (0, 1) for name in LAYER],
        ),
        ("masked_lm", MASKED_LM),
    ],
)
def test_names_are_those_of_an_export(top, wanted):
    table = tf_hub_names.table(harness.config(num_hidden_layers=2))
    found = [name for row in table for name in row.names if row.path.startswith(top)]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(
    ("name", "today"),
    [
        ("bert_model/word_embeddings/embeddings", "word_embeddings/embeddings"),
        ("bert_model/embedding_postprocessor/type_embeddings", "type_embeddings/embeddings"),
        ("bert_model/embedding_postprocessor/position_embeddings", "position_embedding/embeddings"),
        ("bert_model/embedding_postprocessor/layer_norm/beta", "embeddings/layer_norm/beta"),
        (
            "bert_model/encoder/layer_3/self_attention_output/kernel",
            "transformer/layer_3/self_attention/attention_output/kernel",
        ),
        ("bert_model/encoder/layer_3/output/bias", "transformer/layer_3/output/bias"),
        ("bert_model/pooler_transform/bias", "pooler_transform/bias"),
        ("cls/predictions/output_bias/bias", "bert/cls/predictions/output_bias/bias"),
        ("bert_2/cls/predictions/transform/dense/bias", MASKED_LM[2]),
    ],
)
def test_spelling_of_the_first_exports(name, today):
    assert tf_hub_names.canonical(name) == today


def test_names_of_today_stay():
    names = OUTSIDE + MASKED_LM + [f"transformer/layer_3/{name}" for name in LAYER]
    assert [tf_hub_names.canonical(name) for name in names] == names
