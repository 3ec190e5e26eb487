"""Records in place of rows in memory: what goes with them."""

import pytest

from bert_tf import options
from bert_tf.errors import InputError

GIVEN = {"init_checkpoint": "bert", "output_dir": "out", "do_train": True}


def test_records_may_replace_the_training_set():
    found = options.Classifier(**GIVEN, task_name="mrpc", train_records="train.tf_record")
    assert found.has_records and not found.stream_records
    assert not options.Classifier(**GIVEN, data_dir="data").has_records


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"stream_records": True, "teacher": "out/t"}, "--stream_records and --teacher exclude"),
        ({"train_records": "a", "stream_records": True}, "--train_records and --stream_records"),
        ({"train_records": "a", "class_weights": "balanced"}, "and --class_weights exclude"),
    ],
)
def test_what_needs_rows_in_memory_is_refused(flags, message):
    with pytest.raises(InputError, match=message):
        options.Classifier(**GIVEN, data_dir="data", **flags)
