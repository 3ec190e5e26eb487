"""The model card of a version: what it answers, what it was trained on, how well, on which terms.

It is written twice into assets.extra of the version: for programs and for readers. The sections are
those of Mitchell et al. 2019, arXiv 1810.03993, as far as files tell them.
"""

import importlib.metadata
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

import bert_tf
from bert_tf import files, formatting
from bert_tf.errors import InputError
from bert_tf.training import inputs
from bert_tf.training.report import run_files
from export.kinds.module import Served

SignatureDefs = Mapping[str, meta_graph_pb2.SignatureDef]

CARD_FILE = os.path.join("assets.extra", "model_card.json")
_PAGE_FILE = os.path.join("assets.extra", "model_card.md")

_NOT_STATED = "not stated"
# Flags of the training that tell most of it; flags.txt of the model directory has all.
_FLAGS = (
    *("learning_rate", "train_batch_size", "num_train_epochs", "num_train_steps", "optimizer"),
    *("warmup_proportion", "weight_decay_rate", "random_seed", "dtype"),
)
_PACKAGES = ("tensorflow", "tensorflow-text", "keras")


def write(path: str, served: Served, license_name: str | None, signatures: SignatureDefs) -> None:
    """Writes the card into a version.

    Args:
      path: the version's directory.
      license_name: of the model, as an SPDX identifier; None: not stated.
      signatures: of its graph, by name.
    """
    card = describe(served, license_name, signatures)
    os.makedirs(os.path.join(path, os.path.dirname(CARD_FILE)), exist_ok=True)
    files.write_text(os.path.join(path, CARD_FILE), json.dumps(card, indent=2) + "\n")
    files.write_text(os.path.join(path, _PAGE_FILE), _page(card))


def describe(served: Served, license_name: str | None, signatures: SignatureDefs) -> dict[str, Any]:
    """The card; see `write`."""
    directory, metadata = served.directory, served.directory.metadata
    flags, scores = _run(directory.path)
    return {
        "kind": metadata.kind,
        "task": metadata.task,
        "labels": list(metadata.labels),
        "license": license_name or _NOT_STATED,
        "parameters": sum(int(np.prod(x.shape)) for x in served.in_python.variables),
        "max_seq_length": served.max_seq_length,
        "tokenizer": {
            "tokens": len(directory.vocabulary),
            "do_lower_case": metadata.do_lower_case,
            "vocabulary_sha256": directory.vocabulary.sha256,
        },
        "config": json.loads(directory.config.to_json()),
        "scores": scores,
        "training": {name: flags[name] for name in _FLAGS if flags.get(name)},
        "training_data_sha256": inputs.data_digest(directory.path),
        "signatures": {
            name: {"inputs": _tensors(each.inputs), "outputs": _tensors(each.outputs)}
            for name, each in sorted(signatures.items())
            if each.inputs
        },
        "made_by": {"bert_tf": bert_tf.__version__}
        | {name: importlib.metadata.version(name) for name in _PACKAGES},
    }


def _run(path: str) -> tuple[dict[str, str], dict[str, float]]:
    """Flags and scores of the training; empty if the model came from elsewhere."""
    try:
        run = run_files.read(path)
    except InputError:
        return {}, {}
    return run.flags, {name: float(value) for name, value in run.results.items()}


def _tensors(infos: Mapping[str, meta_graph_pb2.TensorInfo]) -> dict[str, str]:
    return {
        name: f"{tf.as_dtype(infos[name].dtype).name} "
        f"[{', '.join(str(dim.size) for dim in infos[name].tensor_shape.dim)}]"
        for name in sorted(infos)
    }


def _page(card: Mapping[str, Any]) -> str:
    """The card in Markdown."""
    scores = {name: formatting.number(value, 4) for name, value in card["scores"].items()}
    facts = {
        "Answers": f"{card['kind']} (task {card['task']})",
        "Labels": ", ".join(card["labels"]) or "none",
        "Licence": card["license"],
        "Parameters": f"{card['parameters']:,}",
        "Longest row": f"{card['max_seq_length']} tokens",
        "Vocabulary": f"{card['tokenizer']['tokens']:,} tokens, "
        + ("lower-cased" if card["tokenizer"]["do_lower_case"] else "cased"),
        "Training data": f"SHA-256 {card['training_data_sha256'] or 'unknown'}",
        "Made by": ", ".join(f"{name} {version}" for name, version in card["made_by"].items()),
    }
    sections = (
        ("Model", facts),
        ("Scores on the dev set", scores),
        ("Training", card["training"]),
        ("Architecture", card["config"]),
    )
    lines = ["# Model card", ""]
    for title, rows in sections:
        if rows:
            lines += [f"## {title}", "", "| | |", "|---|---|"]
            lines += [f"| {name} | {value} |" for name, value in rows.items()] + [""]
    lines += ["## Signatures", ""]
    for name, signature in card["signatures"].items():
        lines.append(f"- `{name}`")
        lines += [
            f"  - {way}: " + ", ".join(f"`{key}` {x}" for key, x in signature[way].items())
            for way in ("inputs", "outputs")
        ]
    return "\n".join(lines) + "\n"
