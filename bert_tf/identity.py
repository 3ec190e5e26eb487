"""What decides the course of a run, kept beside its state: a restart must have the same."""

import json
import os

from bert_tf import files


def differences(path, identity, ignored=()):
    """Compares an identity with the one in a file.

    Args:
      path: str, a JSON file.
      identity: dict for JSON.
      ignored: names of entries that may differ.

    Returns:
      list of str, one for each entry that differs, as "seed is 3 there and 5 here"; empty where
      there is no file.
    """
    if not os.path.exists(path):
        return []
    identity = json.loads(json.dumps(identity))
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    return [
        f"{name} is {found.get(name)!r} there and {identity.get(name)!r} here"
        for name in sorted((found.keys() | identity.keys()) - set(ignored))
        if found.get(name) != identity.get(name)
    ]


def keep(path, identity):
    """Writes an identity to a file, unless there is one."""
    if not os.path.exists(path):
        files.write_text(path, json.dumps(identity, indent=2, sort_keys=True) + "\n")
