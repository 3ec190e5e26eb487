"""Names in TF Model Garden's checkpoints of 2019, whose arrays have the released shapes.

Two kinds: name-based, from the converter of that time, and object-based, in the folder tf_20 of
the released files, where the encoder is one Keras layer. Each name stands for a released one;
the rows are those of TensorFlow 1.
"""

import re

from bert_tf.checkpoints.formats import model_garden_names, tf1_names

NOT_WEIGHTS = (
    *tf1_names.NOT_WEIGHTS,
    *model_garden_names.NOT_WEIGHTS,
    r"(save_counter|global_step)/\.ATTRIBUTES/VARIABLE_VALUE",
)

# No variable is written twice.
TIED = {}

table = tf1_names.table

_ENCODER = re.compile(
    r"(model/|bert_layer/|layer(_with_weights)?-\d+/)+"
    r"(?=embedding_lookup/|embedding_postprocessor/|encoder/layer|pooler_transform/)"
)
_SPELLINGS = (
    # Attributes of the layer, as a variable of it is called.
    (r"embedding_lookup/", "word_embeddings/"),
    (r"embedding_postprocessor/output_layer_norm/", "embedding_postprocessor/layer_norm/"),
    (
        r"encoder/(?:layers/|layer)(\d+)/attention_layer/(query|key|value)_dense/",
        r"encoder/layer_\1/self_attention/\2/",
    ),
    (
        r"encoder/(?:layers/|layer)(\d+)/attention_output_dense/",
        r"encoder/layer_\1/self_attention_output/",
    ),
    (
        r"encoder/(?:layers/|layer)(\d+)/attention_layer_norm/",
        r"encoder/layer_\1/self_attention_layer_norm/",
    ),
    (r"encoder/(?:layers/|layer)(\d+)/(intermediate|output)_dense/", r"encoder/layer_\1/\2/"),
    (r"encoder/(?:layers/|layer)(\d+)/output_layer_norm/", r"encoder/layer_\1/output_layer_norm/"),
    # Variables, as the released code calls them.
    (r"word_embeddings/embeddings", "embeddings/word_embeddings"),
    (r"embedding_postprocessor/type_embeddings", "embeddings/token_type_embeddings"),
    (r"embedding_postprocessor/position_embeddings", "embeddings/position_embeddings"),
    (r"embedding_postprocessor/layer_norm/", "embeddings/LayerNorm/"),
    (r"(encoder/layer_\d+)/self_attention/", r"\1/attention/self/"),
    (r"(encoder/layer_\d+)/self_attention_output/", r"\1/attention/output/dense/"),
    (r"(encoder/layer_\d+)/self_attention_layer_norm/", r"\1/attention/output/LayerNorm/"),
    (r"(encoder/layer_\d+)/(intermediate|output)/", r"\1/\2/dense/"),
    (r"(encoder/layer_\d+)/output_layer_norm/", r"\1/output/LayerNorm/"),
    (r"pooler_transform/", "pooler/dense/"),
)


def canonical(name):
    """The released name: with `bert/` before what is the encoder's."""
    name = name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE")
    encoder = name.removeprefix("bert_model/")
    if encoder == name:
        encoder = _ENCODER.sub("", name, count=1)
    if encoder == name:
        return name
    for spelling, released in _SPELLINGS:
        encoder = re.sub(f"^{spelling}", released, encoder)
    return f"bert/{encoder}"
