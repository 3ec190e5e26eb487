"""BERT encoders of TensorFlow Hub: SavedModels of TensorFlow 2, modules of TensorFlow 1; only read.

The SavedModels are those that Model Garden's export_tfhub writes. Their variables have the names of
its Keras layers, as its name-based checkpoints do, so the name table is the same; an export has no
head but the masked LM. Those of our own `export.hub` have our paths as names. A module of
TensorFlow 1 has the names of the released code, so it is opened as a checkpoint of that format.
"""

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bert_tf.checkpoints import variables
from bert_tf.checkpoints.formats.base import (
    Arrays,
    Checkpoint,
    Format,
    describe_directory,
    read_config,
)
from bert_tf.checkpoints.formats.model_garden_legacy import ModelGardenLegacy
from bert_tf.checkpoints.formats.rows import Row
from bert_tf.checkpoints.formats.saved_model import (
    GRAPH_FILE,
    VARIABLES,
    Graph,
    encoder_config,
    variable_names,
)
from bert_tf.checkpoints.formats.tf1 import OBJECT_GRAPH, TensorFlow1, find_prefix, open_tensors
from bert_tf.checkpoints.model_directory import CONFIG_FILE
from bert_tf.checkpoints.variables import Shape
from bert_tf.config import BertConfig
from bert_tf.errors import InputError

_MODULE_FILE = "tfhub_module.pb"  # marks a module of TensorFlow 1
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_DO_LOWER_CASE = f"do_lower_case{_VALUE}"
_SCOPE = "module/"  # of a module that was loaded into another graph
_OWN_NAME = "encoder/embeddings/word"  # of a variable in our own exports
_HEAD = re.compile(r"(\w+/)?cls/predictions/")


class TensorFlowHub(Format):
    """SavedModels and modules of TensorFlow Hub."""

    name = "tf_hub"
    title = "TensorFlow Hub encoder"
    accepted = "a SavedModel of a BERT encoder of TensorFlow Hub"
    is_written = False
    table = ModelGardenLegacy.table
    not_weights = ("do_lower_case",)  # a variable that holds the casing

    def canonical_name(self, name: str) -> str:
        """The name as exports of today spell it, where a pre-trainer is called `bert`."""
        match = _HEAD.match(name)
        if match:
            return "bert/cls/predictions/" + name[match.end() :]
        return ModelGardenLegacy().canonical_name(name)

    def find(self, path: str) -> str | None:
        """The directory of the SavedModel that `path` is, or is a part of, or None."""
        absolute, folder = os.path.abspath(path), os.path.dirname(VARIABLES)
        if os.path.basename(os.path.dirname(absolute)) == folder and find_prefix(path):
            path = os.path.dirname(os.path.dirname(absolute))
        elif os.path.basename(absolute) in (GRAPH_FILE, folder):
            path = os.path.dirname(absolute)
        return path if os.path.isfile(os.path.join(path, GRAPH_FILE)) else None

    def open(self, path: str) -> Checkpoint:
        """Opens the SavedModel in the directory `path`, see `Format.open`."""
        prefix = os.path.join(path, VARIABLES)
        if not os.path.isfile(f"{prefix}.index"):
            raise InputError(
                f"{path} is a SavedModel without variables, such as a preprocessing model. "
                f"{describe_directory(path)} Give the encoder that belongs to it."
            )
        arrays = open_tensors(prefix)
        graph = Graph(path)
        if os.path.isfile(os.path.join(path, _MODULE_FILE)):
            return _open_module(path, graph, arrays)
        return self._open_encoder(path, graph, arrays)

    def _open_encoder(self, directory: str, graph: Graph, arrays: Arrays) -> Checkpoint:
        key_shapes, read = arrays
        if OBJECT_GRAPH not in key_shapes:
            raise InputError(
                f"{directory} is a SavedModel of TensorFlow 1 and has no {_MODULE_FILE}, so it is "
                "not a module of TensorFlow Hub. Give the checkpoint that it was exported from."
            )
        keys = _keys(directory, key_shapes)
        shapes = {name: key_shapes[key] for name, key in keys.items()}
        keras_config = encoder_config(directory)
        config = read_config([directory, os.path.join(directory, "assets")], (CONFIG_FILE,))
        if config is None:
            named = {self.canonical_name(name): shape for name, shape in shapes.items()}
            config = _config(directory, graph, named, keras_config)
        lower_case = keys.get("do_lower_case")
        return Checkpoint(
            path=directory,
            format=_OwnExport() if _OWN_NAME in shapes else self,
            shapes=shapes,
            read_array=lambda name: read(keys[name]),
            config=config,
            vocab_file=graph.vocab_file(),
            do_lower_case=bool(read(lower_case)) if lower_case else None,
        )


