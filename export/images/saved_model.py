"""A SavedModel read from its file, as TensorFlow wrote it; nothing is loaded."""

import os

from google.protobuf.message import DecodeError
from tensorflow.core.protobuf import saved_model_pb2

from bert_tf import formatting
from bert_tf.errors import InputError

FILE = "saved_model.pb"
_OTHER_FILES = {
    "saved_model.pbtxt": "It has the text form, saved_model.pbtxt",
    "saved_model.cpb": "It was saved in chunks, as saved_model.cpb",
}


def read(path: str) -> saved_model_pb2.SavedModel:
    """Reads the SavedModel in a directory.

    Raises:
      InputError: there is none, or its file is damaged; the message says what is there instead.
    """
    file = os.path.join(path, FILE)
    if not os.path.isfile(file):
        raise InputError(f"{path} is not a SavedModel: {_instead(path)}")
    try:
        with open(file, "rb") as opened:
            saved_model = saved_model_pb2.SavedModel.FromString(opened.read())
    except DecodeError:
        raise InputError(
            f"{file} is damaged: its {formatting.size(os.path.getsize(file))} are no SavedModel. "
            "Export or copy it again."
        ) from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from None
    if not any(meta_graph.graph_def.node for meta_graph in saved_model.meta_graphs):
        raise InputError(f"{file} is damaged: it holds no graph. Export or copy it again.")
    return saved_model


def _instead(path: str) -> str:
    """What a path without saved_model.pb is, and which one to give."""
    if not os.path.exists(path):
        return "there is no such directory."
    if not os.path.isdir(path):
        return f"it is a file. Give the directory that {FILE} is in."
    names = sorted(os.listdir(path))
    for name, what in _OTHER_FILES.items():
        if name in names:
            return f"it has no {FILE}. {what}, which is not read. Save it with tf.saved_model.save."
    inner = [name for name in names if os.path.isfile(os.path.join(path, name, FILE))]
    if inner:
        versions = ", ".join(os.path.join(path, name) for name in inner[:8])
        return f"it has no {FILE} itself. Give one of {versions}."
    return f"it has no {FILE}, but {', '.join(names[:8]) or 'nothing'}."
