"""The groups of the help hold every flag of the scripts once."""

import dataclasses
import importlib
import re

from bert_tf import commands, flagging, options
from bert_tf.options.groups import GROUPS

SCRIPTS = (
    options.Classifier,
    options.PreTraining,
    options.QuestionAnswering,
    options.PretrainingData,
    options.FeatureExtraction,
)


def options_classes():
    """The options of every command."""
    for command in commands.COMMANDS.values():
        module, name = command.options.split(":")
        yield getattr(importlib.import_module(module), name)


def test_every_flag_of_the_scripts_has_a_group_in_the_help():
    grouped = [name for names in GROUPS.values() for name in names]
    assert len(grouped) == len(set(grouped))
    fields = [f for script in SCRIPTS for f in dataclasses.fields(script)]
    required = {f.name for f in fields if f.default is flagging.REQUIRED}
    assert {f.name for f in fields} - set(grouped) - required == set()
    everything = {flagging.flag_name(f) for c in options_classes() for f in dataclasses.fields(c)}
    assert set(grouped) - everything == set()


def test_help_speaks_of_the_flags_of_its_own_program():
    """Others are said to be of another one: "--output_dir of a training run"."""
    wrong = [
        (options_class.__name__, field.name, name)
        for options_class in options_classes()
        for field in dataclasses.fields(options_class)
        for name in re.findall(r"--(\w+)\b(?! of (?:a training|run_))", field.metadata["help"])
        if name not in {flagging.flag_name(each) for each in dataclasses.fields(options_class)}
    ]
    assert wrong == []
