"""Object-based checkpoints of TF Model Garden (`official.nlp`), bert_config.json, vocab.txt.

A name is a path of attributes, from the encoder or from a head: those of `BertEncoderV2`, which
`BertEncoder` has as well. `model_garden_graph` finds them in a file.
"""

import os
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from bert_tf import files
from bert_tf.checkpoints.formats import model_garden_graph
from bert_tf.checkpoints.formats.base import Arrays, Checkpoint
from bert_tf.checkpoints.formats.model_garden_graph import (
    CLASSIFIER,
    EMBEDDINGS,
    NEXT_SENTENCE,
    POOLER,
    UNUSED,
)
from bert_tf.checkpoints.formats.rows import NameTable
from bert_tf.checkpoints.formats.tf1 import (
    OBJECT_GRAPH,
    TensorFlowFormat,
    open_tensors,
    write_description,
)
from bert_tf.checkpoints.model_directory import WEIGHTS_PREFIX
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.checkpoints.variables import Shape

# Where tf.train.latest_checkpoint looks, so that it finds the checkpoint in the directory.
_STATE_FILE = "checkpoint"

_SPAN = "model/span_labeling/layer_with_weights-0"


class ModelGarden(TensorFlowFormat):
    """Object-based checkpoints of TF Model Garden's BERT, whatever of it was saved."""

    name = "model_garden"
    title = "TF Model Garden"
    accepted = (
        "an object-based checkpoint that tf.train.Checkpoint saved of a model of TF Model Garden"
    )
    needs_pooler = True  # every encoder there has one, whether anything reads it or not
    table = NameTable(
        names={
            "encoder/embeddings/word": "encoder/_embedding_layer/embeddings",
            "encoder/embeddings/position": "encoder/_position_embedding_layer/embeddings",
            "encoder/embeddings/type": "encoder/_type_embedding_layer/embeddings",
            "encoder/embeddings/layer_norm": "encoder/_embedding_norm_layer",
            "encoder/pooler": POOLER,
            "masked_lm/transform": "masked_lm/dense",
            "masked_lm/layer_norm": "masked_lm/layer_norm",
            "masked_lm/output_bias": "masked_lm/bias",
            "next_sentence": NEXT_SENTENCE,
            "classifier": CLASSIFIER,
            "span": _SPAN,
        },
        layer="encoder/_transformer_layers/{n}/",
        in_layer={
            "attention/qkv": "_attention_layer/_{part}_dense",
            "attention/output": "_attention_layer/_output_dense",
            "attention_layer_norm": "_attention_layer_norm",
            "feed_forward/intermediate": "_intermediate_dense",
            "feed_forward/output": "_output_dense",
            "output_layer_norm": "_output_layer_norm",
        },
        has_head_axis=True,
    )

    # In addition to the weights: the graph of objects, counters, the configs that Keras of 2020
    # left, slots and state of optimizers and metrics, and a pooler that no loss has reached.
    not_weights = (
        rf"{OBJECT_GRAPH}|save_counter|global_step",
        r"(.*/)?\.ATTRIBUTES/OBJECT_CONFIG_JSON",
        r"(.*/)?(\.OPTIMIZER_SLOT|optimizer|keras_api)/.*",
        rf".*{re.escape(UNUSED)}",
    )

    # Word embeddings of a masked LM head that does not share the variable.
    tied = {"masked_lm/embedding_table": "encoder/_embedding_layer/embeddings"}

    def canonical_name(self, name: str) -> str:
        """See `model_garden_graph.canonical`."""
        return model_garden_graph.canonical(name)

    def has_own_names(self, shapes: dict[str, Shape]) -> bool:
        """Whether the file has a graph of objects."""
        return OBJECT_GRAPH in shapes

    def open(self, path: str) -> Checkpoint:
        """Opens the checkpoint with the prefix `path`, see `Format.open`."""
        shapes, read = open_tensors(path)
        keys = model_garden_graph.names(path, shapes)
        arrays: Arrays = (
            {name: shapes[key] for name, key in keys.items()},
            lambda name: read(keys[name]),
        )
        # A classifier of texts would be in a ClassificationHead.
        defaults = {"kind": "tag"} if "model/classifier/kernel" in keys else {}
        return self.opened(path, arrays, notes=tuple(_pooler_notes(arrays)), **defaults)

    def write(self, state_dict: StateDict, directory: str) -> None:
        """Writes bert_model.ckpt.*, bert_config.json and vocab.txt.

        What `tf.train.Checkpoint` restores from it: `encoder=` (and `model=`) a `BertEncoder` or
        `BertEncoderV2`; and for a model with heads `model=` the whole and its `checkpoint_items`:
        `BertPretrainerV2` with the head "next_sentence", `BertClassifier` with and without the
        encoder's pooler, `BertTokenClassifier`, `BertSpanLabeler`. There is no multiple choice; its
        one output is that of a `BertClassifier` of one class.
        """
        import tensorflow as tf

        arrays = self.arrays(state_dict)
        with tf.device("CPU"):
            _root(arrays, state_dict).write(os.path.join(directory, WEIGHTS_PREFIX))
        state = f'model_checkpoint_path: "{WEIGHTS_PREFIX}"\n'
        files.write_text(os.path.join(directory, _STATE_FILE), state)
        write_description(state_dict, directory)

    def notes(self, state_dict: StateDict) -> list[str]:
        """What Model Garden computes differently."""
        config, notes = state_dict.config, []
        if config.hidden_act == "gelu_erf":
            notes.append(
                "hidden_act is gelu_erf, the exact form, which a bert_config.json cannot express "
                "for Model Garden: there its gelu is the tanh form. In Python it has the exact "
                "form: BertEncoder(inner_activation='gelu') and mlm_activation='gelu'."
            )
        if config.layer_norm_eps != 1e-12:
            notes.append(f"layer_norm_eps is {config.layer_norm_eps}; Model Garden uses 1e-12.")
        if config.is_causal:
            notes.append("The model reads from left to right, which Model Garden's BERT does not.")
        if state_dict.kind == "choice":
            notes.append("Model Garden has no multiple choice; its BertClassifier scores one text.")
        return notes


