"""An environment for each version of TensorFlow that a TensorFlow Serving image is built with."""

import contextlib
import pathlib
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from typing import NamedTuple

from bert_tf import files
from bert_tf.errors import InputError


class Release(NamedTuple):
    """An image and the packages that stand for it.

    Attributes:
      image: its name without the patch number.
      tensorflow: its requirement, for pip.
      tensorflow_text: the version of tensorflow-text whose libraries load into it.
      text_of_image: the TensorFlow Text that the image is built with: `org_tensorflow_text` in
        tensorflow_serving/workspace.bzl of the image's tag.
    """

    image: str
    tensorflow: str
    tensorflow_text: str
    text_of_image: str


RELEASES = (
    Release("2.12", "tensorflow-cpu==2.12.1", "2.12.1", "2.12.1"),
    # TensorFlow Text 2.13.0 has no wheel for Python 3.11.
    Release("2.13", "tensorflow-cpu==2.13.1", "2.13.0rc0", "2.12.1"),
    Release("2.14", "tensorflow-cpu==2.14.1", "2.14.0", "2.12.1"),
    Release("2.15", "tensorflow-cpu==2.15.1", "2.15.0", "2.12.1"),
    Release("2.16", "tensorflow-cpu==2.16.2", "2.16.1", "2.12.1"),
    Release("2.17", "tensorflow-cpu==2.17.1", "2.17.0", "2.12.1"),
    Release("2.18", "tensorflow-cpu==2.18.1", "2.18.1", "2.12.1"),
    # The libraries of TensorFlow Text 2.19.0 want symbols that tensorflow-cpu 2.19 lacks.
    Release("2.19", "tensorflow==2.19.0", "2.19.0", "2.12.1"),
    Release("2.20", "tensorflow-cpu==2.20.0", "2.20.0", "2.20.0"),
    # No tag of TensorFlow Serving 2.21 was seen; its main branch is built with TensorFlow Text
    # 2.20.0.
    Release("2.21", "tensorflow-cpu==2.21.0", "2.21.1", "2.20.0"),
)


@contextlib.contextmanager
def environment(release: Release, directory: str, keep: bool) -> Iterator[str]:
    """Makes an environment with the packages of a release; yields its interpreter.

    Args:
      directory: where environments are made, each about 1.5 GB.
      keep: whether it stays; one that is there already is taken as it is.

    Raises:
      InputError: pip failed.
    """
    path = pathlib.Path(directory, release.image)
    python = path / "bin" / "python"
    complete = path / "complete"
    if not complete.exists():
        shutil.rmtree(path, ignore_errors=True)
        venv.create(path, with_pip=True)
        _pip(python, release.tensorflow)
        # It would bring `tensorflow` in addition, the same with GPUs.
        _pip(python, "--no-deps", f"tensorflow-text=={release.tensorflow_text}")
        files.write_text(complete, "")
    try:
        yield str(python)
    finally:
        if not keep:
            shutil.rmtree(path)


def _pip(python: pathlib.Path, *requirement: str) -> None:
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--disable-pip-version-check",
    ]
    done = subprocess.run([*command, *requirement], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise InputError(f"pip could not install {requirement[-1]}.")


def chosen(images: str | None) -> list[Release]:
    """The releases of some images, or all.

    Args:
      images: their names, comma-separated.

    Raises:
      InputError: a name is not known.
    """
    known = {release.image: release for release in RELEASES}
    names = images.split(",") if images else list(known)
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"--images has {unknown[0]}; known are {', '.join(known)}.")
    return [known[name] for name in names]
