"""A field of options is a flag; what was parsed can be written down and parsed again."""

import dataclasses
import os
import re
import subprocess
import sys

import pytest
from absl import flags

from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.flagging import REQUIRED, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    data_dir: str = option(REQUIRED, "Where the data is.")
    name: str | None = option(None, "Name.")
    steps: int = option(7, "Steps.")
    limit: int | None = option(None, "Limit.")
    rate: float = option(0.5, "Rate.")
    lower: bool = option(True, "Lower-case.")
    whole: bool = option(False, "Whole words.")
    kind: str = option("one", "Kind.", choices=("one", "two"))

    def __post_init__(self):
        if self.steps < 1:
            raise InputError(f"--steps={self.steps} must be above 0.")


def parse(*arguments):
    flag_values = flags.FlagValues()
    flagging.define(Options, flag_values)
    flag_values(["program", *arguments])
    return flagging.read(Options, flag_values)


def test_defaults_are_those_of_the_fields():
    assert parse("--data_dir=d") == Options(data_dir="d")


def test_every_type():
    options = parse(
        *["--data_dir=d", "--name=n", "--steps=11", "--limit", "13", "--rate=2e-5"],
        *["--nolower", "--whole", "--kind=two"],
    )
    assert options == Options(
        data_dir="d",
        name="n",
        steps=11,
        limit=13,
        rate=2e-5,
        lower=False,
        whole=True,
        kind="two",
    )
    assert [type(value) for value in dataclasses.asdict(options).values()] == [
        *[str, str, int, int, float, bool, bool, str]
    ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Filled(Options):
    """Options of which some follow from others unless they are given."""

    @classmethod
    def filled_in(cls, given):
        return {"steps": 3, **given} if given.get("name") == "short" else dict(given)


@pytest.mark.parametrize(
    ("arguments", "steps"),
    [((), 7), (("--name=short",), 3), (("--name=short", "--steps=7"), 7), (("--steps=5",), 5)],
)
def test_a_class_may_fill_in_what_is_not_given(arguments, steps):
    flag_values = flags.FlagValues()
    flagging.define(Filled, flag_values)
    flag_values(["program", "--data_dir=d", *arguments])
    assert flagging.read(Filled, flag_values).steps == steps
    given = dict(argument.lstrip("-").split("=") for argument in arguments)
    given |= {"steps": int(given["steps"])} if "steps" in given else {}
    assert flagging.make(Filled, {"data_dir": "d"} | given).steps == steps


@pytest.mark.parametrize("text", ["true", "True", "1"])
def test_ways_to_say_true(text):
    assert parse("--data_dir=d", "--nolower", f"--lower={text}").lower is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Flag --data_dir must have a value other than None"),
        (["--data_dir=d", "--steps=many"], "flag --steps=many"),
        (["--data_dir=d", "--limit=1.5"], "flag --limit=1.5"),
        (["--data_dir=d", "--lower=maybe"], "flag --lower=maybe"),
        (["--data_dir=d", "--kind=three"], "flag --kind=three: value should be one of <one|two>"),
        (["--data_dir=d", "--step=3"], "Unknown command line flag 'step'. Did you mean: steps"),
    ],
)
def test_wrong_flags(arguments, message):
    with pytest.raises(flags.Error) as caught:
        parse(*arguments)
    assert message in str(caught.value)


def test_the_checks_of_the_options_run():
    with pytest.raises(InputError, match="--steps=0 must be above 0"):
        parse("--data_dir=d", "--steps=0")


def test_a_flagfile_gives_the_same_options_again(tmp_path):
    before = Options(
        data_dir="a=b, c", name="", steps=11, rate=2e-5, lower=False, whole=True, kind="two"
    )
    path = tmp_path / "flags.txt"
    path.write_text(flagging.to_flagfile(before))
    assert parse(f"--flagfile={path}") == before
    assert parse(f"--flagfile={path}", "--steps=13") == dataclasses.replace(before, steps=13)


