"""A field of options is a flag; what was parsed can be written down and parsed again."""

import dataclasses
import os
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


def test_announce_prints_the_options(capsys):
    flagging.announce(Options(data_dir="d", steps=11))
    shown = capsys.readouterr().out
    assert "  --data_dir=d\n" in shown and "  --steps=11\n" in shown and "--limit" not in shown


SCRIPT = '''"""Sums up its steps.  --help lists every flag."""
import dataclasses

from absl import logging

from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.flagging import option


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    steps: int = option(7, "How many steps.", renamed="moves")

    def __post_init__(self):
        if self.steps < 1:
            raise InputError("--steps must be above 0.")


def main(options, *arguments):
    if options.steps == 13:
        raise InputError("13 is not to be had.")
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
    assert status != 0 and "ran" not in output
    assert "--steps=two" in errors and "Traceback" not in errors


def test_run_says_which_flag_is_wrong(script):
    status, output, errors = script("--step=3")
    assert status != 0 and "ran" not in output
    assert "Unknown command line flag 'step'" in errors and "Traceback" not in errors


def test_help_shows_what_the_script_is_for_and_its_flags(script):
    _, output, errors = script("--help")
    assert "Sums up its steps." in output + errors
    assert "--steps: How many steps." in output + errors


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
