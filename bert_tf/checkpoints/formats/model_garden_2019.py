"""Checkpoints of TF Model Garden of 2019, whose arrays have the released shapes; only read.

There are two kinds: name-based ones, from the converter of that time, and object-based ones, in the
folder tf_20 of the released files, where the encoder is one Keras layer. Each name stands for a
released one, so the name table is that of TensorFlow 1.
"""

import re

from bert_tf.checkpoints.formats.model_garden import ModelGarden
from bert_tf.checkpoints.formats.tf1 import TensorFlow1, TensorFlowFormat
from bert_tf.checkpoints.variables import Shape

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_MARKS = ("bert_model/word_embeddings/embeddings", "embedding_postprocessor/type_embeddings/.ATTR")

_ENCODER = re.compile(
    r"(model/|bert_layer/|layer(_with_weights)?-\d+/)+"
    r"(?=embedding_lookup/|embedding_postprocessor/|encoder/layer|pooler_transform/)"
)
_SPELLINGS = (
    # Attributes of the Keras layer, as the names of their variables.
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
    # Names of variables, as the released code spells them.
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


class ModelGarden2019(TensorFlowFormat):
    """Both kinds."""

    name = "model_garden_2019"
    title = "TF Model Garden of 2019"
    accepted = "an object-based or a name-based checkpoint of TF Model Garden of 2019"
    is_written = False
    table = TensorFlow1.table
    not_weights = (
        *TensorFlow1.not_weights,
        *ModelGarden.not_weights,
        rf"(save_counter|global_step){re.escape(_VALUE)}",
    )

    def canonical_name(self, name: str) -> str:
        """The released name; one of the encoder starts with `bert/`."""
        name = name.removesuffix(_VALUE)
        encoder = name.removeprefix("bert_model/")
        if encoder == name:
            encoder = _ENCODER.sub("", name, count=1)
        if encoder == name:
            return name
        for spelling, released in _SPELLINGS:
            encoder = re.sub(f"^{spelling}", released, encoder)
        return f"bert/{encoder}"

    def has_own_names(self, shapes: dict[str, Shape]) -> bool:
        """Whether a name is one that only these have."""
        return any(mark in name for mark in _MARKS for name in shapes)
