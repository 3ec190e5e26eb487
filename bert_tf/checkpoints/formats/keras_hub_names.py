"""Names in keras-hub presets of BERT, row by row: paths of HDF5 datasets in two files.

`model/` stands for model.weights.h5 or its shards, `task/` for task.weights.h5. Keras names an
object after its class, numbered where there are several, and its weights in the order they were
made: `vars/0` is a kernel or gamma, `vars/1` a bias or beta. No preset has a place for a next
sentence or a span head.
"""

import re

from bert_tf.checkpoints.formats import rows

# What training leaves beside the weights: optimizer state, and that of random numbers.
NOT_WEIGHTS = (r"(model|task)/optimizer/.*", r".*/(seed|_?random)_generator/.*")

# The masked LM head has no matrix of its own.
TIED = {}

_KERAS_2 = re.compile(r"/_(query|key|value|output)_dense/")


def canonical(name):
    """The name as Keras 3 spells it; Keras 2 kept layers under the attribute of the model."""
    name = name.replace("/_layer_checkpoint_dependencies/", "/layers/")
    return _KERAS_2.sub(r"/\1_dense/", name)


def table(config):
    """All rows of a model with every head that keras-hub has, for a `BertConfig`."""
    layers = "model/layers"
    return [
        rows.same(f"{layers}/reversible_embedding/vars/0", "encoder/embeddings/word"),
        rows.same(f"{layers}/position_embedding/vars/0", "encoder/embeddings/position"),
        rows.same(f"{layers}/embedding/vars/0", "encoder/embeddings/type"),
        *_layer_norm(f"{layers}/layer_normalization", "encoder/embeddings/layer_norm"),
        *(row for index in range(config.num_hidden_layers) for row in _layer(index, config)),
        *_affine(f"{layers}/dense", "encoder/pooler"),
        *_heads(),
    ]


def _layer(index, config):
    theirs = "model/layers/transformer_encoder" + (f"_{index}" if index else "")
    ours = f"encoder/layer_{index}"
    h, a, d = config.hidden_size, config.num_attention_heads, config.size_per_head
    attention = f"{theirs}/_self_attention_layer"
    parts = [f"{attention}/{part}_dense/vars" for part in ("query", "key", "value")]
    kernels, biases = [f"{part}/0" for part in parts], [f"{part}/1" for part in parts]
    qkv, output = f"{ours}/attention/qkv", f"{ours}/attention/output"
    return [
        rows.reshaped_side_by_side(kernels, f"{qkv}/kernel", theirs=(h, a, d), ours=(h, h)),
        rows.reshaped_side_by_side(biases, f"{qkv}/bias", theirs=(a, d), ours=(h,)),
        rows.reshaped(
            f"{attention}/output_dense/vars/0", f"{output}/kernel", theirs=(a, d, h), ours=(h, h)
        ),
        rows.same(f"{attention}/output_dense/vars/1", f"{output}/bias"),
        *_layer_norm(f"{theirs}/_self_attention_layer_norm", f"{ours}/attention_layer_norm"),
        *_affine(f"{theirs}/_feedforward_intermediate_dense", f"{ours}/feed_forward/intermediate"),
        *_affine(f"{theirs}/_feedforward_output_dense", f"{ours}/feed_forward/output"),
        *_layer_norm(f"{theirs}/_feedforward_layer_norm", f"{ours}/output_layer_norm"),
    ]


def _heads():
    masked_lm = "task/layers/masked_lm_head"
    return [
        *_affine(f"{masked_lm}/_intermediate_dense", "masked_lm/transform"),
        *_layer_norm(f"{masked_lm}/_intermediate_layer_norm", "masked_lm/layer_norm"),
        rows.same(f"{masked_lm}/vars/0", "masked_lm/output_bias"),
        *_affine("task/layers/dense", "classifier"),
    ]


def _affine(theirs, ours):
    return [
        rows.same(f"{theirs}/vars/0", f"{ours}/kernel"),
        rows.same(f"{theirs}/vars/1", f"{ours}/bias"),
    ]


def _layer_norm(theirs, ours):
    return [
        rows.same(f"{theirs}/vars/0", f"{ours}/gamma"),
        rows.same(f"{theirs}/vars/1", f"{ours}/beta"),
    ]
