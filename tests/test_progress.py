"""Off a terminal: a line every ten seconds and one at the end, with rate and time left."""

import pytest

from bert_tf import progress
from bert_tf.progress import Progress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until it is told to go on."""

    class Clock:
        now = 100.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(progress, "time", clock)
    return clock


@pytest.fixture
def lines(capsys):
    """The lines printed since the last call; nothing may go to standard output."""

    def read():
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err.splitlines()

    return read


def test_a_line_every_ten_seconds_and_one_at_the_end(clock, lines):
    shown = Progress("train", 50, "steps")
    clock.now += 9.9
    shown.advance(3, loss="0.5")
    assert lines() == []
    clock.now += 0.1
    shown.advance(2)
    assert lines() == ["train: 5 steps of 50, 90 s left, 0.5 steps/s, loss 0.5"]
    clock.now += 10.0
    shown.advance(20, loss="0.4", rate="7")
    assert lines() == ["train: 25 steps of 50, 20 s left, 1.25 steps/s, loss 0.4, rate 7"]
    clock.now += 5.0
    shown.advance(25)
    assert lines() == []
    shown.close()
    assert lines() == ["train: 50 steps of 50, 0 s left, 2 steps/s, loss 0.4, rate 7"]


def test_what_was_done_before_counts_for_the_total_but_not_for_the_rate(clock, lines):
    shown = Progress("train", 50, "steps", done=40)
    clock.now += 10.0
    shown.advance(5)
    assert lines() == ["train: 45 steps of 50, 10 s left, 0.5 steps/s"]


def test_without_a_total(clock, lines):
    shown = Progress("read", None, "batches")
    clock.now += 2.0
    shown.advance(7)
    shown.close()
    assert lines() == ["read: 7 batches, 3.5 batches/s"]


def test_nothing_done_at_all(clock, lines):
    Progress("read", 0, "batches").close()
    assert lines() == ["read: 0 batches, 0 batches/s"]


def test_a_bar_on_a_terminal(clock, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = Progress("train", 3, "steps")
    shown.advance(3, loss="0.5")
    shown.close()
    errors = capsys.readouterr().err
    assert "train: 100%" in errors and "3/3" in errors and "loss 0.5" in errors
    assert "steps of" not in errors


def test_notes_alone_say_the_speed(clock, lines):
    shown = Progress("train", 50, "steps", done=40, has_speed=False)
    clock.now += 1000.0  # compiles
    shown.advance(1, loss="0.5")
    assert lines() == ["train: 41 steps of 50, loss 0.5"]
    clock.now += 10.0
    shown.advance(1, loss="0.5", left="8 s")
    assert lines() == ["train: 42 steps of 50, loss 0.5, left 8 s"]


def test_a_bar_whose_notes_alone_say_the_speed(clock, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = Progress("train", 3, "steps", has_speed=False)
    shown.advance(2, loss="0.5", left="8 s")
    shown.close()
    errors = capsys.readouterr().err
    assert "2/3" in errors and "loss 0.5, left 8 s" in errors
    assert "<" not in errors and "steps/s" not in errors and "it/s" not in errors
