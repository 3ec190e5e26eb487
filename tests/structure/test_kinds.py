"""Only a task knows its kind: nobody who trains, reports, exports or serves asks for it."""

import ast
import pathlib

import pytest

from bert_tf.checkpoints.kinds import KINDS

ROOT = pathlib.Path(__file__).parents[2]
FOLDERS = ("bert_tf/tasks", "bert_tf/training", "export", "serving")
# Pre-training is no task, and shares the set-up of runs with them.
ALLOWED = {
    "bert_tf/training/setup.py": {"pretrain"},
    "export/conversion/verify.py": {"choice"},  # compares two checkpoints, which have no task
}


def compared_kinds(text):
    """The strings that something called `kind` is compared with."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        if any(isinstance(each, ast.Attribute) and each.attr == "kind" for each in sides):
            constants = [each for side in sides for each in ast.walk(side)]
            yield from (x.value for x in constants if isinstance(x, ast.Constant))


@pytest.mark.parametrize("folder", FOLDERS)
def test_nobody_compares_kinds(folder):
    asked = {}
    for path in (ROOT / folder).rglob("*.py"):
        name = str(path.relative_to(ROOT))
        if found := {*compared_kinds(path.read_text())} & KINDS.keys() - ALLOWED.get(name, set()):
            asked[name] = found
    assert not asked, "let the task decide; see bert_tf/tasks/task.py"


def test_comparisons_are_found():
    text = "if task.kind == 'tag' or task.kind in ('a', 'b') or x == 'c': pass"
    assert sorted(compared_kinds(text)) == ["a", "b", "tag"]
