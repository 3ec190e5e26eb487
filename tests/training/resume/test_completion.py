"""A run is complete when its last weights are there and it is marked, or has its last state."""

import json

import pytest

from bert_tf.training.resume import completion, state_files


@pytest.fixture
def run(tmp_path):
    """The model directory of a run that has made 6 updates and left its last weights."""
    for name in ("last", "training/step-3", "training/step-6", "training/.step-9.abc"):
        (tmp_path / name).mkdir(parents=True)
    return tmp_path


def states(run):
    return [saved.step for saved in state_files.listed(run / "training")]


def test_a_complete_run_is_marked_and_keeps_no_states(run):
    completion.finish(run, 6, keeps_states=False)
    assert sorted(path.name for path in (run / "training").iterdir()) == ["complete.json"]
    assert completion.num_updates(run) == 6
    assert [completion.is_complete(run, step) for step in (3, 6, 9)] == [False, True, False]


def test_states_may_be_kept(run):
    completion.finish(run, 6, keeps_states=True)
    assert states(run) == [6, 3]
    completion.finish(run, 6, keeps_states=False)
    assert states(run) == []


def test_without_the_mark_the_last_state_says_so(run):
    assert completion.is_complete(run, 6)
    assert not completion.is_complete(run, 9)


def test_a_run_without_its_last_weights_is_not_complete(run):
    completion.finish(run, 6, keeps_states=False)
    (run / "last").rmdir()
    assert not completion.is_complete(run, 6)
    assert completion.num_updates(run) is None


def test_without_the_mark_the_log_says_how_many_updates_there_were(run):
    assert completion.num_updates(run) is None
    lines = [{"step": 6, "time": 1.0, "loss": 2.0}, {"step": 6, "time": 2.0, "event": "end"}]
    (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert completion.num_updates(run) == 6


def test_a_run_that_ended_early_is_complete_with_fewer_updates(run):
    assert completion.early_end(run) is None
    completion.finish(run, 6, keeps_states=False, ended_early="f1 did not rise")
    assert completion.early_end(run) == 6
    assert completion.is_complete(run, 6) and not completion.is_complete(run, 9)
    wanted = "complete after step 6; it ended early, because f1 did not rise. "
    assert wanted in completion.message(str(run), 6)
    completion.finish(run, 6, keeps_states=False)  # as the next start does
    assert completion.early_end(run) == 6
    (run / "last").rmdir()
    assert completion.early_end(run) is None


def test_a_run_that_made_every_update_did_not_end_early(run):
    completion.finish(run, 6, keeps_states=False)
    assert completion.early_end(run) is None
    assert "ended early" not in completion.message(str(run), 6)


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"step": "x"}'])
def test_a_mark_that_cannot_be_read_is_none(run, text):
    (run / "training" / completion.NAME).write_text(text)
    assert completion.num_updates(run) is None
    completion.finish(run, 6, keeps_states=False)
    assert completion.num_updates(run) == 6
