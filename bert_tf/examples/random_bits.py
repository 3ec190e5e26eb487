"""Random numbers that are a function of a key alone, in every version of NumPy.

NumPy keeps the raw bits of a bit generator from version to version, but not what its
`Generator` makes of them (NEP 19); so only the raw bits are taken.
"""

import numpy as np
import numpy.typing as npt

_DOUBLE_BITS = 53


class RandomBits:
    """A stream of random numbers: PCG64, seeded with a key.

    Args:
      key: from 0 to 2**32 - 1 each, e.g. seed, pass, number of the unit. Streams of different keys
        are independent of each other.
    """

    def __init__(self, *key: int) -> None:
        # With the length in front, because zeros at the end of a seed sequence count for nothing.
        self._bits = np.random.PCG64(np.random.SeedSequence((len(key), *key)))

    def uint32(self, shape: int | tuple[int, ...]) -> npt.NDArray[np.uint32]:
        """Draws whole numbers, all of 32 bits equally likely."""
        count = int(np.prod(shape))
        raw = self._bits.random_raw(-(-count // 2))
        return raw.astype("<u8", copy=False).view("<u4")[:count].reshape(shape)

    def uniform(self, shape: int | tuple[int, ...]) -> npt.NDArray[np.float64]:
        """Draws numbers from [0, 1) with 53 bits."""
        raw = self._bits.random_raw(int(np.prod(shape)))
        return np.multiply(raw >> (64 - _DOUBLE_BITS), 2.0**-_DOUBLE_BITS).reshape(shape)

    def permutation(self, count: int) -> npt.NDArray[np.int64]:
        """Draws an order of `count` things, all equally likely but for ties of 64-bit numbers."""
        return np.argsort(self._bits.random_raw(count), kind="stable")
