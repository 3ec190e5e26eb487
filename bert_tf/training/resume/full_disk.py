"""What a training run says when the disk is full: what its directory keeps, and how to go on."""

import functools
import os
from collections.abc import Callable
from typing import Protocol, TypeVar

from bert_tf import files, options
from bert_tf.formatting import size
from bert_tf.training.resume import completion, state_files
from bert_tf.training.resume.state_files import Saved


class _Inputs(Protocol):
    @property
    def options(self) -> options.Training: ...


class Given(Protocol):
    """What a run is given: its options are among its inputs."""

    @property
    def inputs(self) -> _Inputs: ...


AnyGiven = TypeVar("AnyGiven", bound=Given)


def explained(run: Callable[[AnyGiven], None]) -> Callable[[AnyGiven], None]:
    """Makes a run end on a full disk with a `DiskFullError` that says what it keeps."""

    @functools.wraps(run)
    def explained_run(given: AnyGiven) -> None:
        directory = given.inputs.options.output_dir
        with files.disk_full_explained(directory, lambda: what_is_kept(directory)):
            run(given)

    return explained_run


def what_is_kept(directory: str) -> str:
    """What a model directory keeps of a run, and how to go on, in sentences."""
    states = state_files.listed(os.path.join(directory, "training"))
    newest = next((saved for saved in states if saved.is_intact), None)
    paths = [os.path.join(directory, which) for which in ("best", "last")]
    weights = [path for path in paths if os.path.isdir(path)]
    kept, sizes = [], [f"{size(files.free_bytes(directory))} are free"]
    if newest:
        kept.append(f"the training state of step {newest.step}")
        sizes.append(f"a training state takes {size(files.num_bytes(newest.path))}")
    if weights:
        kept += [f"the weights in {os.path.basename(path)}/" for path in weights]
        sizes.append(f"weights take {size(files.num_bytes(weights[0]))}")
    return (
        f"{directory} keeps {' and '.join(kept) or 'no training state yet'}. Free some space "
        f"({', '.join(sizes)}) and run the same command again: it "
        f"{_what_follows(directory, newest)}."
    )


def _what_follows(directory: str, newest: Saved | None) -> str:
    if newest:
        return f"goes on after step {newest.step}"
    is_complete = os.path.isfile(os.path.join(directory, "training", completion.NAME))
    return "writes what is missing" if is_complete else "starts from the beginning"
