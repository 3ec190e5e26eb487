"""A dataclass field is an absl flag: name, type, default and help are written once."""

import dataclasses
import os
import sys
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

from absl import app, flags, logging

from bert_tf import files
from bert_tf.errors import DiskFullError, InputError

REQUIRED = dataclasses.MISSING


def option(
    default: Any,
    help: str,  # noqa: A002  absl's word
    choices: Sequence[str] | None = None,
    flag: str | None = None,
    renamed: str | None = None,
    renamed_note: str = "",
) -> Any:
    """A dataclass field that `define` turns into a flag.

    Args:
      default: the flag's default, or `REQUIRED`.
      choices: the values that the flag may have; None: any of its type.
      flag: the flag's name where it cannot be the field's, such as `from`.
      renamed: the flag's name in version 0.1.0, which `run` refuses with the new one.
      renamed_note: what else changed, for that message.
    """
    metadata = {"help": help, "choices": choices, "flag": flag, "renamed": renamed}
    metadata["renamed_note"] = renamed_note
    return dataclasses.field(default=default, metadata=metadata)


def _flag_name(field: dataclasses.Field) -> str:
    return field.metadata["flag"] or field.name


def define(options_class: type, flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares one flag per field of a frozen dataclass of options.

    A script's main guard calls it, never an import: two scripts may share a flag's name.
    """
    hints = typing.get_type_hints(options_class)
    for field in dataclasses.fields(options_class):
        required = field.default is REQUIRED
        arguments: dict[str, Any] = {
            "name": _flag_name(field),
            "default": None if required else field.default,
            "help": field.metadata["help"],
            "flag_values": flag_values,
            "required": required,
            "module_name": sys.argv[0],  # so that --help lists the flags of the running script
        }
        if field.metadata["choices"]:
            flags.DEFINE_enum(enum_values=list(field.metadata["choices"]), **arguments)
        else:
            _DEFINE[_base_type(hints[field.name])](**arguments)


_DEFINE: dict[type, Callable[..., Any]] = {
    str: flags.DEFINE_string,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    bool: flags.DEFINE_bool,
}


def _base_type(hint: Any) -> type:
    """The type of a flag's values; `int | None` is an integer flag that may be left out."""
    if isinstance(hint, types.UnionType):
        (hint,) = [part for part in typing.get_args(hint) if part is not type(None)]
    return hint


def read(options_class: type, flag_values: flags.FlagValues = flags.FLAGS) -> Any:
    """Builds the options from parsed flags; the class's own checks run here.

    Shells do not expand the ~ in --output_dir=~/runs, so it becomes the home directory here.
    """
    fields = dataclasses.fields(options_class)
    values = {field.name: flag_values[_flag_name(field)].value for field in fields}
    return options_class(**{name: _at_home(value) for name, value in values.items()})


def _at_home(value: Any) -> Any:
    is_home = isinstance(value, str) and value.startswith("~/")
    return os.path.expanduser(value) if is_home else value


def to_flagfile(options: Any) -> str:
    """The text of a flag file that gives these options through `--flagfile`."""
    lines = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if isinstance(value, bool):
            value = str(value).lower()
        if value is not None:
            lines.append(f"--{_flag_name(field)}={value}")
    return "\n".join(lines) + "\n"


def announce(options: Any) -> None:
    """Prints the resolved options."""
    print("Options:\n  " + to_flagfile(options).strip().replace("\n", "\n  "), flush=True)


def run(
    main: Callable[..., None],
    options_class: type,
    takes_arguments: bool = False,
    keeps_unknown: bool = False,
) -> None:
    """Parses the command line into `options_class` and calls `main(options)`.

    An `InputError` is printed as one message without a traceback; the exit status is 2. The same
    goes for a full disk that `main` has not explained.

    Args:
      options_class: frozen dataclass of options.
      takes_arguments: whether `main` gets the list of arguments that are not flags as its second
        argument; otherwise there must be none.
      keeps_unknown: whether unknown flags are arguments too, in their order, followed by "--" and
        what comes after it; otherwise they are an error.
    """

    def with_options(arguments: list[str]) -> None:
        try:
            with files.disk_full_explained("a file or standard output", _what_to_do):
                if takes_arguments or keeps_unknown:
                    main(read(options_class), arguments[1:])
                elif len(arguments) > 1:
                    raise InputError(
                        f"Unexpected arguments: {arguments[1:]}; flags start with '--'."
                    )
                else:
                    main(read(options_class))
                sys.stdout.flush()
        except InputError as error:
            if isinstance(error, DiskFullError):
                _give_up_unwritten_output()
            print(f"ERROR: {error}", file=sys.stderr)
            sys.exit(2)

    logging.set_verbosity(logging.WARNING)  # TensorFlow reports the time of every save as INFO
    define(options_class)
    parse = _parse_known if keeps_unknown else app.parse_flags_with_usage

    def parser(arguments: list[str]) -> list[str]:
        _refuse_renamed(options_class, arguments)
        return parse(arguments)

    app.run(with_options, flags_parser=parser)


def _what_to_do() -> str:
    return "Free some space and run the same command again."


def _give_up_unwritten_output() -> None:
    """Drops what a full disk keeps standard output from taking: Python's exit would try again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _refuse_renamed(options_class: type, arguments: list[str]) -> None:
    """Exits with the new name of a flag given by its old one, also in a flag file."""
    renamed = {
        field.metadata["renamed"]: (_flag_name(field), field.metadata["renamed_note"])
        for field in dataclasses.fields(options_class)
        if field.metadata["renamed"]
    }
    try:
        arguments = flags.FLAGS.read_flags_from_files(arguments[1:], force_gnu=False)
    except flags.Error:
        return  # the parser reports what is wrong with the file
    for argument in arguments[: arguments.index("--") if "--" in arguments else None]:
        name = argument.lstrip("-").split("=")[0]
        if argument.startswith("-") and name in renamed:
            new_name, note = renamed[name]
            message = f"ERROR: --{name} is now --{new_name}" + (f"; {note}." if note else ".")
            print(message, file=sys.stderr)
            sys.exit(2)


def _parse_known(arguments: list[str]) -> list[str]:
    flags.FLAGS.set_gnu_getopt(True)  # flags may follow the value of an unknown one
    try:
        return flags.FLAGS(arguments, known_only=True)
    except flags.Error as error:
        print(f"FATAL Flags parsing error: {error}", file=sys.stderr)
        sys.exit(1)
