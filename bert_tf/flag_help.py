"""What --help prints: the flags of a program in groups, as wide as the terminal has it."""

import dataclasses
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from bert_tf.flagging import REQUIRED, as_text, flag_name, flag_types

_INDENT = " " * 6
_MIN_WIDTH, _MAX_WIDTH = 60, 100
_VALUES = {int: "NUMBER", float: "NUMBER", str: "TEXT", tuple[str, ...]: "TEXT"}
_LEGEND = (
    "A flag is shown with its default. (new): the scripts of google-research/bert have no such "
    "flag. --flagfile=FILE reads flags from a file. --helpfull lists the flags of all libraries."
)
_REQUIRED, _OTHER = "Required", "Other"


def page(
    head: str,
    options_class: type,
    groups: Mapping[str, Sequence[str]] | None = None,
    notes: str = "",
) -> str:
    """The text of a help page.

    Args:
      head: what the program does and how it is called.
      options_class: frozen dataclass of options.
      groups: from title to names of flags, in the order in which they are shown. Flags that are
        required come before them, and flags in none of them after.
      notes: text below the flags, shown as it is.
    """
    width = min(max(shutil.get_terminal_size().columns, _MIN_WIDTH), _MAX_WIDTH)
    kinds = flag_types(options_class)
    entries = {
        flag_name(field): _entry(field, kinds[field.name], width)
        for field in dataclasses.fields(options_class)
    }
    parts = [head.strip()]
    for title, names in _grouped(options_class, groups or {}).items():
        parts.append("\n".join([f"{title}:", *(entries[name] for name in names)]))
    return "\n\n".join([*parts, *filter(None, [notes.strip()]), textwrap.fill(_LEGEND, width)])


def _grouped(options_class: type, groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The flags of a class by title of their group, without empty groups."""
    fields = {flag_name(field): field for field in dataclasses.fields(options_class)}
    required = [name for name, field in fields.items() if field.default is REQUIRED]
    left = [name for name in fields if name not in required]
    found = {_REQUIRED: required}
    for title, names in groups.items():
        found[title] = [name for name in names if name in left]
        left = [name for name in left if name not in names]
    found[_OTHER if any(found.values()) else "Flags"] = left
    return {title: names for title, names in found.items() if names}


def _entry(field: dataclasses.Field, kind: type, width: int) -> str:
    """A flag with its default on one line, its help below."""
    text, choices = field.metadata["help"], field.metadata["choices"] or ()
    if not all(choice in text for choice in choices):
        text += f" One of: {', '.join(choices)}."
    lines = textwrap.wrap(
        text, width, initial_indent=_INDENT, subsequent_indent=_INDENT, break_on_hyphens=False
    )
    return "\n".join([f"  --{flag_name(field)}={_shown(field, kind)}", *lines])


def _shown(field: dataclasses.Field, kind: type) -> Any:
    """The default of a flag, or what to give where it has none."""
    if field.default is not REQUIRED and field.default is not None:
        return as_text(field.default) or '""'
    if field.metadata["is_path"]:
        return "PATH"
    return "NAME" if field.metadata["choices"] else _VALUES.get(kind, "true|false")
