"""Numbers as people write them; every expected text was written by hand."""

import math

import numpy as np
import pytest

from bert_tf import formatting


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7.7417067414630925, "7.742"),
        (0.012345, "0.01235"),
        (0.5, "0.5"),
        (2.0, "2"),
        (0, "0"),
        (0.0, "0"),
        (-0.25, "-0.25"),
        (12345.67, "12,346"),
        (12345678, "12,345,678"),
        (999.96, "1,000"),
        (2e-5, "2e-5"),
        (1.234567e-7, "1.235e-7"),
        (0.001, "0.001"),
        (0.0001, "1e-4"),
        (-0.00025, "-2.5e-4"),
        (3.2e20, "3.2e20"),
        (math.nan, "nan"),
        (math.inf, "inf"),
        (np.float32(0.1), "0.1"),
        (np.int64(3000), "3,000"),
    ],
)
def test_numbers(value, text):
    assert formatting.number(value) == text


def test_where_exponents_begin_can_be_chosen():
    assert formatting.number(0.001, plain_from=0.01) == "1e-3"
    assert formatting.number(0.01, plain_from=0.01) == "0.01"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.4321, "43.2 %"), (1.0, "100 %"), (0.0, "0 %"), (0.000512, "0.0512 %"), (0.99999, "100 %")],
)
def test_shares(share, text):
    assert formatting.percent(share) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (28_500_000, "28.5 M"),
        (950, "950"),
        (0, "0"),
        (999_999, "1 M"),
        (1234, "1.23 k"),
        (0.25, "0.25"),
        (197e12, "197 T"),
        (2.43e19, "24.3 E"),
    ],
)
def test_abbreviated_numbers(value, text):
    assert formatting.abbreviated(value) == text


def test_a_unit_follows_the_letter():
    assert formatting.abbreviated(1.234e12, "FLOP") == "1.23 TFLOP"
    assert formatting.abbreviated(12.0, "FLOP") == "12 FLOP"


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [(512, "512 bytes"), (694_123_456, "694 MB"), (1_234_000_000, "1.23 GB"), (1000, "1 kB")],
)
def test_sizes(num_bytes, text):
    assert formatting.size(num_bytes) == text


@pytest.mark.parametrize(
    ("per_second", "unit", "text"),
    [
        (3.2549, "steps", "3.25 steps/s"),
        (4412.3, "tokens", "4,412 tokens/s"),
        (1.89e8, "bytes", "189 MB/s"),
        (0.0421, "batches", "0.0421 batches/s"),
        (0.0, "batches", "0 batches/s"),
    ],
)
def test_rates(per_second, unit, text):
    assert formatting.rate(per_second, unit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.0042, "4.2 ms"),
        (0.84, "840 ms"),
        (0.9996, "1 s"),
        (3.23, "3.23 s"),
        (59.4, "59.4 s"),
        (59.6, "1 min 0 s"),
        (90, "1 min 30 s"),
        (3599.6, "1 h 0 min"),
        (7500, "2 h 5 min"),
        (86399, "1 d 0 h"),
        (3 * 86400 + 4 * 3600 + 59, "3 d 4 h"),
    ],
)
def test_durations(seconds, text):
    assert formatting.duration(seconds) == text
