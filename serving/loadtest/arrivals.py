"""When requests are due if their rate is given."""

import random
from collections.abc import Iterator


def times(rate: float, seconds: float, generator: random.Random) -> Iterator[float]:
    """Times of a Poisson process, from 0: independent users, who do not wait for each other.

    Args:
      rate: per second.
      seconds: when it ends.
    """
    time = generator.expovariate(rate)
    while time < seconds:
        yield time
        time += generator.expovariate(rate)
