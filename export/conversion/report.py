"""The printed report of a conversion: what went where, how much, and what was left out."""

import os
import re
from collections.abc import Collection, Sequence

from bert_tf.checkpoints.coverage import Report
from bert_tf.checkpoints.formats.base import Checkpoint, Format
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.text import vocab

# Groups of our variables, in the order of the report.
_GROUPS = (
    ("embeddings", r"encoder/embeddings/.*"),
    ("layers", r"encoder/layer_.*"),
    ("pooler", r"encoder/pooler/.*"),
    ("masked LM head", r"masked_lm/.*"),
    ("next sentence head", r"next_sentence/.*"),
    ("classifier", r"classifier/.*"),
    ("span head", r"span/.*"),
)


def write(
    checkpoint: Checkpoint,
    report: Report,
    state_dict: StateDict,
    target: Format,
    output: str,
    notes: Sequence[str],
) -> None:
    """Prints the report of a conversion.

    Args:
      checkpoint: the source.
      report: of what was read from it.
      state_dict: what was written.
      output: the directory.
    """
    source = checkpoint.format
    config = state_dict.config
    print(f"{checkpoint.path} ({source.title}) -> {output} ({target.title})")
    print(
        f"  kind {state_dict.kind}; {config.num_hidden_layers} layers of {config.hidden_size}, "
        f"{config.num_attention_heads} heads, {config.max_position_embeddings} positions"
    )
    if state_dict.labels:
        print(f"  labels: {', '.join(state_dict.labels)}")
    if state_dict.vocab_file:
        casing = "lower-cased" if state_dict.do_lower_case else "not lower-cased"
        number = len(vocab.from_file(state_dict.vocab_file))
        print(f"  {number} tokens; text is {casing}")
    for line in _table(source, target, state_dict):
        print(f"  {line}")
    if report.skipped:
        print(f"  left out ({len(report.skipped)}): {_listed(report.skipped)}")
    if report.not_weights:
        number = len(report.not_weights)
        print(f"  not weights, left out ({number}): {_listed(report.not_weights)}")
    for note in notes:
        print(f"  Note: {note}")
    print("  files: " + ", ".join(_files(output)), flush=True)


def _table(source: Format, target: Format, state_dict: StateDict) -> list[str]:
    """Lines of how many arrays went from where to where, group by group."""
    rows: list[tuple[str, ...]] = [("", source.name, target.name, "values", "MB")]
    sums = [0, 0, 0]
    for title, pattern in _GROUPS:
        paths = {path for path in state_dict.arrays if re.fullmatch(pattern, path)}
        if not paths:
            continue
        counts = [_num_names(each, state_dict, paths) for each in (source, target)]
        counts.append(sum(state_dict.arrays[path].size for path in paths))
        rows.append((title, *map(str, counts), f"{counts[2] * 4 / 1e6:.1f}"))
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
    rows.append(("all", *map(str, sums), f"{sums[2] * 4 / 1e6:.1f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]


def _num_names(file_format: Format, state_dict: StateDict, paths: Collection[str]) -> int:
    """Arrays in a format that our variables at `paths` are stored as."""
    return sum(len(row.names) for row in file_format.rows(state_dict.config) if row.path in paths)


def _listed(names: Sequence[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _files(directory: str) -> list[str]:
    """Each file with its size, sorted."""
    lines = []
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            size = os.path.getsize(path)
            text = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} B"
            lines.append(f"{os.path.relpath(path, directory)} {text}")
    return sorted(lines)
