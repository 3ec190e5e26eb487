"""What all checkpoint formats share: `Format`, an opened `Checkpoint`, the files next to it.

To add a format, write a subclass of `Format` with its name table and add it to `opening.FORMATS`.
"""

import abc
import dataclasses
import json
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bert_tf import files
from bert_tf.checkpoints.formats.rows import NameTable, Row
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.checkpoints.variables import Shape
from bert_tf.config import BertConfig, from_file
from bert_tf.errors import InputError

# Left by `export.checkpoint` in what it writes. It marks a conversion, and says what the format
# itself cannot.
CONVERSION_FILE = "conversion.json"

# Shapes by name, and a function that reads the array of a name.
Arrays = tuple[dict[str, Shape], Callable[[str], np.ndarray]]


class Format(abc.ABC):
    """One checkpoint format: its files, and the names of the variables in them.

    Attributes:
      name: what --to calls it.
      title: what messages call it.
      accepted: what a path of this format may be, for messages.
      table: names of our variables in its files.
      not_weights: regular expressions, matched in full, of names that are not weights, such as the
        state of an optimizer.
      tied: names of second copies of weights, and the names of the weights.
      needs_pooler: whether its readers want a pooler in every model.
      is_written: whether we write it as well as read it.
    """

    name: str
    title: str
    accepted: str
    table: NameTable
    not_weights: tuple[str, ...] = ()
    tied: Mapping[str, str] = {}
    needs_pooler = False
    is_written = True

    @abc.abstractmethod
    def find(self, path: str) -> str | None:
        """What `open` takes, if `path` is or holds a checkpoint of this format, else None.

        Raises:
          InputError: `path` holds several checkpoints, or a damaged one.
        """

    @abc.abstractmethod
    def open(self, path: str) -> "Checkpoint":
        """Opens what `find` returned.

        Raises:
          InputError: it is damaged, incomplete or of another architecture.
        """

    def write(self, state_dict: StateDict, directory: str) -> None:
        """Writes the files of a checkpoint into `directory`, which is there and empty.

        Raises:
          InputError: the format cannot hold this model.
        """
        raise NotImplementedError(f"{self.title} is only read.")

    def notes(self, state_dict: StateDict) -> list[str]:
        """Sentences on what the format's own library computes differently from us."""
        return []

    def canonical_name(self, name: str) -> str:
        """A name in a file, as the table spells it; older files may spell it differently."""
        return name

    def rows(self, config: BertConfig) -> list[Row]:
        """The name table of a model with every head."""
        return self.table.rows(config)

    def arrays(self, state_dict: StateDict) -> dict[str, np.ndarray]:
        """The arrays of a state dict under the names of this format, sorted; they may be views.

        Raises:
          InputError: the format has no name for one of them.
        """
        left = dict(state_dict.arrays)
        named: dict[str, np.ndarray] = {}
        for row in self.rows(state_dict.config):
            if row.path in left:
                named.update(zip(row.names, row.split(left.pop(row.path)), strict=True))
        if left:
            raise InputError(
                f"{state_dict.source} holds variables that this format has no place for:\n  "
                + "\n  ".join(listing("without a name there", sorted(left)))
                + "\nTo leave them out, give --skip with regular expressions of the names above, "
                "separated by commas."
            )
        return {name: named[name] for name in sorted(named)}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """An opened checkpoint. Arrays are read one by one, on demand.

    Attributes:
      path: the prefix of the files, the file or the directory.
      format: the format it was opened as.
      shapes: shapes by name.
      read_array: reads the array of a name.
      config: from the file next to it, or None.
      vocab_file: path of the vocab.txt next to it, or None.
      kind: key of `kinds.KINDS`; None if no file says it; or, for a kind that we do not have, what
        the files call it, such as "multi_label".
      labels: label of each output of a classifier; () if no file says them.
      do_lower_case: casing of the text side; None if no file says it.
      num_texts: texts per example; None if no file says it.
      notes: sentences on what the library that wrote it computes differently from us.
    """

    path: str
    format: Format
    shapes: dict[str, Shape]
    read_array: Callable[[str], np.ndarray]
    config: BertConfig | None = None
    vocab_file: str | None = None
    kind: str | None = None
    labels: tuple[str, ...] = ()
    do_lower_case: bool | None = None
    num_texts: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names in the file, sorted."""
        return tuple(sorted(self.shapes))

    def read(self, name: str) -> np.ndarray:
        """Reads one array. Floats of any width become float32.

        Raises:
          InputError: the file lacks the name, or is damaged.
        """
        if name not in self.shapes:
            raise InputError(f"{self.path} holds no {name!r}.")
        array = self.read_array(name)
        return array.astype(np.float32) if array.dtype.kind not in "iub" else array


def listing(title: str, names: list[str], most: int = 20) -> list[str]:
    """Lines of a message: how many names there are, and the first of them; [] for none."""
    if not names:
        return []
    more = [f"  and {len(names) - most} more"] if len(names) > most else []
    return [f"{title} ({len(names)}):", *(f"  {name}" for name in names[:most]), *more]


def describe_directory(directory: str) -> str:
    """A sentence on what a directory holds, for an error."""
    if not os.path.isdir(directory):
        return f"There is no directory {directory}."
    names = sorted(os.listdir(directory))
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"{directory} holds: {', '.join(names[:12]) or 'nothing'}{more}."


def first_file(directories: Iterable[str], names: Iterable[str]) -> str | None:
    """Path of the first of `names` that is in one of `directories`, or None."""
    names = tuple(names)
    for directory in directories:
        for name in names:
            path = os.path.join(directory, name)
            if os.path.isfile(path):
                return path
    return None


def read_config(directories: Iterable[str], names: Iterable[str]) -> BertConfig | None:
    """The configuration in the file that `first_file` finds, or None."""
    path = first_file(directories, names)
    return from_file(path, "config") if path else None


def read_conversion(directory: str) -> dict[str, Any]:
    """Arguments of `Checkpoint` that a conversion.json in `directory` gives; {} without one.

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


def write_conversion(directory: str, state_dict: StateDict) -> None:
    """Writes the conversion.json of a state dict into `directory`."""
    values = {
        "kind": state_dict.kind,
        "labels": state_dict.labels,
        "do_lower_case": state_dict.do_lower_case,
        "num_texts": state_dict.num_texts,
        "source": os.path.basename(state_dict.source),
    }
    text = json.dumps(values, indent=2) + "\n"
    files.write_text(os.path.join(directory, CONVERSION_FILE), text)


def read_json(path: str) -> dict[str, Any]:
    """The object in a JSON file.

    Raises:
      InputError: it is not JSON, or not an object.
    """
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}.") from None
    if not isinstance(values, dict):
        raise InputError(f"{path} holds a JSON {type(values).__name__}; an object was wanted.")
    return values
