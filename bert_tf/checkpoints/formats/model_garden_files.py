"""Files of TF Model Garden: an object-based checkpoint, bert_config.json, vocab.txt."""

import os

import numpy as np

from bert_tf import files
from bert_tf.checkpoints.formats import model_garden_graph, model_garden_names, tf1_files
from bert_tf.checkpoints.formats.checkpoint import Checkpoint, described

# Every encoder there has a pooler, whether anything reads it or not.
NEEDS_POOLER = True

# Where tf.train.latest_checkpoint looks, so that the directory is enough of a path.
_STATE_FILE = "checkpoint"

_NEXT_SENTENCE = "model/classification_heads/0/out_proj"
_CLASSIFIER = "model/classifier/out_proj"
_SPAN = "model/span_labeling/layer_with_weights-0"


def find(path):
    """The prefix of the object-based checkpoint that `path` holds or names, or None.

    Raises:
      InputError: the directory holds several checkpoints, or one that is damaged.
    """
    prefix = tf1_files.find(path)
    if prefix and model_garden_graph.KEY in tf1_files.open_tensors(prefix)[0]:
        return prefix
    return None


def open(prefix):  # noqa: A001  the name of this function in every files module
    """Opens the checkpoint with this prefix, whatever Model Garden saved: see `names`.

    Raises:
      InputError: its values are missing, it is damaged, or it holds no BERT of Model Garden.
    """
    shapes, read = tf1_files.open_tensors(prefix)
    keys = model_garden_graph.names(prefix, shapes)
    directory = os.path.dirname(prefix)
    told = described(directory)
    if "model/classifier/kernel" in keys:  # not in a ClassificationHead
        told.setdefault("kind", "tag")
    return Checkpoint(
        prefix,
        "model_garden",
        *tf1_files.beside(directory),
        {name: shapes[key] for name, key in keys.items()},
        lambda name: read(keys[name]),
        notes=tuple(_pooler_notes(keys, read)),
        **told,
    )


def _pooler_notes(keys, read):
    unused = f"{model_garden_names.POOLER}/kernel"
    poolers = [name for name in keys if model_garden_names.canonical(name) == unused]
    marked = [name for name in keys if name.endswith(f"kernel{model_garden_names.UNUSED}")]
    if len(poolers) == len(marked) == 1 and not np.array_equal(
        read(keys[poolers[0]]), read(keys[marked[0]])
    ):
        yield (
            f"The pooler is {poolers[0].removesuffix('/kernel')}, which was trained; that of the "
            "encoder itself is another, which no loss has reached, and is left out."
        )


def write(contents, directory):
    """Writes bert_model.ckpt.*, bert_config.json and vocab.txt into `directory`.

    What `tf.train.Checkpoint` restores from it: `encoder=` (and `model=`) a `BertEncoder` or
    `BertEncoderV2`; and for a model with heads `model=` the whole and its `checkpoint_items`:
    `BertPretrainerV2` with the head "next_sentence", `BertClassifier` with and without the
    encoder's pooler, `BertTokenClassifier`, `BertSpanLabeler`. There is no multiple choice; its
    one output is that of a `BertClassifier` of one class.

    Args:
      contents: `Contents`.
      directory: str, there and empty.
    """
    import tensorflow as tf

    arrays = contents.to_names(model_garden_names)
    with tf.device("CPU"):
        _root(arrays, contents).write(os.path.join(directory, tf1_files.PREFIX))
    state = f'model_checkpoint_path: "{tf1_files.PREFIX}"\n'
    files.write_text(os.path.join(directory, _STATE_FILE), state)
    tf1_files.write_beside(contents, directory)


def notes(contents):
    """What Model Garden computes otherwise than this package: list of sentences."""
    config, found = contents.config, []
    if config.hidden_act == "gelu_erf":
        found.append(
            "hidden_act is gelu_erf, the exact form, which bert_config.json cannot say to Model "
            "Garden, whose gelu there is the tanh form; BertEncoder(inner_activation='gelu') and "
            "mlm_activation='gelu' are the exact form."
        )
    if config.layer_norm_eps != 1e-12:
        found.append(f"layer_norm_eps is {config.layer_norm_eps}; Model Garden takes 1e-12.")
    if config.is_causal:
        found.append("The model reads from left to right, which Model Garden's BERT does not.")
    if contents.kind == "choice":
        found.append("Model Garden has no multiple choice; its BertClassifier scores one text.")
    return found


