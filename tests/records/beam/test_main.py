"""The command line of the Beam form, and those that docs/beam.md shows."""

import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest
from absl import flags

from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.options import PretrainingData
from bert_tf.records.beam import __main__ as beam

ROOT = pathlib.Path(__file__).parents[3]
needs_beam = pytest.mark.skipif(
    importlib.util.find_spec("apache_beam") is None,
    reason="Apache Beam has an environment of its own: make test-beam",
)


def test_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="requirements-beam.txt"):
        beam.main(None, [])


def requirements(name):
    """Dict from package to its line without the comment."""
    lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    return {re.match(r"[\w.-]+", line)[0]: line for line in filter(None, lines)}


def test_requirements_are_those_of_the_product():
    product, extra = requirements("requirements.txt"), requirements("requirements-beam.txt")
    assert extra.keys() - product.keys() == {"apache-beam"}
    assert all(extra[name] == product[name] for name in extra.keys() & product.keys())


def commands():
    """Arguments of every command of the page that starts a build."""
    text = (ROOT / "docs" / "beam.md").read_text()
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    lines = [line for line in blocks.splitlines() if "bert_tf.records.beam" in line]
    return [shlex.split(line, comments=True)[3:] for line in lines]


@needs_beam
@pytest.mark.parametrize("arguments", commands(), ids=lambda arguments: arguments[0])
def test_the_commands_of_the_page_have_flags_that_exist(arguments):
    from bert_tf.records.beam import pipeline

    found = flags.FlagValues()
    flagging.define(PretrainingData, found)
    found.set_gnu_getopt(True)
    rest = found(["beam", *arguments], known_only=True)[1:]
    flagging.read(PretrainingData, found)
    if "--" in rest:
        rest = rest[: rest.index("--")]
    assert pipeline.pipeline_options(rest)


def test_the_page_has_commands_for_every_runner_it_speaks_of():
    runners = {each.split("=")[1] for one in commands() for each in one if "--runner=" in each}
    assert runners >= {"FnApiRunner", "DataflowRunner", "FlinkRunner", "SparkRunner"}


@needs_beam
def test_wrong_input_is_one_message(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")
    (tmp_path / "text.txt").write_text("a b.\nb a.\n")
    done = subprocess.run(
        [sys.executable, "-m", "bert_tf.records.beam", "--runner=FnApiRunner"]
        + [f"--input_file={tmp_path}/text.txt", f"--vocab_file={tmp_path}/vocab.txt"]
        + [f"--output_file={tmp_path}/out/records@2"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith("ERROR: The input has 1 document(s)")
    assert os.listdir(tmp_path / "out") == []
