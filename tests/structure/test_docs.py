"""The commands and the code that the documentation prints, against the programs themselves.

Commands are parsed with the flags of the program, not run: most need a corpus or a cluster. Those
of the README and of docs/serving.md are run as well, by tests of theirs.
"""

import dataclasses
import doctest
import importlib
import re

import pytest
from absl import flags

from bert_tf import commands, flagging
from tests.reference import shell_blocks, snippets

PAGES = ["README.md", "CONTRIBUTING.md"]
PAGES += sorted(f"docs/{path.name}" for path in (snippets.PAGES / "docs").glob("*.md"))
# The test that runs the Python blocks of a page.
RUN_BY = {
    "README.md": "tests/end_to_end/test_readme.py",
    "docs/library.md": "tests/end_to_end/test_snippets.py",
    "docs/serving.md": "tests/export/test_savedmodel.py",
}
# Flags of other programs that a page names.
FOREIGN = {
    "CONTRIBUTING.md": {"numprocesses"},
    "docs/beam.md": {
        *("direct_num_workers", "environment_type", "extra_package", "flink_version"),
        *("number_of_worker_harness_threads", "requirements_file", "runner", "save_main_session"),
        "no",  # `--no` in front of the runner's flags
    },
}
LEFT_OUT = "..."  # stands for flags that a page does not repeat


def parse(command):
    """Parses the flags of a command of the documentation; where it has all of them, checks values.

    Raises:
      absl.flags.Error, InputError: a flag is unknown, or its value is refused.
    """
    row = commands.COMMANDS[command.name]
    options_class = commands._load(row.options)
    values = flags.FlagValues()
    flagging.define(options_class, values)
    given = [word for word in command.arguments if word != LEFT_OUT]
    is_part = len(given) < len(command.arguments) or command.is_in_text
    if is_part:
        given += [f"--{name}=any" for name in required(options_class) if not named(name, given)]
    others = values([command.name, *given], known_only=row.keeps_unknown)[1:]
    assert row.arguments or not others, f"{command.text}: takes no {others}"
    if not is_part:
        flagging.read(options_class, values, takes_remote_paths=row.takes_remote_paths)


def required(options_class):
    fields = dataclasses.fields(options_class)
    return [flagging.flag_name(each) for each in fields if each.default is flagging.REQUIRED]


def named(name, arguments):
    return any(word.startswith(f"--{name}=") for word in arguments)


@pytest.mark.parametrize("page", PAGES)
def test_the_flags_of_every_command_of_a_page_exist(page):
    for command in shell_blocks.commands(page):
        assert command.name in commands.COMMANDS, command.text
        if any(word.startswith("--") for word in command.arguments):
            parse(command)


def test_commands_are_found_in_blocks_and_in_text():
    names = [command.name for page in PAGES for command in shell_blocks.commands(page)]
    assert {"data", "beam", "pretrain", "classify", "squad", "export", "serve"} <= set(names)
    assert len(names) > 20


def test_a_renamed_flag_would_be_found():
    wrong = shell_blocks.Command(
        "a test", "classify", ["--output_dir=x", "--batch_pieces=2"], is_in_text=False
    )
    with pytest.raises(flags.UnrecognizedFlagError, match="batch_pieces"):
        parse(wrong)


def known_flags():
    for row in commands.COMMANDS.values():
        options_class = commands._load(row.options)
        values = flags.FlagValues()
        flagging.define(options_class, values)
        yield from values


@pytest.mark.parametrize("page", PAGES)
def test_the_flags_that_the_text_of_a_page_names_exist(page):
    text = (snippets.PAGES / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    found = set(re.findall(r"(?<=`)--(?:no)?([a-z]\w*)", text))
    assert found - {"help", "flagfile"} - set(known_flags()) - FOREIGN.get(page, set()) == set()


def test_a_test_runs_the_python_blocks_of_every_page():
    assert {page for page in PAGES if snippets.blocks(page)} == set(RUN_BY)
    for page, test in RUN_BY.items():
        name = page.rpartition("/")[2]
        assert name in (snippets.PAGES / test).read_text(encoding="utf-8")


def test_examples_in_docstrings_give_what_they_show():
    files = [path for path in (snippets.PAGES / "bert_tf").rglob("*.py")]
    with_examples = [path for path in files if ">>> " in path.read_text(encoding="utf-8")]
    assert with_examples
    for path in with_examples:
        name = ".".join(path.relative_to(snippets.PAGES).with_suffix("").parts)
        assert doctest.testmod(importlib.import_module(name)).failed == 0, name
