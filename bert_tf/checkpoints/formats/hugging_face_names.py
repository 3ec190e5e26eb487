"""Names in Hugging Face checkpoints of BERT, row by row. Weights of affine maps are [out in]."""

import re

from bert_tf.checkpoints.formats import rows

# Buffers that are not weights: row numbers of the position table, and its type ids.
NOT_WEIGHTS = (r"(bert\.)?embeddings\.(position_ids|token_type_ids)",)

# The masked LM decoder is the word embeddings again; a file may hold both or only one of them.
TIED = {
    "cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "cls.predictions.decoder.bias": "cls.predictions.bias",
}

_BASE_MODEL = re.compile(r"(embeddings|encoder|pooler)\.")
_LEGACY = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


def canonical(name):
    """The name of today: with `bert.` before it, which files of the bare encoder leave out, and
    `weight` and `bias` where files converted before 2019 have `gamma` and `beta`.
    """
    if _BASE_MODEL.match(name):
        name = f"bert.{name}"
    for old, new in _LEGACY.items():
        if name.endswith(old):
            name = name.removesuffix(old) + new
    return name


def table(config):
    """All rows of a model with every head, for a `BertConfig`."""
    return [
        *_embeddings(),
        *(row for index in range(config.num_hidden_layers) for row in _layer(index)),
        *_affine("bert.pooler.dense", "encoder/pooler"),
        *_heads(),
    ]


def _embeddings():
    theirs, ours = "bert.embeddings", "encoder/embeddings"
    return [
        rows.same(f"{theirs}.word_embeddings.weight", f"{ours}/word"),
        rows.same(f"{theirs}.position_embeddings.weight", f"{ours}/position"),
        rows.same(f"{theirs}.token_type_embeddings.weight", f"{ours}/type"),
        *_layer_norm(theirs, f"{ours}/layer_norm"),
    ]


def _layer(index):
    theirs, ours = f"bert.encoder.layer.{index}", f"encoder/layer_{index}"
    attention = [f"{theirs}.attention.self.{part}" for part in ("query", "key", "value")]
    qkv = f"{ours}/attention/qkv"
    return [
        rows.transposed_side_by_side([f"{n}.weight" for n in attention], f"{qkv}/kernel"),
        rows.side_by_side([f"{n}.bias" for n in attention], f"{qkv}/bias"),
        *_affine(f"{theirs}.attention.output.dense", f"{ours}/attention/output"),
        *_layer_norm(f"{theirs}.attention.output", f"{ours}/attention_layer_norm"),
        *_affine(f"{theirs}.intermediate.dense", f"{ours}/feed_forward/intermediate"),
        *_affine(f"{theirs}.output.dense", f"{ours}/feed_forward/output"),
        *_layer_norm(f"{theirs}.output", f"{ours}/output_layer_norm"),
    ]


def _heads():
    return [
        *_affine("cls.predictions.transform.dense", "masked_lm/transform"),
        *_layer_norm("cls.predictions.transform", "masked_lm/layer_norm"),
        rows.same("cls.predictions.bias", "masked_lm/output_bias"),
        *_affine("cls.seq_relationship", "next_sentence"),
        *_affine("classifier", "classifier"),
        *_affine("qa_outputs", "span"),
    ]


def _affine(theirs, ours):
    return [
        rows.transposed(f"{theirs}.weight", f"{ours}/kernel"),
        rows.same(f"{theirs}.bias", f"{ours}/bias"),
    ]


def _layer_norm(theirs, ours):
    return [
        rows.same(f"{theirs}.LayerNorm.weight", f"{ours}/gamma"),
        rows.same(f"{theirs}.LayerNorm.bias", f"{ours}/beta"),
    ]
