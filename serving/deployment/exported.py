"""What a deployment needs to know of an exported model: versions, images, batching, size."""

import dataclasses
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bert_tf import files
from bert_tf.errors import InputError

if TYPE_CHECKING:
    from export.images.operations import Findings

_SAVED_MODEL = "saved_model.pb"
_BATCHING_FILE = "batching_params.pbtxt"
_NAME = r"[A-Za-z0-9][\w.-]*"
# A graph file of this size holds the weights as constants, see --freeze_weights of the export.
_FROZEN_BYTES = 10 * 2**20


@dataclasses.dataclass(frozen=True)
class Model:
    """A model and those of its versions that are served.

    Attributes:
      name: that of its directory.
      labels: the number of the version that each label names; `stable` is one of them.
      findings: of the served versions: which images can run each.
      num_bytes: on disk, of all served versions.
      is_frozen: whether weights are constants of a graph.
      batching: lines of the stable version's batching parameters; none: it is not batched.
      not_batched: why not, for people; "" if it is.
    """

    name: str
    path: str
    labels: Mapping[str, int]
    findings: Mapping[int, "Findings"]
    num_bytes: int
    is_frozen: bool
    batching: tuple[str, ...]
    not_batched: str

    @property
    def versions(self) -> list[int]:
        """Numbers of the served versions."""
        return sorted(set(self.labels.values()))

    @property
    def images(self) -> list[str]:
        """The images that can run all served versions, oldest first."""
        first, *others = (found.images for found in self.findings.values())
        return [image for image in first if all(image in each for each in others)]


def read(path: str, wanted: Mapping[str, int | None]) -> Model:
    """Examines the versions of a model that are to be served.

    Args:
      path: the model's base path.
      wanted: the version of each label; None: for `stable` the largest one without another label,
        for others none.

    Raises:
      InputError: there is no such version, or it is no SavedModel.
    """
    name = os.path.basename(os.path.abspath(path))
    if not re.fullmatch(_NAME, name):
        raise InputError(
            f"--model_base_path={path}: {name!r} cannot be the name of a model in a URL. Wanted: "
            "letters, digits, '_', '-' and '.'. Rename the directory."
        )
    directories = _versions(path)
    labels = _labels(path, directories, wanted)
    served = {number: directories[number] for number in sorted(set(labels.values()))}
    return _examined(name, path, labels, served)


def _versions(path: str) -> dict[int, str]:
    """From number to directory, of the versions with a SavedModel."""
    names = sorted(os.listdir(path)) if os.path.isdir(path) else []
    found = {
        int(name): os.path.join(path, name)
        for name in names
        if name.isascii()
        and name.isdigit()
        and os.path.isfile(os.path.join(path, name, _SAVED_MODEL))
    }
    if not found:
        raise InputError(
            f"--model_base_path={path} has no version: no sub-directory with a number as its name "
            f"and {_SAVED_MODEL} in it. It holds: {', '.join(names[:8]) or 'nothing'}. "
            f"`python -m export.savedmodel --export_dir={path}` writes one."
        )
    return found


def _labels(
    path: str, versions: Collection[int], wanted: Mapping[str, int | None]
) -> dict[str, int]:
    """The version of each label that has one, `stable` first."""
    given = {label: number for label, number in wanted.items() if number is not None}
    there = ", ".join(map(str, sorted(versions)))
    for label, number in given.items():
        if number not in versions:
            raise InputError(
                f"--{label}_version={number}: {path} has no such version. It has {there}."
            )
    others = set(versions) - set(given.values())
    if "stable" not in given and not others:
        raise InputError(
            f"No version is left for the label 'stable': {path} has {there}. Export another one, "
            "or leave --canary_version and --previous_version out."
        )
    return given if "stable" in given else {"stable": max(others)} | given


def _examined(name: str, path: str, labels: Mapping[str, int], served: Mapping[int, str]) -> Model:
    from export.images import operations, saved_model  # TensorFlow takes seconds to load

    found = {number: saved_model.read(directory) for number, directory in served.items()}
    stable = labels["stable"]
    lines = tuple(_parameters(served[stable]))
    alone = [signature for each in found.values() for signature in _unbatchable(each)]
    problem = ""
    if alone:
        problem = f"a tensor of {', '.join(dict.fromkeys(alone))} has no batch dimension"
    elif not lines:
        problem = f"version {stable} has no {_BATCHING_FILE}"
    return Model(
        name=name,
        path=path,
        labels=labels,
        findings={number: operations.examine(each) for number, each in found.items()},
        num_bytes=sum(map(files.num_bytes, served.values())),
        is_frozen=any(
            os.path.getsize(os.path.join(directory, _SAVED_MODEL)) > _FROZEN_BYTES
            for directory in served.values()
        ),
        batching=() if problem else lines,
        not_batched=problem,
    )


def _parameters(directory: str) -> Iterator[str]:
    """Lines of a version's batching parameters but its threads, of which a server has its own."""
    file = os.path.join(directory, _BATCHING_FILE)
    if os.path.isfile(file):
        with open(file, encoding="utf-8") as opened:
            for line in opened:
                if line.strip() and not re.match(r"\s*(#|num_batch_threads)", line):
                    yield line.strip()


def _unbatchable(saved_model: Any) -> Iterator[str]:
    """Names of signatures with a tensor that is not [B ...], which batching refuses."""
    for meta_graph in saved_model.meta_graphs:
        for name, signature in sorted(meta_graph.signature_def.items()):
            infos: Sequence[Any] = [*signature.inputs.values(), *signature.outputs.values()]
            if signature.inputs and not all(map(_is_batched, infos)):
                yield name


def _is_batched(info: Any) -> bool:
    shape = info.tensor_shape
    return not shape.unknown_rank and len(shape.dim) > 0 and shape.dim[0].size == -1
