"""Off a terminal: a line every ten seconds and one at the end, with rate and time left."""

import contextlib
import time

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
    monkeypatch.setattr(progress, "repeatedly", lambda *_: contextlib.nullcontext())
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
    assert lines() == ["train: 5 steps of 50, 1 min 30 s left, 0.5 steps/s, loss 0.5"]
    clock.now += 10.0
    shown.advance(20, loss="0.4", rate="7")
    assert lines() == ["train: 25 steps of 50, 20 s left, 1.25 steps/s, loss 0.4, rate 7"]
    clock.now += 5.0
    shown.advance(25)
    assert lines() == []
    shown.close()
    assert lines() == ["train: 50 steps of 50, 2 steps/s, loss 0.4, rate 7"]


def test_the_end_is_told_once(clock, lines):
    shown = Progress("train", 5, "steps")
    clock.now += 10.0
    shown.advance(5)
    shown.close()
    assert lines() == ["train: 5 steps of 5, 0.5 steps/s"]


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
    assert lines() == ["read: 0 batches"]


def test_notes_alone_say_the_speed(clock, lines):
    shown = Progress("train", 50, "steps", done=40, has_speed=False)
    clock.now += 1000.0  # compiles
    shown.advance(1, loss="0.5")
    assert lines() == ["train: 41 steps of 50, loss 0.5"]
    clock.now += 10.0
    shown.advance(1, loss="0.5", left="8 s")
    assert lines() == ["train: 42 steps of 50, loss 0.5, left 8 s"]


def test_what_comes_first_does_not_count_for_the_speed(clock, lines):
    shown = Progress("evaluate", 50, "examples", first="compiling the model")
    clock.now += 40.0
    shown.advance(10)
    assert lines() == ["evaluate: 10 examples of 50"]
    clock.now += 10.0
    shown.advance(20)
    assert lines() == ["evaluate: 30 examples of 50, 10 s left, 2 examples/s"]


def test_bytes_have_units_that_people_read(clock, lines):
    shown = Progress("tokenize", 694_000_000, "bytes")
    clock.now += 10.0
    shown.advance(1_890_000_000 // 10)
    assert lines() == ["tokenize: 189 MB of 694 MB, 27 s left, 18.9 MB/s"]


def test_an_error_ends_it_without_a_last_line(clock, lines):
    with pytest.raises(ValueError, match="wrong"), Progress("train", 50, "steps") as shown:
        shown.advance(3)
        raise ValueError("wrong")
    assert lines() == []
    with Progress("train", 5, "steps"):
        pass
    assert lines() == ["train: 0 steps of 5"]


def test_a_status_is_a_line_every_ten_seconds(monkeypatch, lines):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.02)
    with progress.status("Loading TensorFlow"):
        time.sleep(0.2)
    shown = lines()
    assert shown and set(shown) == {"Loading TensorFlow ... 0 s"}
    with progress.status("Loading TensorFlow"):
        pass
    assert lines() == []


@pytest.fixture
def line_of(monkeypatch, clock):
    """Makes a `Progress` on a terminal; gives it and its live line by columns."""
    rendered = []

    @contextlib.contextmanager
    def line(render):
        rendered.append(render)
        yield

    monkeypatch.setattr(progress, "is_on_terminal", lambda: True)
    monkeypatch.setattr(progress._live_lines, "line", line)

    def make(*args, **options):
        return Progress(*args, **options), rendered[-1]

    return make


def test_a_narrow_terminal_shows_the_first_notes(line_of, clock):
    shown, line = line_of("train", 50, "steps", has_speed=False)
    notes = {"loss": "7.742", "steps/s": "0.81", "tokens/s": "1,293"}
    shown.advance(25, seconds_left=27.4, **notes)
    end = "| 25 of 50, 27 s left, loss 7.742, steps/s 0.81"
    for columns in (80, 120):
        text = line(columns)
        assert text.startswith("train:  50 %|") and len(text) == columns
    assert line(70).endswith(end) and line(120).endswith(end + ", tokens/s 1,293")
    assert line(40).endswith("| 25 of 50")


def test_time_left_and_speed_on_a_terminal(line_of, clock):
    shown, line = line_of("evaluate", 1000, "examples")
    clock.now += 2.0
    shown.advance(500)
    assert line(79).endswith("| 500 of 1,000, 2 s left, 250 examples/s")
    clock.now += 2.0  # it moves without an `advance`
    assert line(79).endswith("| 500 of 1,000, 4 s left, 125 examples/s")


def test_the_time_left_that_was_told_moves(line_of, clock):
    shown, line = line_of("train", 50, "steps", has_speed=False)
    clock.now += 3.0
    assert line(79).endswith("| 0 of 50, 3 s")
    shown.advance(seconds_left=70.0)
    clock.now += 20.0
    shown.advance()  # does not know better
    assert line(79).endswith("| 2 of 50, 50 s left")


def test_time_moves_while_nothing_is_done(line_of, clock):
    _, line = line_of("draw", 7_300_000, "bytes")
    clock.now += 12.0
    assert line(79).startswith("draw:   0 %|")
    assert line(79).endswith("| 0 bytes of 7.3 MB, 12 s")


def test_what_comes_first_is_named_while_it_lasts(line_of, clock):
    shown, line = line_of("train", 50, "steps", first="compiling the update")
    clock.now += 12.0
    assert line(79) == "train: compiling the update ... 12 s"
    shown.advance()
    assert "compiling" not in line(79)


def test_without_a_total_there_is_no_bar(line_of, clock):
    shown, line = line_of("count", None, "bytes")
    clock.now += 2.0
    shown.advance(12_000_000)
    assert line(79) == "count: 12 MB, 6 MB/s"