def _pooler_notes(arrays: Arrays) -> Iterator[str]:
    shapes, read = arrays
    in_use = [name for name in shapes if model_garden_graph.canonical(name) == f"{POOLER}/kernel"]
    unused = [name for name in shapes if name.endswith(f"kernel{UNUSED}")]
    if len(in_use) == len(unused) == 1 and not np.array_equal(read(in_use[0]), read(unused[0])):
        yield (
            f"The pooler is {in_use[0].removesuffix('/kernel')}, which was trained. The encoder's "
            "own pooler is another, which no loss has reached; it is left out."
        )


# What follows makes objects with TensorFlow, which has no types: a `tf.Module` is Any.


def _root(arrays: dict[str, np.ndarray], state_dict: StateDict) -> Any:
    """The tf.train.Checkpoint of Model Garden's trainer, without its optimizer."""
    import tensorflow as tf

    encoder = _encoder(arrays, state_dict.config.num_hidden_layers)
    model, items = _model(arrays, state_dict.kind, encoder)
    root = tf.train.Checkpoint(encoder=encoder, **items, model=model)
    root.save_counter.assign(1)  # write() does not count as save() does, and restore() looks for it
    return root


def _encoder(arrays: dict[str, np.ndarray], num_layers: int) -> Any:
    """Both ways to each layer: the numbers of `BertEncoder`, the attributes of both encoders.

    The way through a number is the shorter one for most, or else the first: it makes the key.
    """
    blocks = [
        _module(arrays, f"encoder/_transformer_layers/{index}") for index in range(num_layers)
    ]
    attributes = (*EMBEDDINGS, "_pooler_layer")
    single = {name: _module(arrays, f"encoder/{name}") for name in attributes}
    numbered = [*(single[name] for name in EMBEDDINGS), *blocks, single["_pooler_layer"]]
    return _object(
        {f"layer_with_weights-{number}": layer for number, layer in enumerate(numbered)}
        | single
        | {"_transformer_layers": blocks}
    )


def _model(arrays: dict[str, np.ndarray], kind: str, encoder: Any) -> tuple[Any, dict[str, Any]]:
    """The whole model, and its `checkpoint_items` other than the encoder."""
    if kind == "encoder":
        return encoder, {}
    if kind == "pretrain":
        return _pretrainer(arrays, encoder)
    items = {}
    if kind == "span":
        attribute, head = "span_labeling", _object({"layer_with_weights-0": _module(arrays, _SPAN)})
    elif kind == "tag":
        attribute, head = "classifier", _module(arrays, CLASSIFIER)
    else:
        # A head without a pooler of its own never looks at `dense`.
        pooler = _module(arrays, POOLER)
        head = _object({"dense": pooler, "out_proj": _module(arrays, CLASSIFIER)})
        attribute, items = "classifier", {"sentence_prediction.pooler_dense": pooler}
    layers = {"layer_with_weights-0": encoder, "layer_with_weights-1": head}
    return _object(layers | {"_network": encoder, attribute: head}), items


def _pretrainer(arrays: dict[str, np.ndarray], encoder: Any) -> tuple[Any, dict[str, Any]]:
    items, children = {}, {"encoder_network": encoder}
    if "masked_lm/bias" in arrays:
        parts = ("dense", "layer_norm")
        head = _object({part: _module(arrays, f"masked_lm/{part}") for part in parts})
        bias = _variable(arrays["masked_lm/bias"])
        setattr(head, "output_bias/bias", bias)
        head.bias = bias
        items["masked_lm"] = children["masked_lm"] = head
    if f"{NEXT_SENTENCE}/kernel" in arrays:
        pooler = _module(arrays, POOLER)
        head = _object({"dense": pooler, "out_proj": _module(arrays, NEXT_SENTENCE)})
        items["next_sentence.pooler_dense"] = pooler
        children["classification_heads"] = [head]
    return _object(children), items


def _module(arrays: dict[str, np.ndarray], start: str) -> Any:
    """An object with a variable for each name under `start`, at the paths that follow it."""
    children: dict[str, Any] = {}
    for name, array in arrays.items():
        if name.startswith(f"{start}/"):
            attribute, _, rest = name.removeprefix(f"{start}/").partition("/")
            if rest:
                children.setdefault(attribute, _module(arrays, f"{start}/{attribute}"))
            else:
                children[attribute] = _variable(array)
    return _object(children)


def _object(children: dict[str, Any]) -> Any:
    """An object that tracks `children` under any attribute names, in this order."""
    import tensorflow as tf

    module = tf.Module()
    for name, child in children.items():
        setattr(module, name, child)
    return module


def _variable(array: np.ndarray) -> Any:
    import tensorflow as tf

    return tf.Variable(array, trainable=False)
