"""The files of a task's sets: their names in a directory, or their paths."""

from collections.abc import Mapping
from typing import TypeAlias

from bert_tf.examples import readers

Names: TypeAlias = str | tuple[str, ...]
Files: TypeAlias = Mapping[str, Mapping[str, Names]]  # by split and name of the set
ONE_FILE: Files = {split: {"": f"{split}.tsv"} for split in ("train", "dev", "test")}
# The files of a user's own data in a directory, the first that is there.
OWN_FILES: Files = {
    split: {"": tuple(f"{name}{ending}" for name in names for ending in readers.ENDINGS)}
    for split, names in (("train", ["train"]), ("dev", ["dev", "validation"]), ("test", ["test"]))
}


def path(names: Names, data_dir: str | None) -> str:
    """The file of a set: of several names the first one that a directory has.

    Args:
      data_dir: None: the name is a path.

    Raises:
      InputError: the directory has none of them.
    """
    names = _tuple(names)
    return names[0] if data_dir is None else readers.find_file(data_dir, *names)


def sets_there(sets: Mapping[str, Names], split: str, data_dir: str | None) -> list[str]:
    """The sets of a split that have a file; says which have none. All, if none has one."""
    if data_dir is None or len(sets) == 1:
        return list(sets)
    there = [
        set_name
        for set_name, names in sets.items()
        if any(readers.file_in(data_dir, name) for name in _tuple(names))
    ]
    if there and len(there) < len(sets):
        missing = [_tuple(sets[name])[0] for name in sets if name not in there]
        print(
            f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not in "
            f"--data_dir={data_dir}: {split} is {', '.join(there)} alone.",
            flush=True,
        )
    return there or list(sets)


def _tuple(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names
