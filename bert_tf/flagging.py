"""A dataclass field is an absl flag: name, type, default and help are written once."""

import dataclasses
import difflib
import math
import os
import re
import signal
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from absl import app, flags, logging

from bert_tf import files, flag_parsing
from bert_tf.errors import DiskFullError, InputError

REQUIRED = dataclasses.MISSING

_INTERRUPTED = 128 + signal.SIGINT  # the exit status that shells report for a signal

_HELP = ("-h", "-help", "--help", "--help=true", "-?", "--?")
_TRUTHS = ("true", "false", "t", "f", "yes", "no", "y", "n", "1", "0")
# A comma separates the paths of a list; a Windows drive has one letter and no "//".
_SCHEME = re.compile(r"(?:^|,)\s*(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://")


def option(
    default: Any,
    help: str,  # noqa: A002  absl's word
    choices: Sequence[str] | None = None,
    flag: str | None = None,
    renamed: str | None = None,
    renamed_note: str = "",
    is_path: bool = False,
) -> Any:
    """A dataclass field that `define` turns into a flag.

    Args:
      default: the flag's default, or `REQUIRED`.
      choices: the values that the flag may have; None: any of its type.
      flag: the flag's name where it cannot be the field's, such as `from`.
      renamed: the flag's name in version 0.1.0, which `run` refuses with the new one.
      renamed_note: what else changed, for that message.
      is_path: whether the value is a path of this machine, or several separated by commas.
    """
    metadata: dict[str, Any] = {"help": help, "choices": choices, "flag": flag}
    metadata |= {"renamed": renamed, "renamed_note": renamed_note, "is_path": is_path}
    return dataclasses.field(default=default, metadata=metadata)


def flag_name(field: dataclasses.Field) -> str:
    """The name of the flag that an option has."""
    return field.metadata["flag"] or field.name


def flag_types(options_class: type) -> dict[str, type]:
    """From the name of each field to the type of its flag's values."""
    hints = typing.get_type_hints(options_class)
    return {
        field.name: _base_type(hints[field.name]) for field in dataclasses.fields(options_class)
    }


def _base_type(hint: Any) -> type:
    """The type of a flag's values; `int | None` is an integer flag that may be left out."""
    if isinstance(hint, types.UnionType):
        (hint,) = [part for part in typing.get_args(hint) if part is not type(None)]
    return hint


def define(options_class: type, flag_values: flags.FlagValues = flags.FLAGS) -> None:
    """Declares one flag per field of a frozen dataclass of options.

    A script's main guard calls it, never an import: two scripts may share a flag's name.
    """
    kinds = flag_types(options_class)
    for field in dataclasses.fields(options_class):
        required = field.default is REQUIRED
        arguments: dict[str, Any] = {
            "name": flag_name(field),
            "default": None if required else field.default,
            "help": field.metadata["help"],
            "flag_values": flag_values,
            "required": required,
            "module_name": sys.argv[0],  # so that --helpfull lists these flags first
        }
        if field.metadata["choices"]:
            flags.DEFINE_enum(enum_values=list(field.metadata["choices"]), **arguments)
        else:
            _DEFINE[kinds[field.name]](**arguments)


_DEFINE: dict[type, Callable[..., Any]] = {
    str: flags.DEFINE_string,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    tuple[str, ...]: flags.DEFINE_multi_string,  # the flag is given once for each
    bool: flags.DEFINE_bool,
}


def read(
    options_class: type,
    flag_values: flags.FlagValues = flags.FLAGS,
    *,
    takes_remote_paths: bool = False,
) -> Any:
    """Builds the options from parsed flags; the class's own checks run here.

    Shells do not expand the ~ in --output_dir=~/runs, so it becomes the home directory here.

    Args:
      takes_remote_paths: whether paths may be on other file systems, such as gs://bucket/name.

    Raises:
      InputError: a value is refused; see `make`.
    """
    values = {}
    for field in dataclasses.fields(options_class):
        flag = flag_values[flag_name(field)]
        if field.default is REQUIRED or not flag.using_default_value:
            values[field.name] = tuple(flag.value) if isinstance(flag.value, list) else flag.value
    return make(options_class, values, takes_remote_paths=takes_remote_paths)


