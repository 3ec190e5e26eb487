"""Learning rate by update: a warm-up to the peak, then one of four kinds of decay."""

import dataclasses
import math
from collections.abc import Sequence

import tensorflow as tf

# By kind, the share of the fall that is still ahead, as a function of the share of the updates that
# is ahead: both are 1 at the peak and 0 at the end.
_DECAYS = {
    "linear": lambda ahead, power: ahead,
    "polynomial": lambda ahead, power: ahead**power,
    "cosine": lambda ahead, power: tf.sin(math.pi / 2 * ahead) ** 2,  # (1 + cos of what is done)/2
    "constant": lambda ahead, power: tf.ones_like(ahead),
}


@dataclasses.dataclass(frozen=True)
class Schedule:
    """Linear warm-up to `peak`, then a decay that would reach its end one update after the last.

    The two meet at the end of the warm-up; the released code jumps there, because its decay starts
    with the warm-up (paper appendix A.2 has the linear kind).

    Attributes:
      peak: learning rate per update.
      num_steps: total number of updates.
      num_warmup_steps: updates until the peak.
      kind: "linear", "polynomial", "cosine" or "constant".
      power: of the polynomial; published LAMB runs use 0.5, which falls late (arXiv 1904.00962).
      end_ratio: what the decay falls to, as a share of the peak.
      peaks: (number of updates, peak) of successive phases, in place of `peak`: the one curve is
        scaled to them. Empty: `peak`.
    """

    peak: float
    num_steps: int
    num_warmup_steps: int
    kind: str = "linear"
    power: float = 1.0
    end_ratio: float = 0.0
    peaks: Sequence[tuple[int, float]] = ()

    def __call__(self, update: tf.Tensor) -> tf.Tensor:
        """Learning rate, float32 scalar, of update number `update` (1 is the first)."""
        update = tf.cast(update, tf.float32)
        rise = update / max(1, self.num_warmup_steps)
        end = self.num_steps + 1
        ahead = tf.clip_by_value((end - update) / (end - self.num_warmup_steps), 0.0, 1.0)
        fall = self.end_ratio + (1.0 - self.end_ratio) * _DECAYS[self.kind](ahead, self.power)
        return self._peak(update) * tf.where(update < self.num_warmup_steps, rise, fall)

    def _peak(self, update: tf.Tensor) -> tf.Tensor:
        peak, end = tf.constant(self.peak, tf.float32), 0
        for count, value in self.peaks:
            peak = tf.where(update > end, tf.constant(value, tf.float32), peak)
            end += count
        return peak
