"""BERT encoders of TensorFlow Hub: SavedModels of TensorFlow 2, and modules of TensorFlow 1.

Only read. A module of TensorFlow 1 has the names of the released code, so it is opened as a
checkpoint of that format.
"""

import collections
import os

from bert_tf import config as config_lib
from bert_tf.checkpoints.formats import saved_model, tf1_files, tf_hub_names
from bert_tf.checkpoints.formats.checkpoint import Checkpoint, first_file, held
from bert_tf.errors import InputError

_MODULE_FILE = "tfhub_module.pb"  # marks a module of TensorFlow 1
_VALUE = "/.ATTRIBUTES/VARIABLE_VALUE"
_DO_LOWER_CASE = f"do_lower_case{_VALUE}"
_SCOPE = "module/"  # of a module that was loaded into another graph


def find(path):
    """The directory of the SavedModel that `path` is, or is a part of, or None."""
    whole, parts = os.path.abspath(path), os.path.dirname(saved_model.VARIABLES)
    if os.path.basename(os.path.dirname(whole)) == parts and tf1_files.find(path):
        path = os.path.dirname(os.path.dirname(whole))
    elif os.path.basename(whole) in (saved_model.GRAPH_FILE, parts):
        path = os.path.dirname(whole)
    return path if os.path.isfile(os.path.join(path, saved_model.GRAPH_FILE)) else None


def open(directory):  # noqa: A001  the name of this function in every files module
    """Opens a SavedModel.

    Raises:
      InputError: it is damaged, or no BERT encoder.
    """
    prefix = os.path.join(directory, saved_model.VARIABLES)
    if not os.path.isfile(f"{prefix}.index"):
        raise InputError(
            f"{directory} is a SavedModel without variables, such as a preprocessing model. "
            f"{held(directory)} Give the encoder that belongs to it."
        )
    tensors = tf1_files.open_tensors(prefix)
    graph = saved_model.Graph(directory)
    if os.path.isfile(os.path.join(directory, _MODULE_FILE)):
        return _open_module(directory, graph, *tensors)
    return _open_encoder(directory, graph, *tensors)


def _open_encoder(directory, graph, key_shapes, read):
    if saved_model.OBJECT_GRAPH not in key_shapes:
        raise InputError(
            f"{directory} is a SavedModel of TensorFlow 1 and no module of TensorFlow Hub: it has "
            f"no {_MODULE_FILE}. Give the checkpoint that it was exported from."
        )
    keys = _keys(directory, key_shapes)
    shapes = {name: key_shapes[key] for name, key in keys.items()}
    described = saved_model.encoder_config(directory)
    config = _config_beside(directory)
    if config is None:
        config = _config(directory, graph, _named(shapes), described)
    lower_case = keys.get("do_lower_case")
    return Checkpoint(
        path=directory,
        format="tf_hub",
        config=config,
        vocab_file=graph.vocab_file(),
        shapes=shapes,
        _read=lambda name: read(keys[name]),
        do_lower_case=bool(read(lower_case)) if lower_case else None,
    )


def _keys(directory, key_shapes):
    """Dict from the name a variable had in the program that saved it to its key in the file."""
    names = saved_model.variable_names(directory)
    names[_DO_LOWER_CASE] = ""  # saved as `Variable`
    uses = collections.Counter(names.values())
    found = {}
    for key in key_shapes.keys() - {saved_model.OBJECT_GRAPH}:
        name = names.get(key, "")
        found[name if name and uses[name] == 1 else key.removesuffix(_VALUE)] = key
    return found


def _named(shapes):
    return {tf_hub_names.canonical(name): shape for name, shape in shapes.items()}


def _config_beside(directory):
    path = first_file([directory], (tf1_files.CONFIG_FILE,))
    return config_lib.from_file(path, "config") if path else None


def _config(directory, graph, shapes, described):
    """`BertConfig` of the shapes of an encoder, its graph and what Keras left of its config."""
    first = "transformer/layer_0"
    word, position, types, query, intermediate = _shapes(
        directory,
        shapes,
        ("word_embeddings/embeddings", 2),
        ("position_embedding/embeddings", 2),
        ("type_embeddings/embeddings", 2),
        (f"{first}/self_attention/query/kernel", 3),
        (f"{first}/intermediate/kernel", 2),
    )
    if word[1] != query[0]:
        raise InputError(
            f"{directory} has embeddings of {word[1]} and layers of {query[0]} units; BERT's are "
            "equal."
        )
    dropout = described.get("output_dropout", described.get("dropout_rate", 0.1))
    return config_lib.BertConfig(
        vocab_size=word[0],
        hidden_size=word[1],
        num_hidden_layers=_num_layers(shapes, "transformer"),
        num_attention_heads=query[1],
        intermediate_size=intermediate[1],
        max_position_embeddings=position[0],
        type_vocab_size=types[0],
        hidden_act=graph.activation(),
        layer_norm_eps=graph.epsilon(),
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=described.get(
            "attention_dropout", described.get("attention_dropout_rate", dropout)
        ),
    )


def _open_module(directory, graph, key_shapes, read):
    keys = {name.removeprefix(_SCOPE): name for name in key_shapes}
    shapes = {name: key_shapes[key] for name, key in keys.items()}
    config = _config_beside(directory)
    if config is None:
        config = _module_config(directory, graph, shapes)
    return Checkpoint(
        path=directory,
        format="tf1",
        config=config,
        vocab_file=graph.vocab_file(),
        shapes=shapes,
        _read=lambda name: read(keys[name]),
        do_lower_case=graph.do_lower_case(),
    )


def _module_config(directory, graph, shapes):
    """`BertConfig` of a module of TensorFlow 1; its graph tells the number of heads."""
    embeddings = "bert/embeddings"
    word, position, types, intermediate = _shapes(
        directory,
        shapes,
        (f"{embeddings}/word_embeddings", 2),
        (f"{embeddings}/position_embeddings", 2),
        (f"{embeddings}/token_type_embeddings", 2),
        ("bert/encoder/layer_0/intermediate/dense/kernel", 2),
    )
    num_heads = graph.num_heads()
    if num_heads is None:
        raise InputError(
            f"{directory} does not tell its number of attention heads. Give the module's "
            f"{tf1_files.CONFIG_FILE} in that directory."
        )
    return config_lib.BertConfig(
        vocab_size=word[0],
        hidden_size=word[1],
        num_hidden_layers=_num_layers(shapes, "bert/encoder"),
        num_attention_heads=num_heads,
        intermediate_size=intermediate[1],
        max_position_embeddings=position[0],
        type_vocab_size=types[0],
        hidden_act=graph.activation(),
        layer_norm_eps=graph.epsilon(),
    )


def _shapes(directory, shapes, *wanted):
    """Shapes of variables that every encoder has.

    Raises:
      InputError: one is missing, or has another number of axes.
    """
    for name, num_axes in wanted:
        if len(shapes.get(name, ())) != num_axes:
            found = ", ".join(sorted(shapes)[:8])
            raise InputError(
                f"{directory} is a SavedModel and no BERT encoder of TensorFlow Hub: it has no "
                f"variable {name} of {num_axes} axes. It holds {len(shapes)}: {found}."
            )
    return [shapes[name] for name, _ in wanted]


def _num_layers(shapes, scope):
    prefix = f"{scope}/layer_"
    layers = {n.removeprefix(prefix).split("/")[0] for n in shapes if n.startswith(prefix)}
    return len(layers)
