"""The commands and the code that the documentation prints, against the programs themselves.

Commands are parsed with the flags of the program, not run: most need a corpus or a cluster. Those
of the README and of docs/serving.md are run as well, by tests of theirs.
"""

import doctest
import importlib
import re

import pytest
from absl import flags

from bert_tf.commands import COMMANDS
from tests.reference import shell_blocks, snippets

PAGES = ["README.md", "CONTRIBUTING.md"]
PAGES += sorted(f"docs/{path.name}" for path in (snippets.PAGES / "docs").glob("*.md"))
# The test that runs the Python blocks of a page.
RUN_BY = {
    "README.md": "tests/end_to_end/test_wheel.py",
    "docs/clients.md": "tests/serving/client/test_methods.py",
    "docs/grpc.md": "tests/serving/grpc_api/test_prediction_service.py",
    "docs/hub.md": "tests/export/test_hub.py",
    "docs/library.md": "tests/end_to_end/test_wheel.py",
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
    "docs/deployment.md": {"profile"},  # of docker compose
    "docs/serving.md": {"enable_batching"},  # of tensorflow_model_server
}


@pytest.mark.parametrize("page", PAGES)
def test_the_flags_of_every_command_of_a_page_exist(page):
    for command in shell_blocks.commands(page):
        assert command.name in COMMANDS, command.text
        if any(word.startswith("--") for word in command.arguments):
            shell_blocks.parse(command)


def test_commands_are_found_in_blocks_and_in_text():
    names = [command.name for page in PAGES for command in shell_blocks.commands(page)]
    assert {"data", "beam", "pretrain", "classify", "squad", "export", "serve"} <= set(names)
    assert len(names) > 20


def test_a_renamed_flag_would_be_found():
    wrong = shell_blocks.Command(
        "a test", "classify", ["--output_dir=x", "--batch_pieces=2"], is_in_text=False
    )
    with pytest.raises(flags.UnrecognizedFlagError, match="batch_pieces"):
        shell_blocks.parse(wrong)


@pytest.mark.parametrize("page", PAGES)
def test_the_flags_that_the_text_of_a_page_names_exist(page):
    text = (snippets.PAGES / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    found = set(re.findall(r"(?<=`)--([a-z]\w*)", text))
    known = {flag for name in COMMANDS for flag in shell_blocks.flags_of(name)[1]}
    known |= {f"no{flag}" for flag in known}
    assert found - {"help", "flagfile"} - known - FOREIGN.get(page, set()) == set()


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
