"""The graph of objects in a TensorFlow 2 checkpoint: finds BERT in it and names its variables.

A key in such a file is one of several ways to a variable, whichever was shortest from what the
program saved: the encoder alone, a classifier with its optimizer, a trainer. The graph has all
of them, so that the same variable gets the same name whatever was saved.
"""

import collections
import re

from bert_tf.checkpoints.formats import model_garden_names
from bert_tf.errors import InputError

KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_NUMBERED = re.compile(r"layer_with_weights-(\d+)")

# Attributes of Model Garden's models that are heads, and how their variables' names start.
_HEADS = {
    "masked_lm": "masked_lm",
    "classification_heads": "model/classification_heads",
    "classification": "model/classification",
    "classifier": "model/classifier",
    "span_labeling": "model/span_labeling",
}
_HEAD_POOLER = ".pooler_dense"


def names(prefix, keys):
    """Names the variables of a checkpoint.

    Args:
      prefix: str, path of the checkpoint without its last suffix.
      keys: names in the file.

    Returns:
      Dict from a name that `model_garden_names.canonical` takes to the key in the file. What is
      of no encoder and of no known head keeps its key.

    Raises:
      InputError: it holds no encoder of Model Garden's BERT, several, or one of another layout.
    """
    nodes = _read(prefix)
    encoder = _encoder(nodes, prefix)
    found = {}
    for start, node in [("encoder", encoder), *_heads(nodes).items()]:
        for path, child in _walk(nodes, node):
            for key in nodes[child].keys:
                found.setdefault(key, "/".join((start, *path)))
    for key in keys:
        found.setdefault(key, key.removesuffix(_VALUE))
    return _without_unused_pooler({found[key]: key for key in keys})


Node = collections.namedtuple("Node", ["children", "keys"])  # dict from attribute to number; list


def _read(prefix):
    """The nodes of the graph, a list of `Node`; number 0 is what was saved."""
    import tensorflow as tf
    from google.protobuf import message
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    try:
        graph.ParseFromString(tf.train.load_checkpoint(prefix).get_tensor(KEY))
    except (message.DecodeError, tf.errors.OpError, RuntimeError, IndexError) as error:
        raise InputError(f"{KEY} cannot be read from {prefix}: {error}") from None
    return [
        Node(
            {child.local_name: child.node_id for child in node.children},
            [one.checkpoint_key for one in node.attributes if one.checkpoint_key.endswith(_VALUE)],
        )
        for node in graph.nodes
    ]


def _walk(nodes, start):
    """(path of attributes, number) of all that can be reached, the shortest path of each."""
    seen, queue = {start}, collections.deque([((), start)])
    while queue:
        path, number = queue.popleft()
        yield path, number
        for name, child in nodes[number].children.items():
            if child not in seen:
                seen.add(child)
                queue.append(((*path, name), child))


def _encoder(nodes, prefix):
    found = [number for _, number in _walk(nodes, 0) if _blocks(nodes, number)]
    if len(found) != 1:
        held = ", ".join(sorted(nodes[0].children)) or "nothing"
        raise InputError(
            f"{prefix} is an object-based TensorFlow 2 checkpoint that holds {len(found)} BERT "
            "encoders as TF Model Garden writes them (an object with layer_with_weights-4 or "
            "_transformer_layers, whose _attention_layer is attention); wanted: one. At its root: "
            f"{held}."
        )
    _check_layout(nodes, found[0], prefix)
    return found[0]


def _blocks(nodes, number):
    """Numbers of the Transformer's layers of an encoder; empty if this is none."""
    children = nodes[number].children
    if "_transformer_layers" in children:
        blocks = list(nodes[children["_transformer_layers"]].children.values())
    else:
        blocks = list(_positions(nodes, number).values())
    return [block for block in blocks if "_attention_layer" in nodes[block].children]


def _positions(nodes, number):
    """Dict from N to the node layer_with_weights-N, in the order of N."""
    children = nodes[number].children
    found = {int(m[1]): children[name] for name in children if (m := _NUMBERED.fullmatch(name))}
    return dict(sorted(found.items()))


def _check_layout(nodes, encoder, prefix):
    """Refuses an encoder whose numbered layers are not embeddings, blocks and pooler."""
    positions = _positions(nodes, encoder)
    first = len(model_garden_names.EMBEDDINGS)
    last = first + len(_blocks(nodes, encoder))
    are_blocks = {n for n, node in positions.items() if "_attention_layer" in nodes[node].children}
    numbered = not positions or are_blocks == set(range(first, last))
    if "_embedding_projection" in nodes[encoder].children or not numbered:
        raise InputError(
            f"{prefix} holds an encoder with {len(positions)} numbered layers, of which "
            f"{sorted(are_blocks)} are the Transformer's; BERT's are {first} to {last - 1}, after "
            "four of embeddings. With a projection after them it is ALBERT or another model of "
            "factorized embeddings."
        )


def _heads(nodes):
    """Dict from the start of a name to the node of a head, found by its attribute."""
    found = {}
    for _, number in _walk(nodes, 0):
        for name, child in nodes[number].children.items():
            if name in _HEADS:
                found.setdefault(_HEADS[name], child)
            elif name.endswith(_HEAD_POOLER):
                found.setdefault(name, child)
    return found


def _without_unused_pooler(names_to_keys):
    """Marks the encoder's pooler where a head has its own.

    Model Garden's pre-training, and by default its classification, put a pooler into the head
    and leave the encoder's as it was initialized.
    """
    poolers = [
        name
        for name in names_to_keys
        if model_garden_names.canonical(name).startswith(f"{model_garden_names.POOLER}/")
    ]
    of_encoder = {name for name in poolers if name.startswith("encoder/")}
    if len(of_encoder) == len(poolers):
        return names_to_keys
    return {
        name + model_garden_names.UNUSED * (name in of_encoder): key
        for name, key in names_to_keys.items()
    }
