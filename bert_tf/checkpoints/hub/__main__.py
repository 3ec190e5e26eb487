"""Models that have a name: a table of them, fetching, and checking what was fetched.

python -m bert_tf.checkpoints.hub                      # every name, and what is here
python -m bert_tf.checkpoints.hub bert-base-uncased    # fetches it and prints its directory
python -m bert_tf.checkpoints.hub --verify             # computes every sha256 again
"""

import dataclasses
from collections.abc import Sequence

from bert_tf import commands, flagging
from bert_tf.checkpoints.hub import cache, preset_table, presets


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Flags; arguments are names to fetch."""

    verify: bool = flagging.option(
        False, "Compute the sha256 of every file again, of the named models or of all in the cache."
    )


def main(options: Options, names: Sequence[str]) -> None:
    """Fetches, verifies or lists models; see the module."""
    if not names and not options.verify:
        print(table())
    directories = [presets.fetch(presets.named(name)) for name in names]
    for directory in directories or (cache.recorded() if options.verify else ()):
        if options.verify:
            cache.check(directory, fully=True)
        note = ": every file is as it arrived." if options.verify else ""
        print(f"{directory}{note}", flush=True)


def table() -> str:
    """The text of the table of all names, and of what else is in the cache."""
    others = set(cache.recorded())
    short = {name: alias for alias, name in preset_table.ALIASES.items()}
    rows = [("name", "weights", "casing", "here", "where")]
    for preset in preset_table.PRESETS.values():
        directory = presets.directory(preset)
        is_here = directory in others
        others.discard(directory)
        rows.append(
            (
                short.get(preset.name, preset.name),
                f"{(preset.num_bytes or 0) / 1e6:.0f} MB",
                "uncased" if preset.do_lower_case else "cased",
                "yes" if is_here else "",
                preset.address,
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return "\n".join([*lines, *sorted(others), "", f"Cache: {cache.root()} ({cache.ROOT})"])


if __name__ == "__main__":
    commands.run("presets")
