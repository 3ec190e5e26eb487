"""`manifest.json` next to record files: their inputs, options and counts.

A directory may hold several builds, e.g. a training and a development set; each has an entry. Equal
inputs and options give equal bytes: it names no machine and no time. Files without an entry, which
other tools made, are used without these checks.
"""

import contextlib
import dataclasses
import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bert_tf import __version__, files
from bert_tf.errors import InputError
from bert_tf.options import PretrainingData
from bert_tf.text.vocab import Vocabulary

NAME = "manifest.json"
FORMAT = 2
# Names and values of options in format 1, of version 0.1.0.
_RENAMED = {"objective": "example_type", "masking": "mask_granularity"}
_RENAMED_GRANULARITY = {"piece": "token"}
# Options that are recorded in another form, or that change nothing in the files.
_NOT_RECORDED = {"input_file", "output_file", "vocab_file", "num_workers", "scratch_dir"}
_NOT_RECORDED |= {"do_whole_word_mask"}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Build:
    """What one run of create_pretraining_data.py left in a directory.

    Attributes:
      files: "name", "records", "bytes" and "sha256" of each.
      num_files: files the run wrote; more than in `files` if some are elsewhere or were overwritten
        since. The other attributes are of all of them.
      vocabulary: "sha256" and "size".
      max_predictions_per_seq: where examples have no masks, what --dynamic_masking needs.
      example_type: key of `choices.EXAMPLE_TYPES`.
      is_padded: whether every example is stored as long as `max_seq_length`.
      options: the flags that decide what the files hold, defaults filled in.
      inputs: "name", "format", "bytes" and "sha256" of each.
      text: see `summary.TextCounts`.
      examples: see `summary.ExampleCounts`.
      shares: see `shares`.
      code_version: of the builder.
    """

    files: list[dict[str, Any]]
    num_files: int
    vocabulary: dict[str, Any]
    do_lower_case: bool
    max_seq_length: int
    max_predictions_per_seq: int
    example_type: str
    is_padded: bool
    options: dict[str, Any]
    inputs: list[dict[str, Any]]
    text: dict[str, int]
    examples: dict[str, int]
    shares: dict[str, float | None]
    code_version: str
    is_masked: bool = True  # early manifests lack it

    def file(self, name: str) -> dict[str, Any] | None:
        """The entry of a file, or None."""
        return next((entry for entry in self.files if entry["name"] == name), None)


def shares(examples: Mapping[str, int]) -> dict[str, float | None]:
    """What the counts of examples mean, as shares of 1.

    Args:
      examples: the fields of `summary.ExampleCounts`.

    Returns:
      "predictions", the tokens to predict of those that text gave; of the predictions "masked",
      "random" and "kept", None without predictions; "label_1", the random or swapped pairs, None
      without pairs; "padding", the positions without a token if every example is padded.
    """
    predictions = examples["num_predictions"]
    masked, kept = examples["num_masked"], examples["num_kept"]
    tokens = examples["num_tokens"]
    pairs = examples["num_pairs"]
    return {
        "predictions": _share(predictions, tokens - examples["num_special"]),
        "masked": _share_of_some(masked, predictions),
        "random": _share_of_some(predictions - masked - kept, predictions),
        "kept": _share_of_some(kept, predictions),
        "label_1": _share_of_some(examples["num_label_1"], pairs),
        "padding": _share(examples["num_positions"] - tokens, examples["num_positions"]),
    }


def _share(part: int, whole: int) -> float:
    return round(part / max(1, whole), 6)


def _share_of_some(part: int, whole: int) -> float | None:
    return _share(part, whole) if whole else None


def new_build(
    options: PretrainingData,
    vocabulary: Vocabulary,
    inputs: Iterable[Mapping[str, Any]],
    text: Any,
    examples: Any,
) -> Build:
    """A `Build` without files.

    Args:
      options: of the run.
      vocabulary: of the run.
      inputs: "path", "format", "bytes" and "sha256" of each.
      text: `summary.TextCounts`.
      examples: `summary.ExampleCounts`.
    """
    recorded = {name: value for name, value in vars(options).items() if name not in _NOT_RECORDED}
    recorded |= {
        "mask_granularity": options.granularity,
        "max_predictions_per_seq": options.num_predictions,
        "pad_to_max_seq_length": options.is_padded,
    }
    counts = dataclasses.asdict(examples)
    return Build(
        files=[],
        num_files=0,
        vocabulary={"sha256": vocabulary.sha256, "size": len(vocabulary)},
        do_lower_case=options.do_lower_case,
        max_seq_length=options.max_seq_length,
        max_predictions_per_seq=options.num_predictions,
        example_type=options.example_type,
        is_padded=options.is_padded,
        is_masked=options.mask,
        options=recorded,
        inputs=[
            {"name": os.path.basename(each["path"])}
            | {key: each[key] for key in ("format", "bytes", "sha256")}
            for each in inputs
        ],
        text=dataclasses.asdict(text),
        examples=counts,
        shares=shares(counts),
        code_version=__version__,
    )


