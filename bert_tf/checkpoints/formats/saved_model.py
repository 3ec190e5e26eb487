"""What a SavedModel says about the BERT in it, read from its protocol buffers; nothing is run.

The shapes of its variables are the sizes. The constants of its graph show what shapes do not: the
form of the activation, the epsilon of LayerNorm, and in TensorFlow 1 the number of heads. If Keras
left the config of the encoder, it has the dropout rates and says where LayerNorm is.
"""

import json
import os
import pathlib
import re
from collections.abc import Iterator
from typing import Any

from bert_tf.checkpoints.formats.tf1 import OBJECT_GRAPH
from bert_tf.errors import InputError

GRAPH_FILE = "saved_model.pb"
VARIABLES = os.path.join("variables", "variables")
_KERAS_FILE = "keras_metadata.pb"  # of TensorFlow 2.4 and later; before, it was in the graph

# Constants of the tanh form of GELU (Hendrycks and Gimpel 2016) and of LayerNorm.
_TANH_GELU = 0.044715
_EPSILON = re.compile(r"(^|.*/)batchnorm(_\d+)?/add/y")
_DEFAULT_EPSILON = 1e-12

_CLASS = re.compile(r'"class_name": "(?:[^">]*>)?(\w*Encoder(?:V2)?)", "config": ')
_BERT_CLASSES = ("BertEncoder", "BertEncoderV2", "TransformerEncoder")


class Graph:
    """The graph of a SavedModel.

    Raises:
      InputError: saved_model.pb is damaged.
    """

    def __init__(self, directory: str) -> None:
        from google.protobuf.message import DecodeError
        from tensorflow.core.protobuf import saved_model_pb2

        self._directory = directory
        path = os.path.join(directory, GRAPH_FILE)
        try:
            model = saved_model_pb2.SavedModel.FromString(pathlib.Path(path).read_bytes())
        except (OSError, DecodeError) as error:
            raise InputError(f"{path} cannot be read as a SavedModel: {error}") from None
        if not model.meta_graphs:
            raise InputError(f"{path} holds no graph.")
        # A module of TensorFlow 1 may hold the same variables in a graph for training too.
        self._meta = min(model.meta_graphs, key=lambda graph: len(graph.meta_info_def.tags))

    def activation(self) -> str:
        """Its `BertConfig.hidden_act`.

        Raises:
          InputError: the graph holds no known one, or several.
        """
        forms = {
            "gelu": any(_is_close(value, _TANH_GELU) for _, value in self._scalars()),
            # TensorFlow has come to write 1 + erf(x) as erfc(-x).
            "gelu_erf": any(node.op in ("Erf", "Erfc") for node in self._nodes()),
            "relu": any(node.op == "Relu" for node in self._nodes()),
        }
        present = [name for name, is_present in forms.items() if is_present]
        if len(present) != 1:
            raise InputError(
                f"{self._directory} is a graph whose activation is unclear: "
                f"{' and '.join(present) or 'neither GELU nor ReLU'} is in it. Put the encoder's "
                "bert_config.json into that directory."
            )
        return present[0]

    def epsilon(self) -> float:
        """Epsilon of every LayerNorm.

        Raises:
          InputError: they differ.
        """
        epsilons = {f"{value:g}" for name, value in self._scalars() if _EPSILON.fullmatch(name)}
        if len(epsilons) > 1:
            raise InputError(
                f"{self._directory} is a graph of several LayerNorm epsilons: {sorted(epsilons)}; "
                "BERT has one."
            )
        return float(epsilons.pop()) if epsilons else _DEFAULT_EPSILON

    def num_heads(self) -> int | None:
        """A of a TensorFlow 1 graph, in which the released code splits H to [A D], or None."""
        pattern = re.compile(r"(.*/)?layer_0/attention/self/Reshape/shape/2")
        return next((int(v) for name, v in self._scalars() if pattern.fullmatch(name)), None)

    def do_lower_case(self) -> bool | None:
        """What the signature `tokenization_info` of TensorFlow 1 returns, or None."""
        outputs = self._meta.signature_def["tokenization_info"].outputs
        wanted = outputs["do_lower_case"].name.split(":")[0]
        return next((bool(v) for name, v in self._scalars() if name == wanted), None)

    def vocab_file(self) -> str | None:
        """Path of the asset that is a vocabulary, or None."""
        names = [asset.filename for asset in self._meta.asset_file_def]
        root = self._meta.object_graph_def.nodes[:1]
        for child in root[0].children if root else ():
            if child.local_name == "vocab_file":
                node = self._meta.object_graph_def.nodes[child.node_id]
                names = [names[node.asset.asset_file_def_index]]
        folder = os.path.join(self._directory, "assets")
        if not names and os.path.isdir(folder):  # a module of TensorFlow 1 lists none
            names = os.listdir(folder)
        files = [os.path.join(folder, name) for name in names if name.endswith(".txt")]
        return files[0] if len(files) == 1 and os.path.isfile(files[0]) else None

    def _nodes(self) -> Iterator[Any]:
        graph = self._meta.graph_def
        yield from graph.node
        for function in graph.library.function:
            yield from function.node_def

    def _scalars(self) -> Iterator[tuple[str, Any]]:
        """Name and value of each constant that is one number."""
        import tensorflow as tf

        for node in self._nodes():
            if node.op == "Const" and node.attr["dtype"].type != tf.string.as_datatype_enum:
                tensor = node.attr["value"].tensor
                if not tensor.tensor_shape.dim:
                    yield node.name, tf.make_ndarray(tensor)[()]


def _is_close(value: float, wanted: float) -> bool:
    return abs(float(value) - wanted) < 1e-6


def encoder_config(directory: str) -> dict[str, Any]:
    """The config that Keras left of the encoder; {} without one.

    Raises:
      InputError: it is of another architecture, or of BERT with LayerNorm in another place.
    """
    for name in (_KERAS_FILE, GRAPH_FILE):
        path = pathlib.Path(directory, name)
        text = path.read_bytes().decode("utf-8", "replace") if path.is_file() else ""
        for match in _CLASS.finditer(text):
            values = _json_at(text, match.end(), path)
            if match[1] not in _BERT_CLASSES:
                raise InputError(
                    f"{directory} is a {match[1]}; BERT's is one of {', '.join(_BERT_CLASSES)}."
                )
            if values.get("norm_first"):
                raise InputError(
                    f"{directory} has LayerNorm before each part (norm_first); BERT has it after."
                )
            return values
    return {}


def _json_at(text: str, start: int, path: pathlib.Path) -> dict[str, Any]:
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is damaged: {error}.") from None


def variable_names(directory: str) -> dict[str, str]:
    """The names that variables had in their program, by their keys in the file.

    Raises:
      InputError: the file is damaged.
    """
    import tensorflow as tf
    from google.protobuf.message import DecodeError
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    prefix = os.path.join(directory, VARIABLES)
    try:
        saved = tf.train.load_checkpoint(prefix).get_tensor(OBJECT_GRAPH)
        graph = trackable_object_graph_pb2.TrackableObjectGraph.FromString(saved)
    except (tf.errors.OpError, RuntimeError, IndexError, DecodeError) as error:
        raise InputError(f"{OBJECT_GRAPH} cannot be read from {prefix}: {error}") from None
    return {
        attribute.checkpoint_key: attribute.full_name
        for node in graph.nodes
        for attribute in node.attributes
    }
