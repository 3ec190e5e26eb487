"""Names in TF Model Garden's object-based checkpoints of BERT, row by row (`official.nlp`).

A name is a path of attributes, from the encoder or from a head: those of `BertEncoderV2`, which
`BertEncoder` has as well. What several ways lead to in a file, `model_garden_graph` gives one
name. Attention keeps its heads apart: [H A D] in, [A D H] out.
"""

import re

from bert_tf.checkpoints.formats import rows

# Beside the weights: the graph of objects, counters, the configs that Keras of 2020 left, slots
# and state of optimizers and metrics, and a pooler that no loss has reached.
UNUSED = " (unused)"
NOT_WEIGHTS = (
    r"_CHECKPOINTABLE_OBJECT_GRAPH|save_counter|global_step",
    r"(.*/)?\.ATTRIBUTES/OBJECT_CONFIG_JSON",
    r"(.*/)?(\.OPTIMIZER_SLOT|optimizer|keras_api)/.*",
    rf".*{re.escape(UNUSED)}",
)

POOLER = "encoder/_pooler_layer"

# Word embeddings of a masked LM head that does not share the variable.
TIED = {"masked_lm/embedding_table": "encoder/_embedding_layer/embeddings"}

# `BertEncoder` numbers its layers: these four, the Transformer's from 4 on, the pooler.
EMBEDDINGS = (
    "_embedding_layer",
    "_position_embedding_layer",
    "_type_embedding_layer",
    "_embedding_norm_layer",
)

_NUMBERED = re.compile(r"encoder/layer_with_weights-(\d+)/(.+)")
_SPELLINGS = (
    (
        r"(encoder/_transformer_layers/\d+)/_attention_output_dense/",
        r"\1/_attention_layer/_output_dense/",
    ),
    (r"(encoder/_position_embedding_layer)/_position_embeddings", r"\1/embeddings"),
    (r"masked_lm/(output_bias/bias|_output_bias)", "masked_lm/bias"),
    (
        r"([^/]+\.pooler_dense|model/classifier/dense|model/classification_heads/0/dense)/",
        f"{POOLER}/",
    ),
    (r"model/classification/layer_with_weights-0/", "model/classification_heads/0/out_proj/"),
    (r"model/classifier/(layer_with_weights-0/)?(?=(kernel|bias)$)", "model/classifier/out_proj/"),
)


def canonical(name):
    """The name as the table spells it.

    A number becomes the attribute it stands for, heads that keep a pooler of their own give it to
    the encoder, and each of the classifiers that Model Garden has had is called alike.
    """
    if match := _NUMBERED.fullmatch(name):
        number, rest = int(match[1]), match[2]
        if number < len(EMBEDDINGS):
            part = EMBEDDINGS[number]
        elif rest in ("kernel", "bias"):
            part = "_pooler_layer"
        else:
            part = f"_transformer_layers/{number - len(EMBEDDINGS)}"
        name = f"encoder/{part}/{rest}"
    for spelling, ours in _SPELLINGS:
        name = re.sub(f"^{spelling}", ours, name)
    return name


def table(config):
    """All rows of a model with every head, for a `BertConfig`."""
    return [
        *_embeddings(),
        *(row for index in range(config.num_hidden_layers) for row in _layer(index, config)),
        *rows.affine(POOLER, "encoder/pooler"),
        *rows.affine("masked_lm/dense", "masked_lm/transform"),
        *rows.layer_norm("masked_lm/layer_norm", "masked_lm/layer_norm"),
        rows.same("masked_lm/bias", "masked_lm/output_bias"),
        *rows.affine("model/classification_heads/0/out_proj", "next_sentence"),
        *rows.affine("model/classifier/out_proj", "classifier"),
        *rows.affine("model/span_labeling/layer_with_weights-0", "span"),
    ]


def _embeddings():
    word, position, token_type, norm = (f"encoder/{name}" for name in EMBEDDINGS)
    ours = "encoder/embeddings"
    return [
        rows.same(f"{word}/embeddings", f"{ours}/word"),
        rows.same(f"{position}/embeddings", f"{ours}/position"),
        rows.same(f"{token_type}/embeddings", f"{ours}/type"),
        *rows.layer_norm(norm, f"{ours}/layer_norm"),
    ]


def _layer(index, config):
    theirs, ours = f"encoder/_transformer_layers/{index}", f"encoder/layer_{index}"
    return [
        *attention(
            [f"{theirs}/_attention_layer/_{part}_dense" for part in ("query", "key", "value")],
            f"{theirs}/_attention_layer/_output_dense",
            f"{ours}/attention",
            config,
        ),
        *rows.layer_norm(f"{theirs}/_attention_layer_norm", f"{ours}/attention_layer_norm"),
        *rows.affine(f"{theirs}/_intermediate_dense", f"{ours}/feed_forward/intermediate"),
        *rows.affine(f"{theirs}/_output_dense", f"{ours}/feed_forward/output"),
        *rows.layer_norm(f"{theirs}/_output_layer_norm", f"{ours}/output_layer_norm"),
    ]


def attention(inputs, output, ours, config):
    """Rows of query, key and value `inputs` and of the `output` of one layer's attention."""
    h, a, d = config.hidden_size, config.num_attention_heads, config.size_per_head
    kernels = [f"{name}/kernel" for name in inputs]
    biases = [f"{name}/bias" for name in inputs]
    return [
        rows.reshaped_side_by_side(kernels, f"{ours}/qkv/kernel", theirs=(h, a, d), ours=(h, h)),
        rows.reshaped_side_by_side(biases, f"{ours}/qkv/bias", theirs=(a, d), ours=(h,)),
        rows.reshaped(f"{output}/kernel", f"{ours}/output/kernel", theirs=(a, d, h), ours=(h, h)),
        rows.same(f"{output}/bias", f"{ours}/output/bias"),
    ]
