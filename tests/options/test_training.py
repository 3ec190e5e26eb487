"""Flags of the training scripts that google-research/bert lacks or has otherwise."""

import pytest

from bert_tf import options
from bert_tf.errors import InputError

GIVEN = {"init_checkpoint": "bert", "output_dir": "out", "do_train": True, "do_eval": True}


def test_clipping_can_be_off():
    assert options.Classifier(**GIVEN, data_dir="data", max_grad_norm=0.0).max_grad_norm == 0


@pytest.mark.parametrize("name", ["learning_rate", "max_grad_norm", "num_train_epochs"])
def test_numbers_given_in_python_must_be_finite_too(name):
    with pytest.raises(InputError, match=f"--{name}=inf must be a finite number"):
        options.Classifier(**GIVEN, data_dir="data", **{name: float("inf")})


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, "There is no data. Give --task_name and --data_dir .*--train_file"),
        ({"task_name": "mrpc"}, "There is no data"),
        ({"train_file": "a.csv"}, "--do_eval needs --dev_file"),
        ({"dev_file": "a.csv"}, "--do_train needs --train_file"),
        ({"train_file": "a.csv", "data_dir": "b"}, "=a.csv and --data_dir=b both say"),
        ({"test_file": "a.csv", "task_name": "rte"}, "=a.csv and --task_name=rte both say"),
    ],
)
def test_the_data_is_named_once_and_completely(flags, message):
    with pytest.raises(InputError, match=message):
        options.Classifier(**GIVEN, **flags)


def test_a_user_s_own_files_need_neither_task_nor_directory():
    found = options.Classifier(**GIVEN, train_file="a.csv", dev_file="b.csv")
    assert (found.task_name, found.data_dir, found.text_column) == (None, None, None)


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ({}, 4),
        ({"jit_compile": True}, 1),
        ({"length_buckets": "32,64"}, 3),  # and the full length
        ({"length_buckets": "32,64", "num_micro_batches": 2}, 2),
        ({"num_micro_batches": 1}, 1),
    ],
)
def test_micro_batches_of_static_shape_are_as_many_as_lengths(flags, wanted):
    given = options.Classifier(**GIVEN, data_dir="data", **flags)
    assert given.micro_batches_per_replica == wanted