def _root(arrays, contents):
    """The tf.train.Checkpoint of Model Garden's trainer, without its optimizer."""
    import tensorflow as tf

    encoder = _encoder(arrays, contents.config.num_hidden_layers)
    model, items = _model(arrays, contents.kind, encoder)
    root = tf.train.Checkpoint(encoder=encoder, **items, model=model)
    root.save_counter.assign(1)  # write() does not count as save() does, and restore() looks for it
    return root


def _encoder(arrays, num_layers):
    """Both ways to each layer: the numbers of `BertEncoder`, the attributes of both encoders.

    The way through a number is the shorter one for most, or else the first: it makes the key.
    """
    blocks = [
        _module(arrays, f"encoder/_transformer_layers/{index}") for index in range(num_layers)
    ]
    attributes = (*model_garden_names.EMBEDDINGS, "_pooler_layer")
    single = {name: _module(arrays, f"encoder/{name}") for name in attributes}
    pooler = single["_pooler_layer"]
    numbered = [*(single[name] for name in model_garden_names.EMBEDDINGS), *blocks, pooler]
    return _object(
        {f"layer_with_weights-{number}": layer for number, layer in enumerate(numbered)}
        | single
        | {"_transformer_layers": blocks}
    )


def _model(arrays, kind, encoder):
    """(the whole model, what its `checkpoint_items` has beside the encoder)."""
    if kind == "encoder":
        return encoder, {}
    if kind == "pretrain":
        return _pretrainer(arrays, encoder)
    if kind == "span":
        head = _object({"layer_with_weights-0": _module(arrays, _SPAN)})
        attribute, items = "span_labeling", {}
    elif kind == "tag":
        head = _module(arrays, _CLASSIFIER)
        attribute, items = "classifier", {}
    else:
        # A head without a pooler of its own never looks at `dense`.
        pooler = _module(arrays, model_garden_names.POOLER)
        head = _object({"dense": pooler, "out_proj": _module(arrays, _CLASSIFIER)})
        attribute, items = "classifier", {"sentence_prediction.pooler_dense": pooler}
    layers = {"layer_with_weights-0": encoder, "layer_with_weights-1": head}
    return _object(layers | {"_network": encoder, attribute: head}), items


def _pretrainer(arrays, encoder):
    items, children = {}, {"encoder_network": encoder}
    if "masked_lm/bias" in arrays:
        parts = ("dense", "layer_norm")
        head = _object({part: _module(arrays, f"masked_lm/{part}") for part in parts})
        bias = _variable(arrays["masked_lm/bias"])
        setattr(head, "output_bias/bias", bias)
        head.bias = bias
        items["masked_lm"] = children["masked_lm"] = head
    if f"{_NEXT_SENTENCE}/kernel" in arrays:
        pooler = _module(arrays, model_garden_names.POOLER)
        head = _object({"dense": pooler, "out_proj": _module(arrays, _NEXT_SENTENCE)})
        items["next_sentence.pooler_dense"] = pooler
        children["classification_heads"] = [head]
    return _object(children), items


def _module(arrays, start):
    """An object with a variable for each name under `start`, at the paths that follow it."""
    children = {}
    for name, array in arrays.items():
        if name.startswith(f"{start}/"):
            attribute, _, rest = name.removeprefix(f"{start}/").partition("/")
            if rest:
                children.setdefault(attribute, _module(arrays, f"{start}/{attribute}"))
            else:
                children[attribute] = _variable(array)
    return _object(children)


def _object(children):
    """An object that tracks `children` under any attribute names, in this order."""
    import tensorflow as tf

    made = tf.Module()
    for name, child in children.items():
        setattr(made, name, child)
    return made


def _variable(array):
    import tensorflow as tf

    return tf.Variable(array, trainable=False)
