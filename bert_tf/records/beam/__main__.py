"""Pre-training TFRecords from text by a pipeline of Apache Beam, for corpora beyond one machine.

python -m bert_tf.records.beam --runner=RUNNER FLAGS [RUNNER'S FLAGS] [-- MORE OF THEM]

Takes the flags of create_pretraining_data.py and writes the same files. Flags that are not among
them go to Beam, and so does what follows "--". Needs requirements-beam.txt; see docs/beam.md.
"""

import importlib.util
from collections.abc import Sequence

from bert_tf import commands
from bert_tf.errors import InputError
from bert_tf.options import PretrainingData


def main(options: PretrainingData, arguments: Sequence[str]) -> None:
    if importlib.util.find_spec("apache_beam") is None:
        raise InputError(
            "apache-beam is not installed. It needs an older protobuf than a new environment "
            "has, so make one of its own: pip install -r requirements-beam.txt"
        )
    from bert_tf.records.beam import pipeline

    pipeline.run(options, arguments)


if __name__ == "__main__":
    commands.run("beam")
