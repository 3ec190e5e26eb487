"""run_pretraining.py on one thread, measured in turns; a child of other benchmarks.

    python -m benchmarks.step.pretraining_ours '{"output_dir": ..., ...}'

The argument has the options of the script.
"""

import json
import sys

from benchmarks.step import meter_in_turns
from bert_tf.options import training
from bert_tf.training.pretraining import pretrain


def main():
    meter_in_turns.use_one_thread()
    pretrain.Meter = meter_in_turns.MeterInTurns
    pretrain.run(training.PreTraining(do_train=True, **json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
