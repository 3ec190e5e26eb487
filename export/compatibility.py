"""Say which TensorFlow Serving images can run a SavedModel.  --help lists every flag."""

import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bert_tf import commands
from bert_tf.errors import InputError
from export.images import table
from export.options import Compatibility

if TYPE_CHECKING:
    from export.images.operations import Findings


def main(options: Compatibility, arguments: Sequence[str]) -> None:
    """Prints which images can run the SavedModel at a path, and what the others lack.

    The exit status is 1 if the image that the options name, or without one every image, cannot
    run it.

    Raises:
      InputError: no path, several, or one that is not a SavedModel.
    """
    if len(arguments) != 1:
        raise InputError(
            f"The path of one SavedModel was wanted, {len(arguments)} were given. --help shows how."
        )
    image = table.named(options.image) if options.image else None
    from export.images import operations, saved_model  # TensorFlow takes seconds to load

    (path,) = arguments
    found = saved_model.read(path)
    findings = operations.examine(found)
    print(f"{path}: {_described(found, findings)}")
    problems = findings.problems
    if image:
        problems = {image: problems[image]}
    print("\n".join(f"  {line}" for line in lines(problems)))
    if all(problems.values()):
        sys.exit(1)


def notes() -> str:
    """What --help says below the flags."""
    return (
        "PATH is a SavedModel: the directory of saved_model.pb. Its operations and their\n"
        "attributes are compared with those of the TensorFlow and TensorFlow Text that each\n"
        "image is built with. The exit status is 1 if the image cannot run it, or without\n"
        "--image none of them can.\n\n"
        f"Images: {', '.join(table.images())}."
    )


def lines(problems: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """What the images can run and what not, one or more lines for those that lack the same.

    Args:
      problems: from each image, oldest first, to what it lacks.
    """
    for lacks, group in itertools.groupby(problems, key=problems.__getitem__):
        images = list(group)
        many = len(images) > 1
        named = f"images {images[0]} to {images[-1]}" if many else f"image {images[0]}"
        if lacks:
            yield f"{named} cannot run it:"
            yield from (f"  {each}" for each in lacks)
        else:
            yield f"{named} can run it"


def _described(found: Any, findings: "Findings") -> str:
    """What wrote the SavedModel, and what it has."""
    versions = {each.meta_info_def.tensorflow_version for each in found.meta_graphs} - {""}
    by = f" of TensorFlow {', '.join(sorted(versions))}" if versions else ""
    text = ", ".join(findings.text_operations) or "none"
    return f"SavedModel{by} with {len(findings.operations)} operations; of TensorFlow Text: {text}"


if __name__ == "__main__":
    commands.run("compatibility")
