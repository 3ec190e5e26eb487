"""The list of commands, their help, and that each row of the table leads somewhere."""

import ast
import dataclasses
import importlib
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

import bert_tf
from bert_tf import commands, flagging, options
from bert_tf.errors import InputError

ROOT = pathlib.Path(__file__).parents[1]
SCRIPTS = {
    "data": "create_pretraining_data.py",
    "pretrain": "run_pretraining.py",
    "classify": "run_classifier.py",
    "squad": "run_squad.py",
    "features": "extract_features.py",
}
# Runs `bert-tf`, then prints which of the slow libraries it has loaded, and its CPU seconds.
PROGRAM = """
import sys, time
from bert_tf import commands
try:
    commands.main()
except SystemExit as stop:
    print("status", stop.code)
print("loaded", sorted({"tensorflow", "keras", "scipy"} & set(sys.modules)))
print(time.process_time())
"""


def bert_tf_command(*arguments):
    """Lines that `bert-tf` prints, what it has loaded, and its CPU seconds."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    *lines, loaded, seconds = (done.stderr + done.stdout).splitlines()
    return lines, loaded, float(seconds)


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",)])
def test_bert_tf_alone_lists_all_commands_at_once(arguments):
    lines, loaded, seconds = bert_tf_command(*arguments)
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    assert listed == list(commands.COMMANDS)
    assert loaded == "loaded []" and seconds < 0.5


def test_the_version():
    assert bert_tf_command("--version")[0] == [bert_tf.__version__]


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_the_help_of_a_command_has_its_summary_and_flags_and_loads_nothing_slow(name):
    lines, loaded, _ = bert_tf_command(name, "--help")
    command = commands.COMMANDS[name]
    assert lines[:3] == [command.summary, "", f"Usage: {usage(name, command)}"]
    options = target(command.options)
    flags = [field.metadata["flag"] or field.name for field in dataclasses.fields(options)]
    shown = " ".join(lines)
    assert [flag for flag in flags if f" --{flag}=" not in shown] == []
    assert "status 0" in lines and loaded == "loaded []"


def usage(name, command):
    return " ".join(filter(None, ["bert-tf", name, "[FLAGS]", command.arguments]))


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [("clasify", "Did you mean classify? "), ("xxxxxx", ""), ("--vocab", "Did you mean vocab? ")],
)
def test_an_unknown_command_is_refused_and_the_nearest_one_named(wrong, hint):
    lines, loaded, _ = bert_tf_command(wrong, "--help")
    message = f"bert-tf has no command {wrong}. {hint}bert-tf --help lists all commands."
    assert lines == [f"ERROR: {message}", "status 2"]
    assert loaded == "loaded []"


def test_a_wrong_flag_of_a_command_names_the_near_one():
    lines, loaded, _ = bert_tf_command("classify", "--max_seq_lenght=7")
    assert any("Did you mean --max_seq_length?" in line for line in lines)
    assert "status 2" in lines and loaded == "loaded []"


def target(text):
    module, name = text.split(":")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("name", commands.COMMANDS)
def test_each_row_leads_to_options_and_a_function_of_them(name):
    command = commands.COMMANDS[name]
    assert dataclasses.is_dataclass(target(command.options))
    parameters = inspect.signature(target(command.function)).parameters
    assert len(parameters) == (2 if command.arguments else 1)
    assert command.arguments or not command.keeps_unknown


def entries():
    """Files with a main guard that runs a command, each with the command's name."""
    paths = [
        *ROOT.glob("*.py"),
        *(p for top in ("bert_tf", "export", "serving") for p in (ROOT / top).rglob("*.py")),
    ]
    for path in paths:
        guard = ast.parse(path.read_text()).body[-1]
        if isinstance(guard, ast.If) and "commands.run(" in ast.unparse(guard):
            (statement,) = guard.body
            yield str(path.relative_to(ROOT)), statement.value.args[0].value


def test_each_command_has_one_entry_in_a_checkout():
    found = dict(entries())
    assert sorted(found.values()) == sorted(commands.COMMANDS)
    assert {name: path for path, name in found.items() if "/" not in path} == SCRIPTS


