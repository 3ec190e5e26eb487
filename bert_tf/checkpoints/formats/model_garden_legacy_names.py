"""Names in name-based checkpoints of TF Model Garden, row by row.

Its converter of released TensorFlow 1 checkpoints (`tf1_bert_checkpoint_converter_lib`) writes
them: those of the Keras layers, and attention by heads. What it knows no other name for, the
heads of fine-tuned models, keeps its released one.
"""

import re

from bert_tf.checkpoints.formats import model_garden_names, rows, tf1_names

NOT_WEIGHTS = tf1_names.NOT_WEIGHTS

# No variable is written twice.
TIED = {}

# The converter's first table had other names for the same.
_FIRST = (
    (r"bert_model/encoder/", "transformer/"),
    (r"bert_model/", ""),
    (r"embedding_postprocessor/type_embeddings", "type_embeddings/embeddings"),
    (r"embedding_postprocessor/position_embeddings", "position_embedding/embeddings"),
    (r"embedding_postprocessor/", "embeddings/"),
    (r"(transformer/layer_\d+)/self_attention_output/", r"\1/self_attention/attention_output/"),
    (r"cls/predictions/output_bias", "bert/cls/predictions/output_bias/bias"),
    (r"cls/predictions/", "bert/cls/predictions/"),
)


def canonical(name):
    """The name of today's converter."""
    for first, today in _FIRST:
        name = re.sub(f"^{first}", today, name)
    return name


def table(config):
    """All rows of a model with every head, for a `BertConfig`."""
    predictions = "bert/cls/predictions"
    return [
        rows.same("word_embeddings/embeddings", "encoder/embeddings/word"),
        rows.same("position_embedding/embeddings", "encoder/embeddings/position"),
        rows.same("type_embeddings/embeddings", "encoder/embeddings/type"),
        *rows.layer_norm("embeddings/layer_norm", "encoder/embeddings/layer_norm"),
        *(row for index in range(config.num_hidden_layers) for row in _layer(index, config)),
        *rows.affine("pooler_transform", "encoder/pooler"),
        *rows.affine(f"{predictions}/transform/dense", "masked_lm/transform"),
        *rows.layer_norm(f"{predictions}/transform/LayerNorm", "masked_lm/layer_norm"),
        rows.same(f"{predictions}/output_bias/bias", "masked_lm/output_bias"),
        *rows.affine("predictions/transform/logits", "next_sentence"),
        rows.transposed("output_weights", "classifier/kernel"),
        rows.same("output_bias", "classifier/bias"),
        rows.transposed("cls/squad/output_weights", "span/kernel"),
        rows.same("cls/squad/output_bias", "span/bias"),
    ]


def _layer(index, config):
    theirs, ours = f"transformer/layer_{index}", f"encoder/layer_{index}"
    return [
        *model_garden_names.attention(
            [f"{theirs}/self_attention/{part}" for part in ("query", "key", "value")],
            f"{theirs}/self_attention/attention_output",
            f"{ours}/attention",
            config,
        ),
        *rows.layer_norm(f"{theirs}/self_attention_layer_norm", f"{ours}/attention_layer_norm"),
        *rows.affine(f"{theirs}/intermediate", f"{ours}/feed_forward/intermediate"),
        *rows.affine(f"{theirs}/output", f"{ours}/feed_forward/output"),
        *rows.layer_norm(f"{theirs}/output_layer_norm", f"{ours}/output_layer_norm"),
    ]
