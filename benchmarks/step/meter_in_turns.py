"""Training scripts of bert_tf that wait for their turn between updates; for children of `turns`."""

import tensorflow as tf

from benchmarks.turns import Turns
from bert_tf.training.monitoring import throughput


class MeterInTurns(throughput.Meter):
    """Waits for the next turn where the script's meter counts the steps of a call."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        factors = tf.random.normal([2, 2048, 2048])
        self._turns = Turns(lambda: tf.matmul(factors[0], factors[1]))

    def advance(self, num_steps, num_tokens, num_positions):
        super().advance(num_steps, num_tokens, num_positions)
        self._turns.advance(num_steps, num_tokens, num_positions)


def use_one_thread():
    """Called before TensorFlow computes anything."""
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
