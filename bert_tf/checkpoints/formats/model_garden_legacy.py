"""Name-based checkpoints of TF Model Garden, bert_config.json, vocab.txt.

Its converter of released TensorFlow 1 checkpoints (`tf1_bert_checkpoint_converter_lib`) writes
them. The names are those of the Keras layers; heads of fine-tuned models, which it has no other
name for, keep their released ones.
"""

import os
import re

from bert_tf.checkpoints.formats.model_garden import ModelGarden
from bert_tf.checkpoints.formats.rows import NameTable
from bert_tf.checkpoints.formats.tf1 import (
    TensorFlow1,
    TensorFlowFormat,
    write_description,
    write_tensors,
)
from bert_tf.checkpoints.model_directory import WEIGHTS_PREFIX
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.checkpoints.variables import Shape

_QUERY = "transformer/layer_0/self_attention/query/kernel"
_FIRST_QUERY = "bert_model/encoder/layer_0/self_attention/query/kernel"

# Names of the converter's first version, and of today's.
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


class ModelGardenLegacy(TensorFlowFormat):
    """What `load_weights` of Model Garden's `BertEncoder` and `BertPretrainerV2` reads."""

    name = "model_garden_legacy"
    title = "TF Model Garden, name-based"
    accepted = "a name-based checkpoint of TF Model Garden's converter of TensorFlow 1 checkpoints"
    needs_pooler = True
    not_weights = TensorFlow1.not_weights
    table = NameTable(
        names={
            "encoder/embeddings/word": "word_embeddings/embeddings",
            "encoder/embeddings/position": "position_embedding/embeddings",
            "encoder/embeddings/type": "type_embeddings/embeddings",
            "encoder/embeddings/layer_norm": "embeddings/layer_norm",
            "encoder/pooler": "pooler_transform",
            "masked_lm/transform": "bert/cls/predictions/transform/dense",
            "masked_lm/layer_norm": "bert/cls/predictions/transform/LayerNorm",
            "masked_lm/output_bias": "bert/cls/predictions/output_bias/bias",
            "next_sentence": "predictions/transform/logits",
            "classifier/kernel": "output_weights",
            "classifier/bias": "output_bias",
            "span/kernel": "cls/squad/output_weights",
            "span/bias": "cls/squad/output_bias",
        },
        layer="transformer/layer_{n}/",
        in_layer={
            "attention/qkv": "self_attention/{part}",
            "attention/output": "self_attention/attention_output",
            "attention_layer_norm": "self_attention_layer_norm",
            "feed_forward/intermediate": "intermediate",
            "feed_forward/output": "output",
            "output_layer_norm": "output_layer_norm",
        },
        transposed="(classifier|span)/kernel",
        has_head_axis=True,
    )

    def canonical_name(self, name: str) -> str:
        """The name of today's converter."""
        for first, today in _FIRST:
            name = re.sub(f"^{first}", today, name)
        return name

    def has_own_names(self, shapes: dict[str, Shape]) -> bool:
        """Whether attention has an axis of heads, [H A D], under a name of either version."""
        return _QUERY in shapes or len(shapes.get(_FIRST_QUERY, ())) == 3

    def write(self, state_dict: StateDict, directory: str) -> None:
        """Writes bert_model.ckpt.*, bert_config.json and vocab.txt."""
        write_tensors(self.arrays(state_dict), os.path.join(directory, WEIGHTS_PREFIX))
        write_description(state_dict, directory)

    def notes(self, state_dict: StateDict) -> list[str]:
        """What Model Garden computes differently."""
        return ModelGarden().notes(state_dict)