@pytest.mark.parametrize(("name", "script"), SCRIPTS.items())
def test_the_scripts_say_what_the_commands_say(name, script):
    docstring = ast.get_docstring(ast.parse((ROOT / script).read_text()))
    assert docstring == f"{commands.COMMANDS[name].summary}  --help lists every flag."


def test_the_documentation_pairs_each_command_with_its_entry_in_a_checkout():
    text = (ROOT / "docs" / "installation.md").read_text()
    rows = re.findall(r"^\| `bert-tf (\w+)` \| `python (.+)` \|$", text, re.MULTILINE)
    assert dict(rows) == {name: in_a_checkout(path) for path, name in entries()}


def in_a_checkout(path):
    """What starts a file: the script at the root, or the module after -m."""
    module = path.removesuffix(".py").replace("/", ".").removesuffix(".__main__")
    return f"-m {module}" if "/" in path else path


# Flags that are text and no path. A new flag of text is in this list or marked as a path.
NOT_PATHS = {
    *("task_name", "text_column", "text_b_column", "label_column", "id_column", "text_field"),
    *("language", "tpu_name", "tpu_zone", "gcp_project", "master", "phases", "length_buckets"),
    *("hardware", "skip", "labels", "model_name", "host", "url", "text_a", "text_b", "layers"),
    *("best_metric", "grid", "student_layers", "question", "context", "image"),
    *("bert_hub_module_handle", "license", "signatures", "signature", "label", "deployment_name"),
    *("saved_model_tags", "grpc_channel_arguments"),
}


def test_every_flag_of_text_is_a_path_or_known_not_to_be_one():
    unknown = {
        f"{options_class.__name__}.{field.name}"
        for options_class in (target(command.options) for command in commands.COMMANDS.values())
        for field in dataclasses.fields(options_class)
        if flagging.flag_types(options_class)[field.name] is str
        and not field.metadata["choices"]
        and field.metadata["is_path"] == (field.name in NOT_PATHS)
    }
    assert unknown == set()


@pytest.mark.parametrize("name", [name for name in commands.COMMANDS if name != "beam"])
def test_no_command_takes_a_path_of_another_file_system(name):
    options_class = target(commands.COMMANDS[name].options)
    for field in dataclasses.fields(options_class):
        if field.metadata["is_path"]:
            wrong = {field.name: "here.txt, gs://bucket/there"}
            with pytest.raises(InputError, match="paths that start with gs:// are not supported"):
                flagging.make(options_class, wrong)


def test_the_beam_pipeline_takes_paths_of_other_file_systems():
    assert commands.COMMANDS["beam"].takes_remote_paths
    paths = dict.fromkeys(("input_file", "output_file", "vocab_file"), "gs://bucket/file")
    made = flagging.make(options.PretrainingData, paths, takes_remote_paths=True)
    assert made.output_file == "gs://bucket/file"


def test_a_command_shows_that_tensorflow_loads(monkeypatch):
    called = []
    monkeypatch.setattr(commands.quiet, "show_loading", lambda: called.append("show_loading"))
    monkeypatch.setattr(commands, "_start_sooner", lambda: called.append("start_sooner"))
    monkeypatch.setattr("bert_tf.flagging.run", lambda *_, **__: called.append("run"))
    commands.run("plan")
    assert called == ["show_loading", "start_sooner", "run"]


def test_keras_finds_no_scikit_learn_in_a_command(tmp_path):
    """Whoever only imports `bert_tf` has it as ever."""
    (tmp_path / "sklearn.py").write_text("print('loaded')\n")
    start = "from bert_tf import commands, flagging\nflagging.run = lambda *_, **__: None\n"
    found = []
    for run in ("", "commands.run('plan')\n"):
        done = subprocess.run(
            [sys.executable, "-c", f"{start}{run}import sklearn"],
            capture_output=True,
            text=True,
            env=os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"},
        )
        found.append((done.stdout, "ModuleNotFoundError" in done.stderr))
    assert found == [("loaded\n", False), ("", True)]
