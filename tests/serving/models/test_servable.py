import concurrent.futures

import numpy as np
import pytest

from bert_tf.errors import InputError
from serving.models import servable as servable_lib
from serving.status import Code, ServingError


def test_every_output_is_computed(servable):
    feeds = {"text": np.array([b"ab", b"cde"], object)}
    answer = servable.run("", feeds)
    assert list(answer) == ["length", "thirds", "upper"]
    np.testing.assert_array_equal(answer["length"], [2, 3])


def test_threads_do_not_mix_answers(servable):
    def length(size):
        feeds = {"text": np.array([b"x" * size] * 3, object)}
        return servable.run("serving_default", feeds)["length"].tolist()

    with concurrent.futures.ThreadPoolExecutor(8) as executor:
        assert list(executor.map(length, range(40))) == [[size] * 3 for size in range(40)]


def test_errors_in_the_graph_keep_their_code(servable):
    with pytest.raises(ServingError, match="Incompatible shapes") as raised:
        servable.run("divide", {"x": np.ones(2, np.float32), "y": np.ones(3, np.float32)})
    assert raised.value.code == Code.INVALID_ARGUMENT
    assert raised.value.message.startswith("Incompatible shapes")


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({}, r"input size does not match signature: 0!=1 len\({}\) != len\({text}\). "),
        ({"text": np.zeros((2, 1), object)}, r"Input text has shape \[2, 1\], expected \[-1\]"),
        ({"text": np.zeros(2, np.float32)}, r"Expects arg\[0\] to be string but float is provided"),
    ],
)
def test_what_does_not_fit_the_signature_is_an_invalid_argument(servable, feeds, message):
    with pytest.raises(ServingError, match=message) as raised:
        servable.run("", feeds)
    assert raised.value.code == Code.INVALID_ARGUMENT


def test_a_damaged_model_is_an_input_error(tmp_path):
    (tmp_path / "saved_model.pb").write_bytes(b"damaged")
    with pytest.raises(InputError, match="cannot be loaded"):
        servable_lib.Servable("m", 1, str(tmp_path))
