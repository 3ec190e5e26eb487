"""run_pretraining.py on one thread, measured in turns; a child of other benchmarks.

    python -m benchmarks.step.pretraining_ours '{"output_dir": ..., ...}'

The argument has the options of the script.
"""

import json
import sys

import tensorflow as tf

from benchmarks.turns import Turns
from bert_tf.options import training
from bert_tf.training.monitoring import throughput
from bert_tf.training.pretraining import pretrain


class MeterInTurns(throughput.Meter):
    """Waits for the next turn where the script's meter counts the steps of a call."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        factors = tf.random.normal([2, 2048, 2048])
        self._turns = Turns(lambda: tf.matmul(factors[0], factors[1]))

    def advance(self, num_steps, num_tokens, num_positions):
        super().advance(num_steps, num_tokens, num_positions)
        self._turns.advance(num_steps, num_tokens, num_positions)


def main():
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    pretrain.Meter = MeterInTurns
    pretrain.run(training.PreTraining(do_train=True, **json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
