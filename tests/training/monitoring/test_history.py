"""What is read back from metrics.jsonl, with damaged lines and restarts."""

import json
import math

import pytest

from bert_tf.training.monitoring import history
from bert_tf.training.monitoring.history import History


def written(tmp_path, *lines):
    """The history of a file of these lines, dicts or bytes."""
    path = tmp_path / history.NAME
    lines = [line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return history.read(path)


def values(step, **found):
    return {"step": step, "time": 100.0 + step} | found


def start(step, number=1, before=0.0, last=None, seconds=None):
    last = step if last is None else last
    seconds = 100.0 + step if seconds is None else seconds
    line = {"step": step, "time": seconds, "event": "start", "number": number}
    return line | {"seconds_before": before, "last_step": last}


def test_a_missing_file_is_an_empty_history(tmp_path):
    found = history.read(tmp_path / history.NAME)
    assert found == History([])
    assert (found.names(), found.phases(), found.evaluations()) == ([], [], {})
    assert (found.last_step, found.seconds, found.state) == (0, 0.0, "unfinished")


def test_series_hold_the_steps_at_which_a_value_was_logged(tmp_path):
    found = written(
        tmp_path,
        start(0),
        values(1, loss=5.0),
        values(2, loss=4.0, norm=3),
        {"step": 2, "time": 102.0, "event": "evaluation", "metrics": {"loss": 4.5}},
        values(3, loss=None),
    )
    assert found.names() == ["loss", "norm"]
    assert found.series("norm") == ([2], [3.0])
    steps, losses = found.series("loss")
    assert steps == [1, 2, 3]
    assert losses[:2] == [5.0, 4.0] and math.isnan(losses[2])
    assert found.evaluations() == {2: {"loss": 4.5}}
    assert found.last_step == 3


@pytest.mark.parametrize(
    "line",
    [
        b'{"step": 2, "time": 1.0, "lo',
        b"\xff\xfe",
        b"[1, 2]",
        b'{"time": 1.0}',
        b'{"step": "2", "time": 1.0}',
        b'{"step": 2}',
        b'{"step": 2, "time": 1.0, "event": "start"}',
        b'{"step": 2, "time": 1.0, "event": "evaluation", "metrics": 3}',
        b'{"step": 2, "time": 1.0, "event": "phase"}',
    ],
)
def test_a_damaged_line_is_counted_and_left_out(tmp_path, line):
    found = written(tmp_path, values(1, loss=5.0), line, values(3, loss=4.0))
    assert found.num_damaged == 1
    assert found.series("loss") == ([1, 3], [5.0, 4.0])


def test_empty_lines_are_no_damage(tmp_path):
    assert written(tmp_path, values(1), b"", values(2)).num_damaged == 0


def test_up_to_keeps_the_step_itself():
    found = History([values(step) for step in (1, 2, 3)], 1).up_to(2)
    assert ([line["step"] for line in found.lines], found.num_damaged) == ([1, 2], 1)


def test_a_phase_told_again_by_a_restart_is_the_same_phase():
    def phase(step, length):
        return values(step, event="phase", sizes={"max_seq_length": length})

    found = History([phase(0, 128), phase(7, 128), phase(9, 512), phase(11, 512)])
    assert [line["step"] for line in found.phases()] == [0, 9]


def test_of_two_evaluations_of_a_step_the_later_counts():
    lines = [values(5, event="evaluation", metrics={"loss": loss}) for loss in (3.0, 2.0)]
    assert History(lines).evaluations() == {5: {"loss": 2.0}}


def test_seconds_leave_out_the_pause_between_two_processes():
    lines = [start(0, seconds=1000.0), values(1) | {"time": 1007.0}]
    assert History(lines).seconds == 7.0
    # The first process ran 7 seconds, the second one 5 by now, an hour later.
    lines += [start(1, 2, before=7.0, seconds=4600.0), values(2) | {"time": 4605.0}]
    assert History(lines).seconds == 12.0


@pytest.mark.parametrize(
    ("event", "state"), [("end", "complete"), ("interrupted", "interrupted"), (None, "unfinished")]
)
def test_the_last_line_tells_the_state(event, state):
    last = values(3, event=event) if event else values(3, loss=1.0)
    assert History([values(2, event="interrupted"), last]).state == state


def test_a_line_is_json_that_every_reader_knows():
    line = history.to_line({"a": math.nan, "b": {"c": -math.inf}, "d": [1, 2.5], "e": "ä"})
    assert line == '{"a": null, "b": {"c": null}, "d": [1, 2.5], "e": "ä"}\n'.encode()


def test_numbers_keep_every_bit():
    value = 0.1 + 0.2
    assert json.loads(history.to_line({"loss": value}))["loss"] == value