def make(
    options_class: type, values: Mapping[str, Any], *, takes_remote_paths: bool = False
) -> Any:
    """Builds the options from values by field name; those left out have their defaults.

    A class with a class method `filled_in` may add values to those that were given.

    Args:
      takes_remote_paths: see `read`.

    Raises:
      InputError: a path is not one of this machine, a number is not finite, or the class refuses
        a value.
    """
    values = {name: _at_home(value) for name, value in values.items()}
    if fill_in := getattr(options_class, "filled_in", None):
        values = fill_in(values)
    for field in dataclasses.fields(options_class):
        value = values.get(field.name)
        if isinstance(value, float) and not math.isfinite(value):
            raise InputError(f"--{flag_name(field)}={value} must be a finite number.")
        if field.metadata["is_path"] and not takes_remote_paths:
            _require_local(flag_name(field), value)
    return options_class(**values)


def _at_home(value: Any) -> Any:
    is_home = isinstance(value, str) and value.startswith("~/")
    return os.path.expanduser(value) if is_home else value


def _require_local(name: str, value: Any) -> None:
    """Refuses a path with a scheme, which would be taken for a folder of that name."""
    match = _SCHEME.search(value) if isinstance(value, str) else None
    if not match:
        return
    scheme = match["scheme"]
    ways_out = {
        "file": "Leave out file://.",
        "hf": "A model of Hugging Face is named owner/name, as in "
        "--init_checkpoint=google-bert/bert-base-cased.",
    }
    way_out = ways_out.get(
        scheme.lower(),
        "Copy the files to a local disk, or mount the bucket as a folder, and give that path.",
    )
    raise InputError(
        f"--{name}={value}: paths that start with {scheme}:// are not supported; a path on this "
        f"machine was wanted. {way_out}"
    )


def parse_value(options_class: type, name: str, text: str) -> bool | int | float | str:
    """The value that a text stands for as the value of a flag.

    Args:
      name: of a field.

    Raises:
      InputError: the text is not of the flag's type, or none of its choices.
    """
    (field,) = [each for each in dataclasses.fields(options_class) if each.name == name]
    try:
        return flag_parsing.parse(flag_types(options_class)[name], field.metadata["choices"], text)
    except ValueError as error:
        raise InputError(f"{name}={error}.") from None


def to_flagfile(options: Any) -> str:
    """The text of a flag file that gives these options through `--flagfile`."""
    return "".join(f"{line}\n" for line in _lines(options, dataclasses.fields(options)))


def _lines(options: Any, fields: Sequence[dataclasses.Field]) -> list[str]:
    values = [(flag_name(field), getattr(options, field.name)) for field in fields]
    return [f"--{name}={as_text(value)}" for name, value in values if value is not None]


def as_text(value: Any) -> str:
    """A flag's value as the command line has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def announce(options: Any, file: str | None = None) -> None:
    """Prints the options that differ from their defaults.

    Args:
      file: where all of them are written, or None.
    """
    fields = dataclasses.fields(options)
    changed = [field for field in fields if getattr(options, field.name) != field.default]
    where = f"; all of them are in {file}" if file else ""
    head = f"Options that differ from their defaults{where}:"
    print("\n  ".join([head, *_lines(options, changed)]), flush=True)


def run(
    main: Callable[..., None],
    options_class: type,
    *,
    help_page: Callable[[], str] | None = None,
    takes_arguments: bool = False,
    keeps_unknown: bool = False,
    takes_remote_paths: bool = False,
) -> None:
    """Parses the command line into `options_class` and calls `main(options)`.

    Wrong flags and an `InputError` are printed as one message without a traceback; the exit
    status is 2. The same goes for a full disk that `main` has not explained. Ctrl-C, where `main`
    does not save first, ends with "Interrupted." and the status 130.

    Args:
      options_class: frozen dataclass of options.
      help_page: gives what --help prints; None: the program's docstring and its flags.
      takes_arguments: whether `main` gets the list of arguments that are not flags as its second
        argument; otherwise there must be none.
      keeps_unknown: whether unknown flags are arguments too, in their order, followed by "--" and
        what comes after it; otherwise they are an error.
      takes_remote_paths: see `read`.
    """

    def with_options(arguments: list[str]) -> None:
        try:
            options = read(options_class, takes_remote_paths=takes_remote_paths)
            with files.disk_full_explained("a file or standard output", _what_to_do):
                if takes_arguments or keeps_unknown:
                    main(options, arguments[1:])
                elif len(arguments) > 1:
                    raise InputError(
                        f"Unexpected arguments: {arguments[1:]}; flags start with '--'."
                    )
                else:
                    main(options)
                sys.stdout.flush()
        except InputError as error:
            if isinstance(error, DiskFullError):
                _give_up_unwritten_output()
            _exit_with(str(error))
        except KeyboardInterrupt:  # where there is nothing to save, as while TensorFlow loads
            print("Interrupted.", file=sys.stderr)
            sys.exit(_INTERRUPTED)

    def parser(arguments: list[str]) -> list[str]:
        if set(_before_dashes(arguments[1:])) & set(_HELP):
            _print_to_the_end(help_page() if help_page else _help_page(options_class))
            sys.exit(0)
        return _parsed(options_class, arguments, keeps_unknown=keeps_unknown)

    logging.set_verbosity(logging.WARNING)  # TensorFlow reports the time of every save as INFO
    define(options_class)
    app.run(with_options, flags_parser=parser)


def _help_page(options_class: type) -> str:
    from bert_tf import flag_help  # it needs this module

    return flag_help.page(sys.modules["__main__"].__doc__ or "", options_class)


def _print_to_the_end(text: str) -> None:
    """Prints a text; a reader that wants no more of it, such as `head`, is no error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _give_up_unwritten_output()


