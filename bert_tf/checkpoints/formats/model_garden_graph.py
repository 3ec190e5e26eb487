"""The graph of objects in a TensorFlow 2 checkpoint: finds BERT in it and names its variables.

A key in such a file is the shortest path to a variable from whatever the program saved: the encoder
alone, a classifier with its optimizer, a trainer. The graph has all paths. So a variable gets the
same name here whatever was saved.
"""

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from bert_tf.checkpoints.formats.tf1 import OBJECT_GRAPH
from bert_tf.errors import InputError

# Attributes of `BertEncoder`'s first layers in the order of its numbers. The Transformer's layers
# follow from 4 on, then the pooler.
EMBEDDINGS = (
    "_embedding_layer",
    "_position_embedding_layer",
    "_type_embedding_layer",
    "_embedding_norm_layer",
)
POOLER = "encoder/_pooler_layer"
NEXT_SENTENCE = "model/classification_heads/0/out_proj"
CLASSIFIER = "model/classifier/out_proj"

# Ending of the name of a pooler that no loss has reached.
UNUSED = " (unused)"

_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_NUMBERED = re.compile(r"layer_with_weights-(\d+)")
_NUMBERED_NAME = re.compile(r"encoder/layer_with_weights-(\d+)/(.+)")

# Attributes of Model Garden's models that are heads, and how their variables' names start.
_HEADS = {
    "masked_lm": "masked_lm",
    "classification_heads": "model/classification_heads",
    "classification": "model/classification",
    "classifier": "model/classifier",
    "span_labeling": "model/span_labeling",
}
_HEAD_POOLER = ".pooler_dense"

# Spellings of its models and versions, and the one that the name table has.
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
    (r"model/classification/layer_with_weights-0/", f"{NEXT_SENTENCE}/"),
    (r"model/classifier/(layer_with_weights-0/)?(?=(kernel|bias)$)", f"{CLASSIFIER}/"),
)


class Node(NamedTuple):
    """A node of the graph: the numbers of its children by attribute, and its keys in the file."""

    children: dict[str, int]
    keys: list[str]


def canonical(name: str) -> str:
    """The name as the table spells it.

    A number becomes the attribute that it stands for. A head's own pooler becomes the encoder's.
    The classifiers that Model Garden has had all get the same name.
    """
    if match := _NUMBERED_NAME.fullmatch(name):
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


def names(prefix: str, keys: Iterable[str]) -> dict[str, str]:
    """Names the variables of a checkpoint.

    Args:
      prefix: path of the checkpoint without its last suffix.
      keys: names in the file.

    Returns:
      Keys in the file by a name that `canonical` takes. What belongs neither to the encoder nor to
      a known head keeps its key.

    Raises:
      InputError: it holds no encoder of Model Garden's BERT, several, or one of another layout.
    """
    nodes = _read(prefix)
    encoder = _encoder(nodes, prefix)
    named: dict[str, str] = {}
    for start, node in [("encoder", encoder), *_heads(nodes).items()]:
        for path, child in _walk(nodes, node):
            for key in nodes[child].keys:
                named.setdefault(key, "/".join((start, *path)))
    return _marked_unused({named.get(key, key.removesuffix(_VALUE)): key for key in keys})


def _read(prefix: str) -> list[Node]:
    """The nodes of the graph; number 0 is what was saved."""
    import tensorflow as tf
    from google.protobuf import message
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    graph = trackable_object_graph_pb2.TrackableObjectGraph()
    try:
        graph.ParseFromString(tf.train.load_checkpoint(prefix).get_tensor(OBJECT_GRAPH))
    except (message.DecodeError, tf.errors.OpError, RuntimeError, IndexError) as error:
        raise InputError(f"{OBJECT_GRAPH} cannot be read from {prefix}: {error}") from None
    return [
        Node(
            {child.local_name: child.node_id for child in node.children},
            [one.checkpoint_key for one in node.attributes if one.checkpoint_key.endswith(_VALUE)],
        )
        for node in graph.nodes
    ]


