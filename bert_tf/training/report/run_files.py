"""The files that a run leaves in its model directory, read for its report."""

import dataclasses
import json
import os
from typing import Any

from bert_tf import files
from bert_tf.errors import InputError
from bert_tf.records import manifest
from bert_tf.training.monitoring import evaluation_file, history
from bert_tf.training.report.rendering import number, words

_NUM_NAMES = 4  # files named one by one


@dataclasses.dataclass(frozen=True)
class Records:
    """Record files of one build.

    Attributes:
      use: what they are for, e.g. "Training".
      build: None: no manifest names them.
      entries: dicts with "name" and what the manifest says of each file.
      problem: why they cannot be described, or "".
    """

    use: str
    build: manifest.Build | None = None
    entries: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    problem: str = ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """The files of a run.

    Attributes:
      config, metadata, flags, results: what bert_config.json, model.json, flags.txt and
        eval_results.txt hold; empty where there is no such file.
      evaluation: see `evaluation_file`; empty as well.
    """

    config: dict[str, Any]
    metadata: dict[str, Any]
    flags: dict[str, str]
    results: dict[str, str]
    history: history.History
    records: list[Records]
    evaluation: dict[str, Any] = dataclasses.field(default_factory=dict)


def read(directory: str) -> Run:
    """Reads the files of a model directory, whichever there are.

    Raises:
      InputError: there is neither `metrics.jsonl` nor `flags.txt`.
    """
    lines = history.read(os.path.join(directory, history.NAME))
    flags = _pairs(os.path.join(directory, "flags.txt"), "=")
    if not lines.lines and not flags:
        raise InputError(
            f"{directory} holds neither {history.NAME} nor flags.txt; name the --output_dir of a "
            "training run."
        )
    flags = {name.removeprefix("--"): value for name, value in flags.items()}
    return Run(
        config=_json(os.path.join(directory, "bert_config.json")),
        metadata=_json(os.path.join(directory, "model.json")),
        flags=flags,
        results=_pairs(os.path.join(directory, "eval_results.txt"), " = "),
        history=lines,
        records=[
            *_records("Training", flags.get("input_file")),
            *_records("Evaluation", flags.get("eval_input_file")),
        ],
        evaluation=evaluation_file.read(directory),
    )


def _json(path: str) -> dict[str, Any]:
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _pairs(path: str, separator: str) -> dict[str, str]:
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        parts = (line.rstrip("\n").partition(separator) for line in file)
        return {name: value for name, separator, value in parts if separator}


def _records(use: str, patterns: str | None) -> list[Records]:
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
    groups: dict[str, tuple[manifest.Build | None, list[dict[str, Any]]]] = {}
    for path, build in zip(paths, builds, strict=True):
        # Two directories of one build hold different files of it.
        key = json.dumps(dataclasses.asdict(dataclasses.replace(build, files=[]))) if build else ""
        name = os.path.basename(path)
        entry = (build and build.file(name)) or {"name": name}
        groups.setdefault(key, (build, []))[1].append(entry)
    return [Records(use, build, entries) for build, entries in groups.values()]


def describe(records: Records) -> dict[str, str]:
    """What is known of record files: a value for each name of the report."""
    if records.problem:
        return {"Not described": records.problem}
    rows = {"Files": _names([entry["name"] for entry in records.entries])}
    build = records.build
    if build is None:
        return rows | {"Manifest": "none next to them"}
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
        f"Share: {words(name).lower()}": number(share, is_share=True)
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


def _names(names: list[str]) -> str:
    more = len(names) - _NUM_NAMES
    return ", ".join(names[:_NUM_NAMES]) + (f" and {more} more" if more > 0 else "")
