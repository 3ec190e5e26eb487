"""Flags of long texts, each with what it needs."""

import pytest

from bert_tf import options
from bert_tf.errors import InputError

GIVEN = {"init_checkpoint": "bert", "output_dir": "out", "do_train": True, "data_dir": "data"}


def test_settings_are_what_differs_from_the_released_rows():
    assert options.Classifier(**GIVEN).task_settings == {}
    assert options.Classifier(**GIVEN, long_texts="windows", window_stride=9).task_settings == {
        "long_texts": "windows",
        "max_windows": 8,
        "window_stride": 9,
        "window_pooling": "mean",
    }
    assert options.Classifier(**GIVEN, document_context=True).task_settings == {
        "document_context": True
    }


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"max_windows": 0}, "--max_windows=0 must be above 0"),
        ({"window_pooling": "max"}, "--window_pooling=max needs --long_texts=windows"),
        ({"window_stride": 9}, "--window_stride=9 needs --long_texts=windows"),
        (
            {"long_texts": "windows", "window_stride": 11, "max_seq_length": 12},
            "would leave out tokens .* a window holds 10",
        ),
    ],
)
def test_flags_that_contradict_each_other_are_refused(flags, message):
    with pytest.raises(InputError, match=message):
        options.Classifier(**GIVEN, **flags)
