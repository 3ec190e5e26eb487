"""A dataclass field is an absl flag: name, type, default and help are said once."""

import dataclasses
import os
import sys
import types
import typing

from absl import app, flags, logging

from bert_tf.errors import InputError

REQUIRED = dataclasses.MISSING


def option(default, help, choices=None, flag=None, renamed=None):  # noqa: A002  absl's word
    """A dataclass field that `define` turns into a flag; `REQUIRED` as default makes it so.

    Args:
      default: the flag's default, or `REQUIRED`.
      help: str.
      choices: the values that the flag may have, if they are few.
      flag: the flag's name where it cannot be the field's, as `from` cannot.
      renamed: the flag's name in version 0.1.0, which `run` refuses with the new one.
    """
    metadata = {"help": help, "choices": choices, "flag": flag, "renamed": renamed}
    return dataclasses.field(default=default, metadata=metadata)


def _flag_name(field):
    return field.metadata["flag"] or field.name


def define(options_class, flag_values=flags.FLAGS):
    """Declares one flag per field of a frozen dataclass of options.

    Called by a script's main guard, never on import: two scripts may share a flag's name.
    """
    hints = typing.get_type_hints(options_class)
    for field in dataclasses.fields(options_class):
        required = field.default is REQUIRED
        arguments = {
            "name": _flag_name(field),
            "default": None if required else field.default,
            "help": field.metadata["help"],
            "flag_values": flag_values,
            "required": required,
            "module_name": sys.argv[0],  # --help lists the flags of the script that runs
        }
        if field.metadata["choices"]:
            flags.DEFINE_enum(enum_values=list(field.metadata["choices"]), **arguments)
        else:
            _DEFINE[_base_type(hints[field.name])](**arguments)


_DEFINE = {
    str: flags.DEFINE_string,
    int: flags.DEFINE_integer,
    float: flags.DEFINE_float,
    bool: flags.DEFINE_bool,
}


def _base_type(hint):
    """`int | None` declares an integer flag that may be left out."""
    if isinstance(hint, types.UnionType):
        (hint,) = [part for part in typing.get_args(hint) if part is not type(None)]
    return hint


def read(options_class, flag_values=flags.FLAGS):
    """Builds the options from parsed flags; the class's own checks run here.

    Shells leave the ~ in --output_dir=~/runs as it is, so it becomes the home directory here.
    """
    fields = dataclasses.fields(options_class)
    values = {field.name: flag_values[_flag_name(field)].value for field in fields}
    return options_class(**{name: _at_home(value) for name, value in values.items()})


def _at_home(value):
    is_home = isinstance(value, str) and value.startswith("~/")
    return os.path.expanduser(value) if is_home else value


def to_flagfile(options):
    """The text of a flag file that gives these options again through `--flagfile`."""
    lines = []
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if isinstance(value, bool):
            value = str(value).lower()
        if value is not None:
            lines.append(f"--{_flag_name(field)}={value}")
    return "\n".join(lines) + "\n"


def announce(options):
    """Prints the resolved options."""
    print("Options:\n  " + to_flagfile(options).strip().replace("\n", "\n  "), flush=True)


def run(main, options_class, takes_arguments=False, keeps_unknown=False):
    """Parses the command line into `options_class` and calls `main(options)`.

    An `InputError` is printed as one message without a traceback; the exit status is 2.

    Args:
      main: callable; with `takes_arguments` it is given the list of arguments that are no flags
        as its second argument, otherwise there must be none.
      options_class: frozen dataclass of options.
      takes_arguments: bool.
      keeps_unknown: bool, flags that `options_class` does not have are arguments too, in their
        order, and so is what follows "--", with it; otherwise they are an error.
    """

    def with_options(arguments):
        try:
            if takes_arguments or keeps_unknown:
                main(read(options_class), arguments[1:])
            elif len(arguments) > 1:
                raise InputError(f"Unexpected arguments: {arguments[1:]}; flags start with '--'.")
            else:
                main(read(options_class))
        except InputError as error:
            print(f"ERROR: {error}", file=sys.stderr)
            sys.exit(2)

    logging.set_verbosity(logging.WARNING)  # unless told: TensorFlow says how long each save took
    define(options_class)
    parse = _parse_known if keeps_unknown else app.parse_flags_with_usage

    def parser(arguments):
        _refuse_renamed(options_class, arguments)
        return parse(arguments)

    app.run(with_options, flags_parser=parser)


def _refuse_renamed(options_class, arguments):
    """Ends with the new name of a flag that is given by an old one, also in a flag file."""
    renamed = {
        field.metadata["renamed"]: _flag_name(field)
        for field in dataclasses.fields(options_class)
        if field.metadata["renamed"]
    }
    try:
        arguments = flags.FLAGS.read_flags_from_files(arguments[1:], force_gnu=False)
    except flags.Error:
        return  # the parser says what is wrong with the file
    for argument in arguments[: arguments.index("--") if "--" in arguments else None]:
        name = argument.lstrip("-").split("=")[0]
        if argument.startswith("-") and name in renamed:
            print(f"ERROR: --{name} is now --{renamed[name]}.", file=sys.stderr)
            sys.exit(2)


def _parse_known(arguments):
    flags.FLAGS.set_gnu_getopt(True)  # flags go on behind the value of an unknown one
    try:
        return flags.FLAGS(arguments, known_only=True)
    except flags.Error as error:
        print(f"FATAL Flags parsing error: {error}", file=sys.stderr)
        sys.exit(1)
