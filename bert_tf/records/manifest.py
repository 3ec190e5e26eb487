"""`manifest.json` beside record files: what they were made from and with, and what came out.

A directory may hold several builds, e.g. a training and a development set; each has an entry. Equal
inputs and options give equal bytes: nothing in it is of a machine or a time. Files that no entry
names, which other tools made, are used without these checks.
"""

import contextlib
import dataclasses
import fcntl
import json
import os

from bert_tf import __version__, files
from bert_tf.errors import InputError

NAME = "manifest.json"
FORMAT = 2
# Names and values of options in format 1, of version 0.1.0.
_RENAMED = {"objective": "example_type", "masking": "mask_granularity"}
_RENAMED_GRANULARITY = {"piece": "token"}
# Options that are said in another form, or that change nothing in the files.
_NOT_RECORDED = ("input_file", "output_file", "vocab_file", "num_workers", "scratch_dir")
_NOT_RECORDED += ("do_whole_word_mask",)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Build:
    """What one run of create_pretraining_data.py left in a directory.

    Attributes:
      files: list of dicts with "name", "records", "bytes" and "sha256".
      num_files: int, files the run wrote; more than in `files` if some lie elsewhere or were
        overwritten since. What follows is of all of them.
      vocabulary: dict with "sha256" and "size".
      do_lower_case: bool.
      max_seq_length, max_predictions_per_seq: int; the second is what --dynamic_masking needs
        where examples have no masks.
      example_type: key of `choices.EXAMPLE_TYPES`.
      is_padded: bool, whether every example is stored as long as `max_seq_length`.
      is_masked: bool.
      options: dict, the flags that decide what the files hold, defaults filled in.
      inputs: list of dicts with "name", "format", "bytes" and "sha256".
      text, examples: dicts of counts, see `summary.TextCounts` and `summary.ExampleCounts`.
      shares: dict, see `shares`.
      code_version: str.
    """

    files: list
    num_files: int
    vocabulary: dict
    do_lower_case: bool
    max_seq_length: int
    max_predictions_per_seq: int
    example_type: str
    is_padded: bool
    options: dict
    inputs: list
    text: dict
    examples: dict
    shares: dict
    code_version: str
    is_masked: bool = True  # as manifests say that were written before there were others

    def file(self, name):
        """The entry of a file, or None."""
        return next((entry for entry in self.files if entry["name"] == name), None)


