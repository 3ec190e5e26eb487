"""What decides the course of a run, kept beside its state: a restart must have the same."""

import json
import os

from bert_tf import files


def differences(path, identity):
    """Compares an identity with the one in a file, which is written if it is not there.

    Args:
      path: str, a JSON file.
      identity: dict for JSON.

    Returns:
      list of str, one for each entry that differs, as "seed is 3 there and 5 here".
    """
    identity = json.loads(json.dumps(identity))
    if not os.path.exists(path):
        files.write_text(path, json.dumps(identity, indent=2, sort_keys=True) + "\n")
        return []
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    return [
        f"{name} is {found.get(name)!r} there and {identity.get(name)!r} here"
        for name in sorted(found.keys() | identity.keys())
        if found.get(name) != identity.get(name)
    ]