def _what_to_do() -> str:
    return "Free some space and run the same command again."


def _give_up_unwritten_output() -> None:
    """Drops what standard output does not take: Python's exit would try to write it again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _exit_with(message: str) -> NoReturn:
    print(f"ERROR: {message}", file=sys.stderr)
    sys.exit(2)


def _before_dashes(arguments: list[str]) -> list[str]:
    """Arguments without "--" and what comes after it, which are never flags."""
    return arguments[: arguments.index("--") if "--" in arguments else None]


def _parsed(options_class: type, arguments: list[str], *, keeps_unknown: bool) -> list[str]:
    """Parses flags; returns the other arguments. Exits with a message if a flag is wrong."""
    try:
        given = flags.FLAGS.read_flags_from_files(arguments[1:], force_gnu=False)
        given = _before_dashes(given)
        _refuse_renamed(options_class, given)
        _refuse_value_after_switch(options_class, given)
        if keeps_unknown:
            flags.FLAGS.set_gnu_getopt(True)  # flags may follow the value of an unknown one
        return flags.FLAGS(arguments, known_only=keeps_unknown)
    except flags.UnrecognizedFlagError as error:
        _exit_with(_unknown(options_class, error.flagname))
    except flags.Error as error:
        _exit_with(_explained(options_class, str(error)))


def _refuse_renamed(options_class: type, arguments: Sequence[str]) -> None:
    """Exits with the new name of a flag given by its old one."""
    renamed = {
        field.metadata["renamed"]: (flag_name(field), field.metadata["renamed_note"])
        for field in dataclasses.fields(options_class)
        if field.metadata["renamed"]
    }
    for argument in arguments:
        name = argument.lstrip("-").split("=")[0]
        if argument.startswith("-") and name in renamed:
            new_name, note = renamed[name]
            _exit_with(f"--{name} is now --{new_name}" + (f"; {note}." if note else "."))


def _refuse_value_after_switch(options_class: type, arguments: Sequence[str]) -> None:
    """Exits where true or false follows a flag, as in `--do_train true`, and would not be read."""
    kinds = flag_types(options_class)
    fields = dataclasses.fields(options_class)
    switches = {flag_name(field) for field in fields if kinds[field.name] is bool}
    for argument, following in zip(arguments, arguments[1:], strict=False):
        name = argument.lstrip("-")
        if argument.startswith("-") and name in switches and following.lower() in _TRUTHS:
            _exit_with(
                f"{following!r} after --{name} is not read as its value, because --{name} alone "
                f"means true. Write --{name}={following}."
            )


def _unknown(options_class: type, name: str) -> str:
    names = [flag_name(field) for field in dataclasses.fields(options_class)]
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    hint = f" Did you mean --{nearest[0]}?" if nearest else ""
    return f"There is no flag --{name}.{hint} --help lists all flags."


def _explained(options_class: type, message: str) -> str:
    """What absl says of a wrong flag, with what was wanted."""
    fields = {flag_name(field): field for field in dataclasses.fields(options_class)}
    if "must have a value other than None" in message:
        required = [name for name, field in fields.items() if field.default is REQUIRED]
        missing = [f"--{name}" for name in required if flags.FLAGS[name].value is None]
        verb = "is" if len(missing) == 1 else "are"
        return f"{', '.join(missing)} {verb} required and not given. --help lists all flags."
    match = re.match(r"flag (?P<given>--(?P<name>\w+)=.*?): ", message)
    if not match or match["name"] not in fields:
        return message
    field = fields[match["name"]]
    wanted = flag_parsing.wanted(flag_types(options_class)[field.name], field.metadata["choices"])
    return f"{match['given']} is not {wanted}."
