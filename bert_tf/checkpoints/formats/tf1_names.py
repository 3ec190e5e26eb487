"""Names in checkpoints of the released TensorFlow 1 code, row by row (`modeling.py`, run_*.py).

206 rows for BERT-Base with both pre-training heads: 5 embedding variables, 16 for each layer,
2 of the pooler, 5 of masked LM, 2 of next sentence prediction. We join query, key and value, so
twelve of ours a layer stand for those sixteen.
"""

from bert_tf.checkpoints.formats import rows

# What training leaves in a checkpoint beside the weights: the step, the slots of Adam and LAMB
# under either naming, and the state of loss scaling.
NOT_WEIGHTS = (
    r"global_step",
    r".*/(adam|lamb)_[mv]",
    r".*/(Adam|LAMB)(_\d+)?",
    r"(.*/)?(beta[12]_power|loss_scale|current_loss_scale|bad_steps|good_steps)",
)

# No variable is written twice.
TIED = {}


def canonical(name):
    """The name as it is."""
    return name


def table(config):
    """All rows of a model with every head, for a `BertConfig`."""
    return [
        *_embeddings(),
        *(row for index in range(config.num_hidden_layers) for row in _layer(index)),
        *rows.affine("bert/pooler/dense", "encoder/pooler"),
        *_heads(),
    ]


def _embeddings():
    theirs, ours = "bert/embeddings", "encoder/embeddings"
    return [
        rows.same(f"{theirs}/word_embeddings", f"{ours}/word"),
        rows.same(f"{theirs}/position_embeddings", f"{ours}/position"),
        rows.same(f"{theirs}/token_type_embeddings", f"{ours}/type"),
        *rows.layer_norm(f"{theirs}/LayerNorm", f"{ours}/layer_norm"),
    ]


def _layer(index):
    theirs, ours = f"bert/encoder/layer_{index}", f"encoder/layer_{index}"
    attention = [f"{theirs}/attention/self/{part}" for part in ("query", "key", "value")]
    return [
        rows.side_by_side([f"{n}/kernel" for n in attention], f"{ours}/attention/qkv/kernel"),
        rows.side_by_side([f"{n}/bias" for n in attention], f"{ours}/attention/qkv/bias"),
        *rows.affine(f"{theirs}/attention/output/dense", f"{ours}/attention/output"),
        *rows.layer_norm(f"{theirs}/attention/output/LayerNorm", f"{ours}/attention_layer_norm"),
        *rows.affine(f"{theirs}/intermediate/dense", f"{ours}/feed_forward/intermediate"),
        *rows.affine(f"{theirs}/output/dense", f"{ours}/feed_forward/output"),
        *rows.layer_norm(f"{theirs}/output/LayerNorm", f"{ours}/output_layer_norm"),
    ]


def _heads():
    predictions = "cls/predictions"
    return [
        *rows.affine(f"{predictions}/transform/dense", "masked_lm/transform"),
        *rows.layer_norm(f"{predictions}/transform/LayerNorm", "masked_lm/layer_norm"),
        rows.same(f"{predictions}/output_bias", "masked_lm/output_bias"),
        *_output("cls/seq_relationship/", "next_sentence"),
        *_output("", "classifier"),
        *_output("cls/squad/", "span"),
    ]


def _output(theirs, ours):
    """A head's output layer, whose weights the released code keeps as [C H]."""
    return [
        rows.transposed(f"{theirs}output_weights", f"{ours}/kernel"),
        rows.same(f"{theirs}output_bias", f"{ours}/bias"),
    ]
