import concurrent.futures

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

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


def test_errors_that_quote_bytes_are_readable(servable):
    with pytest.raises(ServingError, match="Could not parse example input") as raised:
        servable.run("classify", {"inputs": np.array([b"\xff\xff"], object)})
    assert raised.value.code == Code.INVALID_ARGUMENT


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


def test_what_cannot_be_loaded_has_a_code(tmp_path, base_path):
    def refusal(path, *settings):
        with pytest.raises(ServingError) as raised:
            servable_lib.Servable("m", 1, str(path), *settings)
        return raised.value.code, raised.value.message

    code, message = refusal(tmp_path)
    assert code == Code.NOT_FOUND and "Could not find SavedModel .pb" in message
    (tmp_path / "saved_model.pb").write_bytes(b"damaged")
    assert refusal(tmp_path)[0] == Code.INVALID_ARGUMENT
    settings = servable_lib.SessionSettings(("serve", "gpu"))
    assert "could not be found in SavedModel" in refusal(base_path / "7", settings)[1]


def test_inputs_with_a_default_may_be_left_out():
    signature = meta_graph_pb2.SignatureDef()
    for name in ("text", "threshold"):
        signature.inputs[name].CopyFrom(meta_graph_pb2.TensorInfo(name=f"{name}:0", dtype=1))
    signature.defaults["threshold"].CopyFrom(tf.make_tensor_proto(0.5))
    made = servable_lib.Signature.from_def(signature)
    assert list(made.inputs) == ["text", "threshold"]
    assert made.defaults == {"threshold": np.float32(0.5)}
