"""Pauses between attempts, and what is not tried again."""

import pytest

from serving.client import Retry, retrying
from serving.client.retrying import Deadline
from serving.status import Code, ServingError

RETRY = Retry(max_attempts=6, first_seconds=0.5, max_seconds=3.0)


def pause(attempt, code=Code.UNAVAILABLE, seconds=60.0, message=""):
    return retrying.pause(RETRY, attempt, ServingError(code, message), Deadline(seconds))


def test_the_longest_pause_doubles_up_to_its_limit(monkeypatch):
    monkeypatch.setattr(retrying.random, "uniform", lambda low, high: high)
    assert [pause(attempt) for attempt in range(1, 6)] == [0.5, 1.0, 2.0, 3.0, 3.0]


def test_pauses_are_drawn_between_none_and_the_longest():
    drawn = [pause(2) for _ in range(300)]
    assert 0 <= min(drawn) < 0.2 and 0.8 < max(drawn) <= 1.0


@pytest.mark.parametrize("code", Code)
def test_only_what_may_pass_is_tried_again(code):
    if code in (Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED):
        assert pause(1, code) >= 0
    else:
        with pytest.raises(ServingError):
            pause(1, code)


def test_the_last_error_is_raised_when_attempts_or_time_are_used_up(monkeypatch):
    monkeypatch.setattr(retrying.random, "uniform", lambda low, high: high)
    with pytest.raises(ServingError, match="UNAVAILABLE: why"):
        pause(6, message="why")
    with pytest.raises(ServingError, match="UNAVAILABLE: why"):
        pause(1, seconds=0.1, message="why")
    with pytest.raises(ServingError, match="larger than max"):
        words = "CLIENT: Sent message larger than max (9 vs. 4)"
        pause(1, Code.RESOURCE_EXHAUSTED, message=words)


def test_a_deadline_that_has_passed():
    with pytest.raises(ServingError, match="No answer within 1e-09 s") as caught:
        Deadline(1e-9).left()
    assert caught.value.code == Code.DEADLINE_EXCEEDED
    assert 0 < Deadline(5).left() <= 5
