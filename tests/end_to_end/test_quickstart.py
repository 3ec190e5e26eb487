"""The quickstart's stages, not run: with real weights they take minutes."""

import json
import shlex

import pytest

import quickstart
from tests.reference import shell_blocks


@pytest.fixture
def stages(monkeypatch, tmp_path):
    """The arguments of every stage that the quickstart runs before it serves."""
    stages = []
    monkeypatch.chdir(tmp_path)
    weights = tmp_path / quickstart.WEIGHTS
    weights.mkdir(parents=True)
    (weights / "config.json").write_text(json.dumps({"num_hidden_layers": 6}))
    monkeypatch.setattr(
        quickstart, "_run_stage", lambda _, arguments, look: stages.append(arguments)
    )
    monkeypatch.setattr(quickstart, "_curve", lambda _: ())
    quickstart._records_and_pretraining()
    quickstart._fine_tuning_and_export()
    return stages


def test_the_flags_of_every_stage_exist(stages):
    programs = [arguments for arguments in stages if arguments[0] != "-c"]
    commands = [
        command
        for arguments in programs
        for command in shell_blocks.commands_of(shlex.join(["python", *arguments]))
    ]
    assert [command.name for command in commands] == [
        *("data", "data", "convert", "pretrain", "classify", "export"),
    ]
    for command in commands:
        shell_blocks.parse(command)


def test_the_python_of_a_stage_is_shown_as_it_is_run(stages):
    (code,) = [arguments[1] for arguments in stages if arguments[0] == "-c"]
    compile(code, "the stage that guesses", "exec")
    for arguments in stages:
        shown = quickstart._shown(arguments)
        assert shlex.split(shown.replace("\\\n", " ")) == arguments


def test_the_curve_of_the_loss_has_a_bar_for_each_logged_step(tmp_path):
    path = tmp_path / "metrics.jsonl"
    rows = [{"step": 0, "event": "start"}, {"step": 1, "masked_lm_loss": 10.0}]
    rows += [{"step": 20, "masked_lm_loss": 5.0}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    _, first, last = quickstart._curve(str(path))
    assert first.split() == ["step", "1", "10.00", "#" * 50]
    assert last.split() == ["step", "20", "5.00", "#" * 25]
