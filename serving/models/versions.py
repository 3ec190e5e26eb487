"""The versions of a model on disk: numeric sub-directories of its base path."""

import os

from bert_tf.errors import InputError

SAVED_MODEL_FILE = "saved_model.pb"


def largest(base_path: str) -> tuple[int, str]:
    """Finds the version to serve.

    Returns:
      (number, path) of the largest version.

    Raises:
      InputError: there is none; the message says what is there instead.
    """
    what = f"--model_base_path={base_path}"
    if not os.path.isdir(base_path):
        raise InputError(
            f"{what} is not a directory. Wanted: the directory that holds the "
            f"model's versions, e.g. models/NAME with models/NAME/1/{SAVED_MODEL_FILE}; "
            "`python -m export.savedmodel` writes one."
        )
    names = sorted(os.listdir(base_path))
    if SAVED_MODEL_FILE in names:
        raise InputError(
            f"{what} holds {SAVED_MODEL_FILE} itself, so it is a version. Give the "
            f"directory above it, {os.path.dirname(os.path.abspath(base_path))}, where every "
            "version has a number as its name."
        )
    numbered = {int(name): name for name in names if name.isascii() and name.isdigit()}
    if not numbered:
        raise InputError(
            f"{what} has no version, a sub-directory whose name is a number. It "
            f"holds: {', '.join(names[:8]) or 'nothing'}. `python -m export.savedmodel "
            f"--export_dir={base_path}` writes one."
        )
    number = max(numbered)
    path = os.path.join(base_path, numbered[number])
    if not os.path.isfile(os.path.join(path, SAVED_MODEL_FILE)):
        raise InputError(
            f"{path}, the largest version under {what}, has no {SAVED_MODEL_FILE}, so "
            "it is not a SavedModel. Remove it, or export the model again."
        )
    return number, path
