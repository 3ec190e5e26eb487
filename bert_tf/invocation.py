"""What to type next: commands named in the way in which this process was started."""

import os
import shlex
import shutil
import sys

_PROGRAM = "bert-tf"


def of(command: str, script: str) -> str:
    """How to start another command from where this one was started.

    Args:
      command: its name behind `bert-tf`, e.g. "serve".
      script: what Python runs in a checkout, e.g. "-m serving" or "run_classifier.py".

    Returns:
      E.g. "bert-tf serve" or "python -m serving". The program has a path where its name alone would
      not be found, or would start that of another environment.
    """
    if sys.argv[0].startswith(f"{_PROGRAM} "):
        return f"{_typed(_PROGRAM, sys.orig_argv[1])} {command}"
    return f"{_typed('python', sys.executable)} {script}"


def _typed(name: str, path: str) -> str:
    """The name if it starts the program at `path`; else the path, short if it is below here."""
    found = shutil.which(name)
    if found and os.path.abspath(found) == os.path.abspath(path):
        return name
    relative = os.path.relpath(path)
    return shlex.quote(path if relative.startswith(os.pardir) else relative)
