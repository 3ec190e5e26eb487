"""Object-based checkpoints made by hand, as TF Model Garden's objects would be saved."""

import numpy as np
import tensorflow as tf

from tests.modeling import harness

H, A, D, I, V, T, L = (  # noqa: E741  the letters of shapes.AXES
    *(harness.H, harness.A, harness.D, harness.I, harness.V, 2, harness.L),
)
P = 17

# Below a layer of the encoder, as BertEncoder and BertEncoderV2 of Model Garden 2.20 save it.
LAYER = {
    "_attention_layer/_query_dense/kernel": (H, A, D),
    "_attention_layer/_query_dense/bias": (A, D),
    "_attention_layer/_key_dense/kernel": (H, A, D),
    "_attention_layer/_key_dense/bias": (A, D),
    "_attention_layer/_value_dense/kernel": (H, A, D),
    "_attention_layer/_value_dense/bias": (A, D),
    "_attention_layer/_output_dense/kernel": (A, D, H),
    "_attention_layer/_output_dense/bias": (H,),
    "_attention_layer_norm/gamma": (H,),
    "_attention_layer_norm/beta": (H,),
    "_intermediate_dense/kernel": (H, I),
    "_intermediate_dense/bias": (I,),
    "_output_dense/kernel": (I, H),
    "_output_dense/bias": (H,),
    "_output_layer_norm/gamma": (H,),
    "_output_layer_norm/beta": (H,),
}
MASKED_LM = {
    "dense/kernel": (H, H),
    "dense/bias": (H,),
    "layer_norm/gamma": (H,),
    "layer_norm/beta": (H,),
    "output_bias/bias": (V,),
}


def under(start, shapes):
    return {f"{start}/{name}": shape for name, shape in shapes.items()}


def dense(start, size_out):
    return {f"{start}/kernel": (H, size_out), f"{start}/bias": (size_out,)}


def numbered(start="encoder", num_layers=L):
    """Names and shapes of a `BertEncoder`."""
    return under(
        start,
        {
            "layer_with_weights-0/embeddings": (V, H),
            "layer_with_weights-1/embeddings": (P, H),
            "layer_with_weights-2/embeddings": (T, H),
            "layer_with_weights-3/gamma": (H,),
            "layer_with_weights-3/beta": (H,),
            **{
                f"layer_with_weights-{4 + index}/{name}": shape
                for index in range(num_layers)
                for name, shape in LAYER.items()
            },
            **dense(f"layer_with_weights-{4 + num_layers}", H),
        },
    )


def attributes(start="encoder"):
    """Names and shapes of a `BertEncoderV2`."""
    return under(
        start,
        {
            "_embedding_layer/embeddings": (V, H),
            "_position_embedding_layer/embeddings": (P, H),
            "_type_embedding_layer/embeddings": (T, H),
            "_embedding_norm_layer/gamma": (H,),
            "_embedding_norm_layer/beta": (H,),
            **{
                f"_transformer_layers/{index}/{name}": shape
                for index in range(L)
                for name, shape in LAYER.items()
            },
            **dense("_pooler_layer", H),
        },
    )


def random(shapes, seed=3):
    """Dict from name to array."""
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def save(folder, arrays, aliases=()):
    """Saves objects that have each array at its path of attributes; returns the arrays.

    Args:
      folder: where bert_model.ckpt.* and bert_config.json are written.
      arrays: dict from path to array.
      aliases: (path, path) pairs: the first becomes another way to what the second is.
    """
    root = tf.train.Checkpoint()
    for path, array in arrays.items():
        *parents, name = path.split("/")
        if parents[-1:] == ["output_bias"]:  # one attribute with a slash in it
            parents, name = parents[:-1], "output_bias/bias"
        setattr(reach(root, parents), name, tf.Variable(array))
    for alias, path in aliases:
        *parents, name = alias.split("/")
        setattr(reach(root, parents), name, reach(root, path.split("/")))
    root.save_counter.assign(1)
    folder.mkdir(exist_ok=True)
    root.write(str(folder / "bert_model.ckpt"))
    (folder / "bert_config.json").write_text(harness.config().to_json())
    return arrays


def reach(node, names):
    """The object at a path of attributes; what is missing on the way is made."""
    for name in names:
        if not hasattr(node, name):
            setattr(node, name, tf.Module())
        node = getattr(node, name)
    return node


def keys(folder):
    """Dict from key to shape, of all entries of a checkpoint but the graph and the counter."""
    reader = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
    shapes = {key: tuple(shape) for key, shape in reader.get_variable_to_shape_map().items()}
    assert shapes.pop("_CHECKPOINTABLE_OBJECT_GRAPH") == ()
    assert shapes.pop("save_counter/.ATTRIBUTES/VARIABLE_VALUE") == ()
    return {key.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE"): s for key, s in shapes.items()}
