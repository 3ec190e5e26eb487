"""What a conversion tells the user: what went where, how much, and what was left out."""

import os
import re

from bert_tf.checkpoints.formats import table
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


def write(checkpoint, report, contents, target, output, notes):
    """Prints the report of a conversion.

    Args:
      checkpoint: the source, `Checkpoint`.
      report: what was read from it, `Report`.
      contents: what was written, `Contents`.
      target: `formats.Format`.
      output: str, the directory.
      notes: list of str.
    """
    source = table.by_name(checkpoint.format)
    config = contents.config
    print(f"{checkpoint.path} ({source.title}) -> {output} ({target.title})")
    print(
        f"  kind {contents.kind}; {config.num_hidden_layers} layers of {config.hidden_size}, "
        f"{config.num_attention_heads} heads, {config.max_position_embeddings} positions"
    )
    if contents.labels:
        print(f"  labels: {', '.join(contents.labels)}")
    if contents.vocab_file:
        casing = "lower-cased" if contents.do_lower_case else "taken as it is"
        number = len(vocab.from_file(contents.vocab_file))
        print(f"  {number} tokens; text is {casing}")
    for line in _table(source, target, contents):
        print(f"  {line}")
    if report.skipped:
        print(f"  left out ({len(report.skipped)}): {_listed(report.skipped)}")
    if report.not_weights:
        number = len(report.not_weights)
        print(f"  no weights, left out ({number}): {_listed(report.not_weights)}")
    for note in notes:
        print(f"  Note: {note}")
    print("  files: " + ", ".join(_files(output)), flush=True)


def _table(source, target, contents):
    """Lines of how many arrays went from where to where, group by group."""
    rows = [("", f"{source.name}", f"{target.name}", "values", "MB")]
    sums = [0, 0, 0]
    for title, pattern in _GROUPS:
        paths = {path for path in contents.arrays if re.fullmatch(pattern, path)}
        if not paths:
            continue
        counts = [_num_names(row.names, contents, paths) for row in (source, target)]
        counts.append(sum(contents.arrays[path].size for path in paths))
        rows.append((title, *map(str, counts), f"{counts[2] * 4 / 1e6:.1f}"))
        sums = [a + b for a, b in zip(sums, counts, strict=True)]
    rows.append(("all", *map(str, sums), f"{sums[2] * 4 / 1e6:.1f}"))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows
    ]


def _num_names(names, contents, paths):
    """Arrays in a format that the variables `paths` of ours are."""
    return sum(len(row.names) for row in names.table(contents.config) if row.path in paths)


def _listed(names, most=6):
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _files(directory):
    """Each file with its size, sorted."""
    found = []
    for folder, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(folder, name)
            size = os.path.getsize(path)
            text = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size} B"
            found.append(f"{os.path.relpath(path, directory)} {text}")
    return sorted(found)