class _OwnExport(TensorFlowHub):
    """What `export.hub` writes: our variables as they are, under their paths."""

    def canonical_name(self, name: str) -> str:
        return name

    def rows(self, config: BertConfig) -> list[Row]:
        """See `Format.rows`."""
        return [Row((path,), path) for path in variables.shapes(config)]


def _keys(directory: str, key_shapes: dict[str, Shape]) -> dict[str, str]:
    """Keys in the file by the name that a variable had in the program that saved it."""
    names = variable_names(directory)
    names[_DO_LOWER_CASE] = ""  # saved as `Variable`
    uses = Counter(names.values())
    keys = {}
    for key in key_shapes.keys() - {OBJECT_GRAPH}:
        name = names.get(key, "")
        keys[name if name and uses[name] == 1 else key.removesuffix(_VALUE)] = key
    return keys


def _config(
    directory: str, graph: Graph, shapes: dict[str, Shape], keras_config: dict[str, Any]
) -> BertConfig:
    """Configuration from the shapes of an encoder, its graph and what Keras left of its config."""
    *sizes, query = _shapes(
        directory,
        shapes,
        ("word_embeddings/embeddings", 2),
        ("position_embedding/embeddings", 2),
        ("type_embeddings/embeddings", 2),
        ("transformer/layer_0/intermediate/kernel", 2),
        ("transformer/layer_0/self_attention/query/kernel", 3),
    )
    width = sizes[0][1]
    if width != query[0]:
        raise InputError(
            f"{directory} has embeddings of {width} and layers of {query[0]} units; BERT's are "
            "equal."
        )
    dropout = keras_config.get("output_dropout", keras_config.get("dropout_rate", 0.1))
    return dataclasses.replace(
        _bert_config(graph, sizes, _num_layers(shapes, "transformer"), num_heads=query[1]),
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=keras_config.get(
            "attention_dropout", keras_config.get("attention_dropout_rate", dropout)
        ),
    )


def _open_module(directory: str, graph: Graph, arrays: Arrays) -> Checkpoint:
    key_shapes, read = arrays
    keys = {name.removeprefix(_SCOPE): name for name in key_shapes}
    shapes = {name: key_shapes[key] for name, key in keys.items()}
    config = read_config([directory], (CONFIG_FILE,))
    return Checkpoint(
        path=directory,
        format=TensorFlow1(),
        shapes=shapes,
        read_array=lambda name: read(keys[name]),
        config=config or _module_config(directory, graph, shapes),
        vocab_file=graph.vocab_file(),
        do_lower_case=graph.do_lower_case(),
    )


def _module_config(directory: str, graph: Graph, shapes: dict[str, Shape]) -> BertConfig:
    """Configuration of a module of TensorFlow 1; its graph shows the number of heads."""
    sizes = _shapes(
        directory,
        shapes,
        ("bert/embeddings/word_embeddings", 2),
        ("bert/embeddings/position_embeddings", 2),
        ("bert/embeddings/token_type_embeddings", 2),
        ("bert/encoder/layer_0/intermediate/dense/kernel", 2),
    )
    num_heads = graph.num_heads()
    if num_heads is None:
        raise InputError(
            f"{directory} does not show its number of attention heads. Put the module's "
            f"{CONFIG_FILE} into that directory."
        )
    return _bert_config(graph, sizes, _num_layers(shapes, "bert/encoder"), num_heads)


def _bert_config(
    graph: Graph, sizes: Sequence[Shape], num_layers: int, num_heads: int
) -> BertConfig:
    """Configuration from the shapes of the three embeddings and of the intermediate kernel."""
    word, position, types, intermediate = sizes
    return BertConfig(
        vocab_size=word[0],
        hidden_size=word[1],
        num_hidden_layers=num_layers,
        num_attention_heads=num_heads,
        intermediate_size=intermediate[1],
        max_position_embeddings=position[0],
        type_vocab_size=types[0],
        hidden_act=graph.activation(),
        layer_norm_eps=graph.epsilon(),
    )


def _shapes(
    directory: str, shapes: dict[str, Shape], *wanted: tuple[str, int]
) -> list[tuple[int, ...]]:
    """Shapes of variables that every encoder has.

    Args:
      wanted: names and numbers of axes.

    Raises:
      InputError: one is missing, or has another number of axes.
    """
    for name, num_axes in wanted:
        if len(shapes.get(name, ())) != num_axes:
            names = ", ".join(sorted(shapes)[:8])
            raise InputError(
                f"{directory} is a SavedModel but not of a BERT encoder of TensorFlow Hub: it has "
                f"no variable {name} of {num_axes} axes. It holds {len(shapes)}: {names}."
            )
    return [shapes[name] for name, _ in wanted]


def _num_layers(shapes: dict[str, Shape], scope: str) -> int:
    prefix = f"{scope}/layer_"
    return len({n.removeprefix(prefix).split("/")[0] for n in shapes if n.startswith(prefix)})
