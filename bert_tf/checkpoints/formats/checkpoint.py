"""An opened checkpoint of any format, and what stands beside its weights."""

import dataclasses
import json
import os
from collections.abc import Callable

import numpy as np

from bert_tf import config as config_lib
from bert_tf import files
from bert_tf.errors import InputError

# Left by `export.checkpoint` in what it writes: the mark of a conversion, and what the format
# itself cannot tell.
CONVERSION_FILE = "conversion.json"


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """An opened checkpoint. Arrays are read one by one, when asked for.

    Attributes:
      path: str, what was found: the prefix of the files, or the file.
      format: name of a row of `table.FORMATS`.
      config: `BertConfig` of the file beside it, or None.
      vocab_file: path of the vocab.txt beside it, or None.
      shapes: dict from name to tuple of int.
      kind: entry of `variables.KINDS`, or None where nothing beside the weights tells it; or
        what the files call a kind that is none of them, such as "multi_label".
      labels: tuple of str, label of each output of a classifier, where the files tell them.
      do_lower_case: bool, casing of the text side, or None where nothing tells it.
      num_texts: texts per example, or None where nothing tells it.
      notes: tuple of str, what the library that wrote it computes otherwise than this one.
    """

    path: str
    format: str
    config: config_lib.BertConfig | None
    vocab_file: str | None
    shapes: dict
    _read: Callable
    kind: str | None = None
    labels: tuple = ()
    do_lower_case: bool | None = None
    num_texts: int | None = None
    notes: tuple = ()

    @property
    def names(self):
        """All names in the file, sorted."""
        return tuple(sorted(self.shapes))

    def read(self, name):
        """One array; floats of any width come as float32.

        Raises:
          InputError: the file lacks the name, or is damaged.
        """
        if name not in self.shapes:
            raise InputError(f"{self.path} holds no {name!r}.")
        array = self._read(name)
        return array.astype(np.float32) if array.dtype.kind not in "iub" else array


def held(directory):
    """What a directory holds, in a sentence for an error."""
    if not os.path.isdir(directory):
        return f"There is no directory {directory}."
    names = sorted(os.listdir(directory))
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"{directory} holds: {', '.join(names[:12]) or 'nothing'}{more}."


def first_file(directories, names):
    """Path of the first of `names` that is in one of `directories`, or None."""
    for directory in directories:
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isfile(path):
                return path
    return None


def described(directory):
    """What a conversion.json in `directory` tells: arguments of `Checkpoint`, {} without one.

    Raises:
      InputError: it is damaged.
    """
    path = os.path.join(directory, CONVERSION_FILE)
    if not os.path.isfile(path):
        return {}
    values = read_json(path)
    try:
        return {
            "kind": values["kind"],
            "labels": tuple(values["labels"]),
            "do_lower_case": values["do_lower_case"],
            "num_texts": values["num_texts"],
        }
    except (KeyError, TypeError) as error:
        raise InputError(f"{path} is damaged ({error!r}). Convert again, or remove it.") from None


def describe(directory, contents):
    """Writes the conversion.json of `Contents` into `directory`."""
    values = {
        "kind": contents.kind,
        "labels": contents.labels,
        "do_lower_case": contents.do_lower_case,
        "num_texts": contents.num_texts,
        "source": os.path.basename(contents.source),
    }
    text = json.dumps(values, indent=2) + "\n"
    files.write_text(os.path.join(directory, CONVERSION_FILE), text)


def read_json(path):
    """The object in a JSON file.

    Raises:
      InputError: it is not JSON, or no object.
    """
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}.") from None
    if not isinstance(values, dict):
        raise InputError(f"{path} holds a JSON {type(values).__name__}; an object was wanted.")
    return values