def shares(examples):
    """What the counts of examples mean, as shares of 1.

    Args:
      examples: dict of the fields of `summary.ExampleCounts`.

    Returns:
      dict with "predictions", the tokens to predict of those that text gave; of the predictions
      "masked", "random" and "kept", None without predictions; "label_1", the random or swapped
      pairs, None without pairs; "padding", the positions that hold no token where every example
      is padded.
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


def _share(part, whole):
    return round(part / max(1, whole), 6)


def _share_of_some(part, whole):
    return _share(part, whole) if whole else None


def new_build(options, vocabulary, inputs, text, examples):
    """A `Build` without files.

    Args:
      options: `options.PretrainingData`.
      vocabulary: `text.vocab.Vocabulary`.
      inputs: list of dicts with "path", "format", "bytes" and "sha256".
      text: `summary.TextCounts`.
      examples: `summary.ExampleCounts`.
    """
    recorded = {name: value for name, value in vars(options).items() if name not in _NOT_RECORDED}
    recorded |= {
        "mask_granularity": options.granularity,
        "max_predictions_per_seq": options.num_predictions,
        "pad_to_max_seq_length": options.is_padded,
    }
    examples = dataclasses.asdict(examples)
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
        examples=examples,
        shares=shares(examples),
        code_version=__version__,
    )


def add(paths, written, options, vocabulary, inputs, text, examples):
    """Enters a build into the manifest of every directory that it wrote to.

    Entries of other builds stay, less the files that this one has replaced.

    Args:
      paths: list of str, the files.
      written: list of dicts with "records", "bytes" and "sha256" of each, as
        `write.write_records` returns them.
      options, vocabulary, inputs, text, examples: see `new_build`.

    Raises:
      InputError: there is a manifest.json that this version cannot read.
    """
    build = new_build(options, vocabulary, inputs, text, examples)
    entries = {}
    for path, file in zip(paths, written, strict=True):
        entry = {"name": os.path.basename(path)}
        entry |= {key: file[key] for key in ("records", "bytes", "sha256")}
        entries.setdefault(os.path.dirname(os.path.abspath(path)), []).append(entry)
    for directory, found in entries.items():
        _enter(directory, dataclasses.replace(build, files=found, num_files=len(paths)))


def _enter(directory, build):
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
def _locked(directory):
    """One writer at a time; a lock on the directory itself leaves no file behind."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read(directory):
    """Reads the manifest of a directory.

    Returns:
      list of `Build`; empty if there is none.

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


def _way_out():
    return (
        "Make the records again with this version, or move the file away: records without a "
        "manifest are used unchecked."
    )


def find_all(paths):
    """Finds the build of each of some record files.

    Args:
      paths: list of str.

    Returns:
      list of `Build`, or None for a file that no manifest names.

    Raises:
      InputError: a manifest cannot be read, or a file has another size than its manifest says.
    """
    by_directory, found = {}, []
    for path in paths:
        directory, name = os.path.split(os.path.abspath(path))
        if directory not in by_directory:
            by_directory[directory] = {
                entry["name"]: (build, entry) for build in read(directory) for entry in build.files
            }
        build, entry = by_directory[directory].get(name, (None, None))
        if entry and os.path.exists(path) and os.path.getsize(path) != entry["bytes"]:
            raise InputError(
                f"{path} has {os.path.getsize(path)} bytes; the {NAME} beside it says "
                f"{entry['bytes']}. It was cut off or replaced since: make or copy it again, "
                f"together with its {NAME}."
            )
        found.append(build)
    return found


def find(path):
    """Finds the `Build` of one file, or None; see `find_all`."""
    return find_all([path])[0]


def sha256(path):
    """The hexadecimal hash of a record file by its manifest, or None without one."""
    build = find(path)
    return build.file(os.path.basename(path))["sha256"] if build else None


def unpadded(paths):
    """Those of some files whose examples are stored without padding, as a set."""
    builds = find_all(paths)
    return {
        path for path, build in zip(paths, builds, strict=True) if build and not build.is_padded
    }


def check(
    paths,
    *,
    vocabulary,
    do_lower_case,
    max_seq_length,
    max_predictions_per_seq=None,
    example_types=None,
):
    """Refuses record files that were made for another model, as far as manifests say so.

    Args:
      paths: list of str, files that are used together.
      vocabulary: `text.vocab.Vocabulary` of the model.
      do_lower_case: bool, its casing.
      max_seq_length: int.
      max_predictions_per_seq: int, of files with masks; or None: any, but the same in all files.
      example_types: names of those that can be trained on, or None: all; but one in all files.

    Returns:
      list of `Build` or None, as `find_all` gives it.

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


def check_vocabulary(path, build, vocabulary):
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


def _check_casing(path, build, do_lower_case):
    if build.do_lower_case != do_lower_case:
        raise InputError(
            f"{path} was made with --do_lower_case={_as_flag(build.do_lower_case)}, says its "
            f"{NAME}; the model's is {_as_flag(do_lower_case)}. Make the records with "
            f"--do_lower_case={_as_flag(do_lower_case)}, or take a model of the other casing."
        )


def _check_flag(path, name, found, wanted, others=""):
    if found != wanted:
        raise InputError(
            f"{path} was made with --{name}={found}, says its {NAME}; {wanted} was wanted. Give "
            f"--{name}={found}{others}, or make the records with --{name}={wanted}."
        )


def _check_alike(path, build, first_path, first):
    for name in ("example_type", "max_predictions_per_seq"):
        one, other = getattr(first, name), getattr(build, name)
        if one != other:
            raise InputError(
                f"{path} was made with --{name}={other} and {first_path} with --{name}={one}, say "
                "their manifests. Files used together must be alike; name files of one kind."
            )


def _as_flag(value):
    return str(value).lower()