def add(paths: Sequence[str], written: Sequence[Mapping[str, Any]], *build: Any) -> None:
    """Enters a build into the manifest of every directory that it wrote to.

    Entries of other builds stay, less the files that this one has replaced.

    Args:
      paths: the files.
      written: "records", "bytes" and "sha256" of each, as `write.join` returns them.
      *build: the arguments of `new_build`.

    Raises:
      InputError: there is a manifest.json that this version cannot read.
    """
    entry_of_build = new_build(*build)
    entries: dict[str, list[dict[str, Any]]] = {}
    for path, file in zip(paths, written, strict=True):
        entry = {"name": os.path.basename(path)}
        entry |= {key: file[key] for key in ("records", "bytes", "sha256")}
        entries.setdefault(os.path.dirname(os.path.abspath(path)), []).append(entry)
    for directory, here in entries.items():
        _enter(directory, dataclasses.replace(entry_of_build, files=here, num_files=len(paths)))


def _enter(directory: str, build: Build) -> None:
    names = {entry["name"] for entry in build.files}
    with _locked(directory):
        builds = []
        for other in read(directory):
            left = [entry for entry in other.files if entry["name"] not in names]
            if left:
                builds.append(dataclasses.replace(other, files=left))
        builds = sorted([*builds, build], key=lambda each: each.files[0]["name"])
        content = {"format": FORMAT, "builds": [dataclasses.asdict(each) for each in builds]}
        text = json.dumps(content, indent=1, ensure_ascii=False)
        files.write_text(os.path.join(directory, NAME), text + "\n")


