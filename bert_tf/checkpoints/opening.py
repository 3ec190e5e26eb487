"""The checkpoint formats, and opening a checkpoint of any of them."""

import os

from bert_tf.checkpoints.formats.base import Checkpoint, Format, describe_directory
from bert_tf.checkpoints.formats.bert_tf import BertTF
from bert_tf.checkpoints.formats.hugging_face import HuggingFace
from bert_tf.checkpoints.formats.keras_hub import KerasHub
from bert_tf.checkpoints.formats.model_garden import ModelGarden
from bert_tf.checkpoints.formats.model_garden_2019 import ModelGarden2019
from bert_tf.checkpoints.formats.model_garden_legacy import ModelGardenLegacy
from bert_tf.checkpoints.formats.tf1 import TensorFlow1
from bert_tf.checkpoints.formats.tf_hub import TensorFlowHub
from bert_tf.errors import InputError
from bert_tf.files import StrPath

# In the order in which a path is tried: a model directory holds TensorFlow 1 files, a SavedModel
# an object-based checkpoint.
FORMATS: tuple[Format, ...] = (
    BertTF(),
    HuggingFace(),
    KerasHub(),
    TensorFlowHub(),
    ModelGarden2019(),
    ModelGardenLegacy(),
    ModelGarden(),
    TensorFlow1(),
)

_ADVICE = {
    "pytorch_model.bin": "pytorch_model.bin is a pickle, which can run any program when it is "
    "opened, so it is never read. If you trust it, this makes a file that is read: "
    '`python -c "import torch, '
    "safetensors.torch as s; s.save_file({k: v.clone() for k, v in torch.load('pytorch_model.bin', "
    "weights_only=True).items()}, 'model.safetensors')\"`."
}


def format_named(name: str) -> Format:
    """The entry of `FORMATS` with this name."""
    return next(candidate for candidate in FORMATS if candidate.name == name)


def accepted() -> str:
    """What a checkpoint's path may be, for messages."""
    return "Accepted: " + "; ".join(candidate.accepted for candidate in FORMATS) + "."


def open_checkpoint(path: StrPath) -> Checkpoint:
    """Opens a checkpoint of any format for reading, name by name. The format need not be named.

    Args:
      path: a directory, a TF1 prefix such as `.../bert_model.ckpt`, or one of the files.

    Raises:
      InputError: nothing readable is there; the message says what is there.
    """
    path = os.fspath(path)
    for candidate in FORMATS:
        if match := candidate.find(path):
            return candidate.open(match)
    directory = path if os.path.isdir(path) else os.path.dirname(path) or "."
    where = "in" if os.path.isdir(path) else "at"
    advice = [
        text for name, text in _ADVICE.items() if os.path.isfile(os.path.join(directory, name))
    ]
    held = describe_directory(directory)
    raise InputError(" ".join([f"No checkpoint {where} {path}.", held, *advice, accepted()]))
