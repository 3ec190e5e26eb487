"""What a model directory tells of its training: the files of a run, read for its report."""

import dataclasses
import json
import os

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.records import manifest
from bert_tf.training.monitoring import history
from bert_tf.training.report import figures

_NUM_NAMES = 4  # files named one by one
_WORDS = {"lm": "LM", "mfu": "Model FLOP utilisation"}


@dataclasses.dataclass(frozen=True)
class Records:
    """Record files of one build.

    Attributes:
      use: str, what they are for, e.g. "Training".
      build: `manifest.Build`, or None: no manifest names them.
      entries: list of dicts with "name" and what the manifest says of each file.
      problem: str, why they cannot be described, or "".
    """

    use: str
    build: manifest.Build | None = None
    entries: list = dataclasses.field(default_factory=list)
    problem: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """What a model directory tells of its training.

    Attributes:
      config, metadata, flags, results: dicts of bert_config.json, model.json, flags.txt and
        eval_results.txt; empty where there is no such file.
      history: `history.History`.
      records: list of `Records`.
    """

    config: dict
    metadata: dict
    flags: dict
    results: dict
    history: history.History
    records: list


def read(directory):
    """Reads the files of a model directory, whichever there are.

    Args:
      directory: str.

    Returns:
      `Run`.

    Raises:
      InputError: there is neither `metrics.jsonl` nor `flags.txt`.
    """
    path = os.path.join(directory, history.NAME)
    found = history.read(path)
    flags = _pairs(os.path.join(directory, "flags.txt"), "=")
    if not found.lines and not flags:
        raise InputError(
            f"{directory} holds neither {history.NAME} nor flags.txt; the --output_dir of a "
            "training run was wanted."
        )
    flags = {name.removeprefix("--"): value for name, value in flags.items()}
    return Run(
        config=_json(os.path.join(directory, "bert_config.json")),
        metadata=_json(os.path.join(directory, "model.json")),
        flags=flags,
        results=_pairs(os.path.join(directory, "eval_results.txt"), " = "),
        history=found,
        records=[
            *_records("Training", flags.get("input_file")),
            *_records("Evaluation", flags.get("eval_input_file")),
        ],
    )


def _json(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _pairs(path, separator):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        parts = (line.rstrip("\n").partition(separator) for line in file)
        return {name: value for name, found, value in parts if found}


def _records(use, patterns):
    if not patterns:
        return []
    try:
        paths = files.expand(patterns, f"{use} records")
    except InputError:  # the report is still worth having
        return [Records(use, problem=f"{patterns} is no longer there.")]
    try:
        builds = manifest.find_all(paths)
    except InputError as error:
        return [Records(use, problem=str(error))]
    kinds = {}
    for path, build in zip(paths, builds, strict=True):
        # Two directories of one build hold different files of it.
        key = json.dumps(dataclasses.asdict(dataclasses.replace(build, files=[]))) if build else ""
        entry = build.file(os.path.basename(path)) if build else {"name": os.path.basename(path)}
        kinds.setdefault(key, (build, []))[1].append(entry)
    return [Records(use, build, entries) for build, entries in kinds.values()]


def describe(records):
    """What there is to know of record files, in the words of the report.

    Args:
      records: `Records`.

    Returns:
      dict from name to str.
    """
    if records.problem:
        return {"Not described": records.problem}
    rows = {"Files": _names([entry["name"] for entry in records.entries])}
    build = records.build
    if build is None:
        return rows | {"Manifest": "none beside them"}
    casing = "lower-cased" if build.do_lower_case else "cased"
    counts = {
        "Records in them": sum(entry["records"] for entry in records.entries),
        "Records of the build": build.examples.get("num_examples"),
        "Tokens of the build": build.examples.get("num_tokens"),
        "Predictions of the build": build.examples.get("num_predictions"),
        "Documents read": build.text.get("num_documents"),
        "Sentences read": build.text.get("num_sentences"),
        "Tokens read": build.text.get("num_tokens"),
    }
    rows |= {name: f"{count:,}" for name, count in counts.items() if count is not None}
    rows |= {
        f"Share: {words(name).lower()}": figures.number(share, is_share=True)
        for name, share in build.shares.items()
        if share is not None
    }
    rows |= {
        "Vocabulary": f"{build.vocabulary['size']:,} tokens, {casing}, "
        f"SHA-256 {build.vocabulary['sha256'][:16]}",
        "Made from": _names([each["name"] for each in build.inputs]),
        "Made by": f"bert_tf {build.code_version}",
    }
    return rows | {f"--{name}": str(value) for name, value in build.options.items()}


def _names(names):
    more = len(names) - _NUM_NAMES
    return ", ".join(names[:_NUM_NAMES]) + (f" and {more} more" if more > 0 else "")


def words(name):
    """A name in code as a name on paper: "masked_lm_loss" is "Masked LM loss"."""
    if name in _WORDS:
        return _WORDS[name]
    found = " ".join(_WORDS.get(word, word) for word in name.split("_"))
    return found[:1].upper() + found[1:]
