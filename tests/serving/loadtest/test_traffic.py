"""Rows that are made up."""

import numpy as np
import pytest

from bert_tf.errors import InputError
from serving.client import TensorInfo
from serving.loadtest import traffic


def test_inputs_have_the_types_and_shapes_of_the_signature():
    inputs = {
        "context": TensorInfo("DT_STRING", (-1,)),
        "choices": TensorInfo("DT_STRING", (-1, -1)),
        "ids": TensorInfo("DT_INT32", (-1, -1)),
        "fixed": TensorInfo("DT_FLOAT", (-1, 3)),
    }
    made = traffic.made_up(inputs, batch_size=4, num_words=10)
    shapes = {name: values.shape for name, values in made[0].items()}
    assert shapes == {"context": (4,), "choices": (4, 2), "ids": (4, 10), "fixed": (4, 3)}
    assert made[0]["fixed"].dtype.kind == "f" and np.all(made[0]["ids"] == 1)
    lengths = [len(text.split()) for each in made for text in each["context"]]
    assert min(lengths) == 5 and max(lengths) == 15
    assert made[0]["context"][0] != made[1]["context"][0]


@pytest.mark.parametrize("shape", [None, (), (8, 2)])
def test_an_input_without_rows_is_refused(shape):
    inputs = {"x": TensorInfo("DT_FLOAT", shape)}
    with pytest.raises(InputError, match="Input x has shape .* Give --input_file or --batch_size"):
        traffic.made_up(inputs, batch_size=4, num_words=10)
