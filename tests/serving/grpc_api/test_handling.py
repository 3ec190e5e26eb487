"""From bytes to messages, whatever the bytes are."""

import random

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import classification_pb2, predict_pb2

INVALID = grpc.StatusCode.INVALID_ARGUMENT


def division():
    request = predict_pb2.PredictRequest()
    request.model_spec.name, request.model_spec.signature_name = "tiny", "divide"
    for name in ("x", "y"):
        request.inputs[name].CopyFrom(tf.make_tensor_proto(np.float32([1, 2])))
    return request


def classification():
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = "tiny", "classify"
    feature = request.input.example_list.examples.add().features.feature["x"]
    feature.float_list.value.append(0.25)
    return request


def failure(call, request):
    with pytest.raises(grpc.RpcError) as raised:
        call(request, timeout=60)
    return raised.value.code(), raised.value.details()


def raw(channel, method):
    return channel.unary_unary(f"/tensorflow.serving.PredictionService/{method}")


def test_bytes_that_are_no_message_are_an_internal_error_as_in_the_c_library(channel):
    code, details = failure(raw(channel, "Predict"), b"\xff\xff")
    assert code == grpc.StatusCode.INTERNAL
    assert details == "The request is not a tensorflow.serving.PredictRequest message."
    assert failure(raw(channel, "SessionRun"), b"")[0] == grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("letter", ["x", "東"])
def test_long_messages_are_cut_to_1024_bytes(channel, letter):
    """TensorFlow Serving's limit; gRPC would drop the answer of a much longer one."""
    request = division()
    request.model_spec.signature_name = letter * 3000
    code, details = failure(raw(channel, "Predict"), request.SerializeToString())
    assert code == grpc.StatusCode.FAILED_PRECONDITION
    message = details.removesuffix("...TRUNCATED")
    assert 1021 < len(message.encode()) <= 1024 < len(details.encode())
    assert message.startswith(f'Serving signature key "{letter * 300}')


def test_damaged_requests_never_crash_the_server(channel):
    """Bytes of a good request are changed, cut and repeated; each answer has one of the codes."""
    seeds = {"Predict": division(), "Classify": classification()}
    generator = random.Random(16)
    codes = set()
    for _ in range(300):
        method = generator.choice(list(seeds))
        call = raw(channel, method).future(
            damaged(seeds[method].SerializeToString(), generator), timeout=60
        )
        codes.add(call.code())
    assert codes <= {
        grpc.StatusCode.OK,
        INVALID,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.FAILED_PRECONDITION,
    }
    answer = raw(channel, "Predict")(division().SerializeToString(), timeout=60)
    quotients = predict_pb2.PredictResponse.FromString(answer).outputs["quotient"].float_val
    assert list(quotients) == [1, 1]


def damaged(content, generator):
    content = bytearray(content)
    for _ in range(generator.randint(1, 4)):
        index = generator.randrange(len(content))
        change = generator.randrange(4)
        if change == 0:
            content[index] = generator.randrange(256)
        elif change == 1:
            content[index] ^= 1 << generator.randrange(8)
        elif change == 2:
            del content[index : index + generator.randint(1, 8)]
        else:
            content[index:index] = content[index : index + generator.randint(1, 8)]
        content = content or bytearray(1)
    return bytes(content)