def test_announce_prints_what_differs_from_the_defaults(capsys):
    options = Options(data_dir="d", steps=11, lower=False, kind="one")
    flagging.announce(options, "out/flags.txt")
    assert capsys.readouterr().out == (
        "Options that differ from their defaults; all of them are in out/flags.txt:\n"
        "  --data_dir=d\n"
        "  --steps=11\n"
        "  --lower=false\n"
    )
    flagging.announce(Options(data_dir="d"))
    first, _ = capsys.readouterr().out.splitlines()
    assert first == "Options that differ from their defaults:"


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_a_number_that_is_not_finite_is_refused(value):
    with pytest.raises(InputError, match=f"--rate={value} must be a finite number"):
        parse("--data_dir=d", f"--rate={value}")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Paths:
    source: str = option("here", "Where from.", flag="from", is_path=True)
    text: str = option("", "Any text.")


@pytest.mark.parametrize(
    ("path", "way_out"),
    [
        ("gs://bucket/x", "paths that start with gs:// are not supported; .*mount the bucket"),
        ("a.txt, s3://b/c", "start with s3:// are not"),
        ("a.txt,HTTPS://b/c", "start with HTTPS:// are not"),
        ("file:///data", "Leave out file://"),
        ("hf://google-bert/bert-base-cased", "is named owner/name"),
    ],
)
def test_a_path_of_another_file_system_is_refused_by_the_name_of_its_flag(path, way_out):
    with pytest.raises(InputError, match=re.escape(f"--from={path}: ") + f".*{way_out}"):
        flagging.make(Paths, {"source": path})


@pytest.mark.parametrize(
    "path", ["/a/b", "./gs:/b", "a:b", "C:/d", "a//b", "~/x", "", "owner/name"]
)
def test_other_paths_pass(path):
    flagging.make(Paths, {"source": path})


def test_other_file_systems_pass_where_they_are_supported_and_in_other_text():
    made = flagging.make(Paths, {"source": "gs://b/c"}, takes_remote_paths=True)
    assert made.source == "gs://b/c"
    assert flagging.make(Paths, {"text": "gs://b/c"}).text == "gs://b/c"


SCRIPT = '''"""Sums up its steps.  --help lists every flag."""
import dataclasses

from absl import logging

from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.flagging import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    steps: int = option(7, "How many steps.", renamed="moves")
    fast: bool = option(False, "Whether to hurry.")
    way: str = option("up", "Where to.", choices=("up", "down"))

    def __post_init__(self):
        if self.steps < 1:
            raise InputError("--steps must be above 0.")


def main(options, *arguments):
    if options.steps == 13:
        raise InputError("13 is not to be had.")
    if options.steps == 17:
        raise KeyboardInterrupt
    logging.info("a detail")
    print("ran", options.steps, *arguments)


if __name__ == "__main__":
    flagging.run(main, Options, **{keywords})
'''


@pytest.fixture
def script(tmp_path):
    """Runs a script that calls `flagging.run`; returns (status, output, errors)."""

    def run(*arguments, stdout=subprocess.PIPE, **keywords):
        path = tmp_path / "script.py"
        path.write_text(SCRIPT.format(keywords=keywords))
        root = os.path.dirname(os.path.dirname(flagging.__file__))
        done = subprocess.run(
            [sys.executable, path, *arguments],
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": root},
        )
        return done.returncode, done.stdout, done.stderr

    return run


def test_run(script):
    assert script("--steps=11") == (0, "ran 11\n", "")


def test_details_are_logged_to_those_who_ask(script):
    status, _, errors = script("--verbosity=0")
    assert (status, "a detail" in errors) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps=13"], "ERROR: 13 is not to be had.\n"),
        (["--steps=0"], "ERROR: --steps must be above 0.\n"),
        (["steps=3"], "ERROR: Unexpected arguments: ['steps=3']; flags start with '--'.\n"),
    ],
)
def test_run_shows_wrong_input_as_one_line(script, arguments, message):
    assert script(*arguments) == (2, "", message)


def test_ctrl_c_is_one_line(script):
    assert script("--steps=17") == (130, "", "Interrupted.\n")