@contextlib.contextmanager
def _locked(directory: str) -> Iterator[None]:
    """One writer at a time; a lock on the directory itself leaves no file behind."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read(directory: str) -> list[Build]:
    """Reads the manifest of a directory; empty if there is none.

    Raises:
      InputError: it is damaged or of a later version.
    """
    path = os.path.join(directory, NAME)
    try:
        with open(path, encoding="utf-8") as file:
            content = json.load(file)
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise InputError(f"{path} is not JSON ({error}). {_way_out()}") from None
    version = content.get("format") if isinstance(content, dict) else None
    if version not in (1, FORMAT):
        raise InputError(
            f"{path} has format {version!r}; this version reads {FORMAT} and 1. {_way_out()}"
        )
    try:
        return [_build(values) for values in content["builds"]]
    except (TypeError, KeyError) as error:
        raise InputError(f"{path} does not hold what it should ({error}). {_way_out()}") from None


def _build(values: dict) -> Build:
    """The `Build` of an entry, in either format."""
    return Build(**renamed(values) | {"options": renamed(values["options"])})


def renamed(options: dict) -> dict:
    """Options by the names and values of today, whether version 0.1.0 wrote them or a later one."""
    options = {_RENAMED.get(name, name): value for name, value in options.items()}
    if "mask_granularity" in options:
        granularity = options["mask_granularity"]
        options["mask_granularity"] = _RENAMED_GRANULARITY.get(granularity, granularity)
    return options


def _way_out() -> str:
    return (
        "Make the records again with this version, or move the file away: records without a "
        "manifest are used unchecked."
    )


def find_all(paths: Iterable[str]) -> list[Build | None]:
    """Finds the build of each of some record files; None for a file that no manifest names.

    Raises:
      InputError: a manifest cannot be read, or a file has another size than its manifest says.
    """
    by_directory: dict[str, dict[str, Any]] = {}
    builds = []
    for path in paths:
        directory, name = os.path.split(os.path.abspath(path))
        if directory not in by_directory:
            by_directory[directory] = {
                entry["name"]: (build, entry) for build in read(directory) for entry in build.files
            }
        build, entry = by_directory[directory].get(name, (None, None))
        if entry and os.path.exists(path) and os.path.getsize(path) != entry["bytes"]:
            raise InputError(
                f"{path} has {os.path.getsize(path)} bytes; the {NAME} next to it says "
                f"{entry['bytes']}. It was cut off or replaced since: make or copy it again, "
                f"together with its {NAME}."
            )
        builds.append(build)
    return builds


def find(path: str) -> Build | None:
    """Finds the `Build` of one file, or None; see `find_all`."""
    return find_all([path])[0]


def sha256(path: str) -> str | None:
    """The hexadecimal hash of a record file by its manifest, or None without one."""
    build = find(path)
    entry = build and build.file(os.path.basename(path))
    return entry["sha256"] if entry else None


def unpadded(paths: Sequence[str]) -> set[str]:
    """Those of some files whose examples are stored without padding."""
    builds = find_all(paths)
    return {
        path for path, build in zip(paths, builds, strict=True) if build and not build.is_padded
    }


def check(
    paths: Sequence[str],
    *,
    vocabulary: Vocabulary,
    do_lower_case: bool,
    max_seq_length: int,
    max_predictions_per_seq: int | None = None,
    example_types: Sequence[str] | None = None,
) -> list[Build | None]:
    """Refuses record files that were made for another model, as far as manifests say so.

    Args:
      paths: files that are used together.
      vocabulary: of the model.
      do_lower_case: the casing of the model.
      max_seq_length: of the model's inputs.
      max_predictions_per_seq: of files with masks; None: any, but the same in all files.
      example_types: those that can be trained on; None: all. All files must have the same.

    Returns:
      The builds, as `find_all` gives them.

    Raises:
      InputError: a file does not fit, or has another size than its manifest says.
    """
    builds = find_all(paths)
    first = None
    for path, build in zip(paths, builds, strict=True):
        if build is None:
            continue
        check_vocabulary(path, build, vocabulary)
        _check_casing(path, build, do_lower_case)
        _check_flag(path, "max_seq_length", build.max_seq_length, max_seq_length)
        if max_predictions_per_seq is not None and build.is_masked:
            name = "max_predictions_per_seq"
            _check_flag(
                path,
                name,
                build.max_predictions_per_seq,
                max_predictions_per_seq,
                others=", or leave the flag out, which takes that of each phase's records",
            )
        if example_types is not None and build.example_type not in example_types:
            raise InputError(
                f"{path} was made with --example_type={build.example_type}, says its {NAME}; "
                f"{' or '.join(example_types)} was wanted. Make the records with "
                f"--example_type={example_types[0]}, or give an --objective that fits them."
            )
        first = first or (path, build)
        _check_alike(path, build, *first)
    return builds


def check_vocabulary(path: str, build: Build, vocabulary: Vocabulary) -> None:
    """Refuses the file `path` of a `Build` that was made with another vocabulary.

    Raises:
      InputError: it was.
    """
    if build.vocabulary["sha256"] != vocabulary.sha256:
        raise InputError(
            f"{path} was made with another vocabulary, says its {NAME}: {build.vocabulary['size']} "
            f"tokens with sha256 {build.vocabulary['sha256'][:12]}...; the one given has "
            f"{len(vocabulary)} with {vocabulary.sha256[:12]}.... Make the records with the "
            "model's vocab.txt, or give the --vocab_file they were made with."
        )


def _check_casing(path: str, build: Build, do_lower_case: bool) -> None:
    if build.do_lower_case != do_lower_case:
        raise InputError(
            f"{path} was made with --do_lower_case={_as_flag(build.do_lower_case)}, says its "
            f"{NAME}; the model's is {_as_flag(do_lower_case)}. Make the records with "
            f"--do_lower_case={_as_flag(do_lower_case)}, or take a model of the other casing."
        )


def _check_flag(path: str, name: str, made: Any, wanted: Any, others: str = "") -> None:
    if made != wanted:
        raise InputError(
            f"{path} was made with --{name}={made}, says its {NAME}; {wanted} was wanted. Give "
            f"--{name}={made}{others}, or make the records with --{name}={wanted}."
        )


def _check_alike(path: str, build: Build, first_path: str, first: Build) -> None:
    for name in ("example_type", "max_predictions_per_seq"):
        one, other = getattr(first, name), getattr(build, name)
        if one != other:
            raise InputError(
                f"{path} was made with --{name}={other} and {first_path} with --{name}={one}, say "
                "their manifests. Files used together must be alike; name files of one kind."
            )


def _as_flag(value: bool) -> str:
    return str(value).lower()
