"""Messages without TensorFlow are those of tensorflow-serving-api."""

import subprocess
import sys

import pytest
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
    prediction_log_pb2,
)

from serving.client import messages

KINDS = [
    *(predict_pb2.PredictRequest, predict_pb2.PredictResponse),
    *(get_model_metadata_pb2.GetModelMetadataResponse, get_model_metadata_pb2.SignatureDefMap),
    *(get_model_status_pb2.GetModelStatusResponse, prediction_log_pb2.PredictionLog),
]


def fields(descriptor):
    return {
        (field.name, field.number, field.type, field.label if hasattr(field, "label") else "")
        for field in descriptor.fields
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.DESCRIPTOR.name)
def test_fields_and_bytes_are_the_same(kind):
    made = messages.kind(kind.DESCRIPTOR.name)
    assert made.DESCRIPTOR.full_name == kind.DESCRIPTOR.full_name
    assert fields(made.DESCRIPTOR) == fields(kind.DESCRIPTOR)


def test_what_one_writes_the_other_reads():
    request = messages.new("PredictRequest")
    request.model_spec.version.value = 7
    request.inputs["x"].float_val.extend([0.5, 2])
    read = predict_pb2.PredictRequest.FromString(request.SerializeToString())
    assert (read.model_spec.version.value, list(read.inputs["x"].float_val)) == (7, [0.5, 2])


def test_tensorflow_is_not_loaded():
    program = """
import sys
from serving.client import GrpcClient, messages
messages.new("PredictRequest")
GrpcClient("localhost:1", "m").close()
print(sorted({"tensorflow", "keras"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
