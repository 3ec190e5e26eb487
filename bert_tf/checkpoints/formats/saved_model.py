"""What a SavedModel says of the BERT in it, read from its protocol buffers; nothing is run.

Its variables tell the sizes. The constants of its graph tell what sizes do not: the form of the
activation, the epsilon of LayerNorm, in TensorFlow 1 the number of heads. Where Keras left the
config of the encoder, that tells the dropout rates and the place of LayerNorm.
"""

import json
import os
import pathlib
import re

from bert_tf.errors import InputError

GRAPH_FILE = "saved_model.pb"
VARIABLES = os.path.join("variables", "variables")
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"  # key of a string in the variables
_KERAS_FILE = "keras_metadata.pb"  # of TensorFlow 2.4 and later; before, it was in the graph

# Constants of the tanh form of GELU (Hendrycks and Gimpel 2016) and of LayerNorm.
_TANH_GELU = 0.044715
_EPSILON = re.compile(r"(^|.*/)batchnorm(_\d+)?/add/y")
_DEFAULT_EPSILON = 1e-12

_CLASS = re.compile(r'"class_name": "(?:[^">]*>)?(\w*Encoder(?:V2)?)", "config": ')
_BERT_CLASSES = ("BertEncoder", "BertEncoderV2", "TransformerEncoder")


class Graph:
    """The graph of a SavedModel.

    Args:
      directory: str.

    Raises:
      InputError: saved_model.pb is damaged.
    """

    def __init__(self, directory):
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

    def activation(self):
        """`BertConfig.hidden_act` of it.

        Raises:
          InputError: the graph holds none that is known, or several.
        """
        forms = {
            "gelu": any(_is_close(value, _TANH_GELU) for _, value in self._scalars()),
            "gelu_erf": any(node.op == "Erf" for node in self._nodes()),
            "relu": any(node.op == "Relu" for node in self._nodes()),
        }
        found = [name for name, is_there in forms.items() if is_there]
        if len(found) != 1:
            raise InputError(
                f"{self._directory} is a graph whose activation cannot be told: "
                f"{' and '.join(found) or 'neither GELU nor ReLU'} is in it. Give the encoder's "
                "bert_config.json in that directory."
            )
        return found[0]

    def epsilon(self):
        """Epsilon of every LayerNorm.

        Raises:
          InputError: they differ.
        """
        found = {f"{value:g}" for name, value in self._scalars() if _EPSILON.fullmatch(name)}
        if len(found) > 1:
            raise InputError(
                f"{self._directory} is a graph of several LayerNorm epsilons: {sorted(found)}; "
                "BERT has one."
            )
        return float(found.pop()) if found else _DEFAULT_EPSILON

    def num_heads(self):
        """A of a TensorFlow 1 graph, in which the released code splits H to [A D], or None."""
        pattern = re.compile(r"(.*/)?layer_0/attention/self/Reshape/shape/2")
        return next((int(v) for name, v in self._scalars() if pattern.fullmatch(name)), None)

    def do_lower_case(self):
        """What the signature `tokenization_info` of TensorFlow 1 answers, or None."""
        outputs = self._meta.signature_def["tokenization_info"].outputs
        wanted = outputs["do_lower_case"].name.split(":")[0]
        return next((bool(v) for name, v in self._scalars() if name == wanted), None)

    def vocab_file(self):
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

    def _nodes(self):
        graph = self._meta.graph_def
        yield from graph.node
        for function in graph.library.function:
            yield from function.node_def

    def _scalars(self):
        """Pairs of the name and the value of each constant that is one number."""
        import tensorflow as tf

        for node in self._nodes():
            if node.op == "Const" and node.attr["dtype"].type != tf.string.as_datatype_enum:
                tensor = node.attr["value"].tensor
                if not tensor.tensor_shape.dim:
                    yield node.name, tf.make_ndarray(tensor)[()]


def _is_close(value, wanted):
    return abs(float(value) - wanted) < 1e-6


def encoder_config(directory):
    """The config that Keras left of the encoder: dict, {} without one.

    Raises:
      InputError: it is one of another architecture, or BERT with LayerNorm in another place.
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


def _json_at(text, start, path):
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is damaged: {error}.") from None


def variable_names(directory):
    """Dict from a key in the variables' file to the name that the variable had in its program.

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
