"""What decides the result of a run, kept with its state: a restart must have the same identity."""

import json
import os
from collections.abc import Collection, Mapping
from typing import Any

from bert_tf import files


def differences(path: str, identity: Mapping[str, Any], ignored: Collection[str] = ()) -> list[str]:
    """Compares an identity with the one in a file.

    Args:
      path: a JSON file, or none yet.
      identity: values that JSON can hold.
      ignored: names of entries that may differ.

    Returns:
      A phrase for each entry that differs, such as "seed is 3 there and 5 here"; empty if there
      is no file.
    """
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        there = json.load(file)
    here = json.loads(json.dumps(identity))  # with lists for tuples, as in the file
    return [
        f"{name} is {there.get(name)!r} there and {here.get(name)!r} here"
        for name in sorted((there.keys() | here.keys()) - set(ignored))
        if there.get(name) != here.get(name)
    ]


def keep(path: str, identity: Mapping[str, Any]) -> None:
    """Writes an identity to a file, unless the file exists."""
    if not os.path.exists(path):
        files.write_text(path, json.dumps(identity, indent=2, sort_keys=True) + "\n")
