"""The shell commands of the documentation, and which command of ours each one starts."""

import dataclasses
import importlib
import pathlib
import re
import shlex
from typing import NamedTuple

from absl import flags

from bert_tf import flagging
from bert_tf.commands import COMMANDS
from tests.reference import snippets

# A command of ours in running text.
_IN_TEXT = re.compile(r"`((?:python|bert-tf) [^`]+)`")
# How a program of a checkout is started.
_START = re.compile(r"\bpython (?:-m [\w.]+|\w+\.py)")
_LEFT_OUT = "..."  # stands for flags that a page does not repeat
_OPERATORS = {"&", "&&", "|", "||", ";", ">", "("}


class Command(NamedTuple):
    """A call of one of our commands.

    Attributes:
      text: as the page has it.
      name: its row in `bert_tf.commands.COMMANDS`.
      arguments: what follows it.
      is_in_text: it stands in running text, where it need not be complete.
    """

    text: str
    name: str
    arguments: list[str]
    is_in_text: bool


def script(page):
    """All shell blocks of a page, as a reader pastes them."""
    return "".join(snippets.blocks(page, "sh"))


def starts(page):
    """How the shell blocks of a page start our commands in a checkout: a dict to their names."""
    return {start: name for start in _START.findall(script(page)) if (name := _name_of(start))}


def with_console_commands(text, kept=()):
    """A script that starts our commands as `bert-tf NAME`; names that are `kept` stay programs."""

    def console(found):
        name = _name_of(found[0])
        return f"bert-tf {name}" if name and name not in kept else found[0]

    return _START.sub(console, text)


def _name_of(start):
    return _ours(start.split())[0]


def commands(page):
    """Our commands in the shell blocks and in the running text of a page."""
    text = (snippets.PAGES / page).read_text(encoding="utf-8")
    lines = [(line, False) for line in script(page).replace("\\\n", " ").splitlines()]
    lines += [(line, True) for line in _IN_TEXT.findall(text)]
    for line, is_in_text in lines:
        yield from commands_of(line, is_in_text)


def commands_of(line, is_in_text=False):
    """Our commands in a line that is typed."""
    for words in _simple_commands(line):
        name, arguments = _ours(words)
        if name:
            yield Command(shlex.join(words), name, arguments, is_in_text)


def parse(command):
    """Parses the flags of a command of the documentation; where it has all of them, checks values.

    Raises:
      absl.flags.Error, InputError: a flag is unknown, or its value is refused.
    """
    row = COMMANDS[command.name]
    options_class, values = flags_of(command.name)
    given = [word for word in command.arguments if word != _LEFT_OUT]
    is_part = len(given) < len(command.arguments) or command.is_in_text
    if is_part:
        given += [f"--{name}=any" for name in _required(options_class) if not _named(name, given)]
    others = values([command.name, *given], known_only=row.keeps_unknown)[1:]
    assert row.arguments or not others, f"{command.text}: takes no {others}"
    if not is_part:
        flagging.read(options_class, values, takes_remote_paths=row.takes_remote_paths)


def flags_of(name):
    """The options class of a command, and the flags that it defines."""
    module, class_name = COMMANDS[name].options.split(":")
    options_class = getattr(importlib.import_module(module), class_name)
    values = flags.FlagValues()
    flagging.define(options_class, values)
    return options_class, values


def _required(options_class):
    fields = dataclasses.fields(options_class)
    return [flagging.flag_name(each) for each in fields if each.default is flagging.REQUIRED]


def _named(name, arguments):
    return any(word.startswith(f"--{name}=") for word in arguments)


def _simple_commands(line):
    """The commands of a line, without what the shell itself reads."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();&|>")
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word in _OPERATORS:
            yield words
            words = []
        else:
            words.append(word)
    yield words


def _ours(words):
    """The name and the arguments of one of our commands; two times None for another program."""
    if words[:1] == ["bert-tf"] and len(words) > 1 and words[1].islower():
        return words[1], words[2:]
    if words[:1] != ["python"] or len(words) < 2:
        return None, None
    is_module = words[1] == "-m" and len(words) > 2
    file = _file_of_module(words[2]) if is_module else snippets.PAGES / words[1]
    if not file.is_file():
        return None, None
    found = re.search(r"commands\.run\(\"(\w+)\"\)", file.read_text(encoding="utf-8"))
    return (found[1], words[3 if is_module else 2 :]) if found else (None, None)


def _file_of_module(name):
    path = pathlib.Path(snippets.PAGES, *name.split("."))
    return path / "__main__.py" if path.is_dir() else path.with_suffix(".py")
