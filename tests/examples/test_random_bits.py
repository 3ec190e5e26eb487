"""Random bits: the raw stream of PCG64, and what is made of it."""

import math

import numpy as np
import pytest

from bert_tf.examples.random_bits import RandomBits


def test_bits_are_the_halves_of_the_raw_stream():
    raw = np.random.PCG64(np.random.SeedSequence((2, 3, 5))).random_raw(4)
    wanted = [int(half) for number in raw for half in (number & 0xFFFFFFFF, number >> 32)]
    assert RandomBits(3, 5).uint32(7).tolist() == wanted[:7]
    assert RandomBits(3, 5).uint32((2, 3)).tolist() == [wanted[:3], wanted[3:6]]


def test_uniform_numbers_are_the_upper_bits():
    raw = np.random.PCG64(np.random.SeedSequence((1, 7))).random_raw(6)
    wanted = [(int(number) // 2**11) / 2**53 for number in raw]
    assert RandomBits(7).uniform((2, 3)).ravel().tolist() == wanted


@pytest.mark.parametrize(
    "keys", [((1, 2), (2, 1)), ((1,), (1, 1)), ((1,), (1, 0)), ((0, 2, 3), (0, 3, 2))]
)
def test_keys_differ(keys):
    first, second = (RandomBits(*key).uint32(11).tolist() for key in keys)
    assert first != second
    assert first == RandomBits(*keys[0]).uint32(11).tolist()


def test_permutations_are_fair():
    """Of six orders of three things, each as often as the others, within four deviations."""
    random, counts = RandomBits(11), {}
    for _ in range(6000):
        order = tuple(random.permutation(3).tolist())
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert all(abs(n - 1000) < 4 * math.sqrt(1000 * 5 / 6) for n in counts.values())
