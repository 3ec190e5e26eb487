"""Times of a Poisson process."""

import random

import numpy as np
import pytest

from serving.loadtest import arrivals


def test_gaps_have_the_mean_and_the_spread_of_an_exponential_distribution():
    times = list(arrivals.times(50.0, 400.0, random.Random(1)))
    gaps = np.diff([0.0, *times])
    assert len(times) == pytest.approx(20_000, abs=5 * 20_000**0.5)
    assert gaps.mean() == pytest.approx(1 / 50, rel=0.05)
    assert gaps.std() == pytest.approx(1 / 50, rel=0.05)
    assert 0 < times[0] and times[-1] < 400.0