def test_a_full_disk_behind_standard_output_is_one_message(script):
    with open("/dev/full", "w") as full:
        status, _, errors = script("--steps=11", stdout=full)
    assert (status, errors) == (
        2,
        "ERROR: The disk is full (a file or standard output). Free some space and run the same "
        "command again.\n",
    )


def test_run_with_arguments_that_are_no_flags(script):
    assert script("a", "--steps=2", "b", takes_arguments=True) == (0, "ran 2 ['a', 'b']\n", "")


def test_run_keeps_unknown_flags_in_their_order(script):
    given = ["--runner=here", "--more", "3", "--steps=2", "--", "--steps=5", "-x"]
    kept = ["--runner=here", "--more", "3", "--", "--steps=5", "-x"]
    assert script(*given, keeps_unknown=True) == (0, f"ran 2 {kept}\n", "")
    status, output, errors = script("--steps=two", keeps_unknown=True)
    assert (status, output) == (2, "")
    assert errors == "ERROR: --steps=two is not a whole number.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--step=3"], "There is no flag --step. Did you mean --steps? --help lists all flags."),
        (["--xyzzy"], "There is no flag --xyzzy. --help lists all flags."),
        (["--steps=two"], "--steps=two is not a whole number."),
        (["--fast=maybe"], "--fast=maybe is not true or false."),
        (["--way=left"], "--way=left is not one of up, down."),
        (
            ["--fast", "true"],
            "'true' after --fast is not read as its value, because --fast alone means true. Write "
            "--fast=true.",
        ),
        (["--nofast", "--steps=-"], "--steps=- is not a whole number."),
    ],
)
def test_run_says_which_flag_is_wrong_and_what_to_write(script, arguments, message):
    assert script(*arguments) == (2, "", f"ERROR: {message}\n")


def test_help_is_printed_with_status_0(script):
    status, output, errors = script("--steps=two", "--help")
    assert (status, errors) == (0, "")
    assert output.startswith("Sums up its steps.  --help lists every flag.\n\nFlags:\n")
    assert "  --steps=7\n      How many steps.\n" in output
    assert script("--", "--help", takes_arguments=True)[1] == "ran 7 ['--help']\n"


def test_help_may_be_read_in_part(script):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as closed:
        assert script("--help", stdout=closed)[::2] == (0, "")


def test_helpfull_lists_the_flags_of_libraries_too(script):
    _, output, errors = script("--helpfull")
    assert "--steps: How many steps." in output and "absl.logging:" in output and errors == ""


def test_run_refuses_an_old_name_and_says_the_new_one(script, tmp_path):
    message = "ERROR: --moves is now --steps.\n"
    assert script("--moves=3") == (2, "", message)
    (tmp_path / "flags.txt").write_text("--moves=3\n")
    assert script(f"--flagfile={tmp_path / 'flags.txt'}") == (2, "", message)
    assert script("--", "--moves=3", takes_arguments=True)[0] == 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Renamed:
    source: str = option(REQUIRED, "Where from.", flag="from")


def test_a_flag_may_have_a_name_that_no_field_can_have():
    values = flags.FlagValues()
    flagging.define(Renamed, values)
    values(["script", "--from=here"])
    options = flagging.read(Renamed, values)
    assert options == Renamed(source="here")
    assert flagging.to_flagfile(options) == "--from=here\n"


def test_a_tilde_that_the_shell_leaves_is_the_home_directory(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    options = parse("--data_dir=~/data", "--name=~")
    assert (options.data_dir, options.name) == ("/somewhere/data", "~")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("steps", "3", 3), ("limit", "3", 3), ("rate", "2e-5", 2e-5), ("lower", "false", False)]
    + [("name", "a b", "a b"), ("kind", "two", "two")],
)
def test_a_text_becomes_the_value_of_a_flag(name, text, value):
    found = flagging.parse_value(Options, name, text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [("steps", "2.5", "a whole number"), ("rate", "inf", "a number"), ("kind", "six", "one, two")],
)
def test_a_text_that_is_no_value_of_a_flag(name, text, wanted):
    with pytest.raises(InputError, match=f"{name}={text} is not .*{wanted}"):
        flagging.parse_value(Options, name, text)
