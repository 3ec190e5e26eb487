"""python -m bert_tf.records.inspect: shows what pre-training records hold."""

from bert_tf import flagging
from bert_tf.options import InspectRecords
from bert_tf.records.inspect import show

if __name__ == "__main__":
    flagging.run(show.main, InspectRecords, takes_arguments=True)
