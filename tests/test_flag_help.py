"""The help page: groups in order, required flags first, every line as wide as the terminal."""

import dataclasses

import pytest

from bert_tf import commands, flag_help
from bert_tf.flagging import REQUIRED, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    late: int = option(7, "Shown in its group.")
    name: str | None = option(None, "A name.")
    count: int | None = option(None, "A number.")
    place: str = option(REQUIRED, "Where it is. " * 11, is_path=True)
    way: str | None = option(None, "Where to.", choices=("up", "down"))
    fast: bool = option(False, "Whether to hurry.")
    casing: bool | None = option(None, "Casing.")
    side: str = option("east", "east: sunrise. west: sunset.", choices=("east", "west"))
    spare: float = option(2e-5, "In no group.")


GROUPS = {"First": ("fast", "way", "place", "elsewhere"), "None": ("missing",), "Then": ("late",)}


def test_groups_come_in_their_order_after_what_is_required():
    text = flag_help.page("What it does.\n", Options, GROUPS, notes="Notes:\n  below\n")
    parts = text.split("\n\n")
    assert parts[0] == "What it does."
    titles = [part.splitlines()[0] for part in parts[1:-1]]
    assert titles == ["Required:", "First:", "Then:", "Other:", "Notes:"]
    flags = [line.strip() for line in text.splitlines() if line.startswith("  --")]
    assert flags == [
        *("--place=PATH", "--fast=false", "--way=NAME", "--late=7", "--name=TEXT"),
        *("--count=NUMBER", "--casing=true|false", "--side=east"),
        "--spare=2e-05",
    ]
    assert "      Where to. One of: up, down.\n" in text
    assert "      east: sunrise. west: sunset.\n" in text


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("20", 60), ("300", 100)])
def test_lines_are_as_wide_as_the_terminal_within_reason(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    lines = flag_help.page("", Options).splitlines()
    assert width - 14 < max(map(len, lines)) <= width


def test_the_help_of_the_classifier_fits_80_columns_and_lists_the_tasks(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = commands.help_page("classify")
    assert max(map(len, text.splitlines())) <= 80
    assert "  mrpc            Do the two sentences say the same?" in text
    assert text.index("--task_name") < text.index("--learning_rate") < text.index("--use_tpu")