def _walk(nodes: list[Node], start: int) -> Iterator[tuple[tuple[str, ...], int]]:
    """Shortest path of attributes to, and number of, each node that can be reached."""
    seen = {start}
    queue: deque[tuple[tuple[str, ...], int]] = deque([((), start)])
    while queue:
        path, number = queue.popleft()
        yield path, number
        for name, child in nodes[number].children.items():
            if child not in seen:
                seen.add(child)
                queue.append(((*path, name), child))


def _encoder(nodes: list[Node], prefix: str) -> int:
    encoders = [number for _, number in _walk(nodes, 0) if _blocks(nodes, number)]
    if len(encoders) != 1:
        attributes = ", ".join(sorted(nodes[0].children)) or "nothing"
        raise InputError(
            f"{prefix} is an object-based TensorFlow 2 checkpoint that holds {len(encoders)} BERT "
            "encoders as TF Model Garden writes them (an object with layer_with_weights-4 or "
            "_transformer_layers, whose _attention_layer is attention); wanted: one. At its root: "
            f"{attributes}."
        )
    _check_layout(nodes, encoders[0], prefix)
    return encoders[0]


def _blocks(nodes: list[Node], number: int) -> list[int]:
    """Numbers of the nodes of an encoder's Transformer layers; [] if the node is not an encoder."""
    children = nodes[number].children
    if "_transformer_layers" in children:
        blocks = list(nodes[children["_transformer_layers"]].children.values())
    else:
        blocks = list(_numbered_layers(nodes, number).values())
    return [block for block in blocks if "_attention_layer" in nodes[block].children]


def _numbered_layers(nodes: list[Node], number: int) -> dict[int, int]:
    """The node of each layer_with_weights-N by N, in the order of N."""
    children = nodes[number].children
    layers = {int(m[1]): children[name] for name in children if (m := _NUMBERED.fullmatch(name))}
    return dict(sorted(layers.items()))


def _check_layout(nodes: list[Node], encoder: int, prefix: str) -> None:
    """Refuses an encoder whose numbered layers are not embeddings, Transformer layers, pooler."""
    layers = _numbered_layers(nodes, encoder)
    first = len(EMBEDDINGS)
    last = first + len(_blocks(nodes, encoder))
    are_blocks = {n for n, node in layers.items() if "_attention_layer" in nodes[node].children}
    is_bert = not layers or are_blocks == set(range(first, last))
    if "_embedding_projection" in nodes[encoder].children or not is_bert:
        raise InputError(
            f"{prefix} holds an encoder with {len(layers)} numbered layers, of which "
            f"{sorted(are_blocks)} are the Transformer's; BERT's are {first} to {last - 1}, after "
            "four of embeddings. With a projection after them it is ALBERT or another model of "
            "factorized embeddings."
        )


def _heads(nodes: list[Node]) -> dict[str, int]:
    """Nodes of the heads, which their attributes show, by the start of their variables' names."""
    heads: dict[str, int] = {}
    for _, number in _walk(nodes, 0):
        for name, child in nodes[number].children.items():
            if name in _HEADS:
                heads.setdefault(_HEADS[name], child)
            elif name.endswith(_HEAD_POOLER):
                heads.setdefault(name, child)
    return heads


def _marked_unused(keys: dict[str, str]) -> dict[str, str]:
    """Marks the encoder's pooler where a head has its own.

    Model Garden's pre-training, and by default its classification, put a pooler into the head
    and leave the encoder's as it was initialized.
    """
    poolers = [name for name in keys if canonical(name).startswith(f"{POOLER}/")]
    of_encoder = {name for name in poolers if name.startswith("encoder/")}
    if len(of_encoder) == len(poolers):
        return keys
    return {name + UNUSED * (name in of_encoder): key for name, key in keys.items()}
