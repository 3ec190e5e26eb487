"""TensorFlow Serving's gRPC API of the model of `model_endpoint`, from tensorflow-serving-api."""

import concurrent.futures
import functools

import grpc
import pytest
import tensorflow as tf
from google.protobuf import json_format
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from serving.status import Code
from tests.reference import model_endpoint
from tests.reference.model_endpoint import Failure

_TYPES = {
    "DT_INT32": tf.int32,
    "DT_INT64": tf.int64,
    "DT_FLOAT": tf.float32,
    "DT_STRING": tf.string,
}


class Endpoint(model_endpoint.Endpoint):
    """Both APIs of one model."""

    def __init__(self):
        super().__init__()
        # TensorFlow Serving takes requests of any size, too.
        self._grpc = grpc.server(
            concurrent.futures.ThreadPoolExecutor(8),
            options=[("grpc.max_receive_message_length", -1)],
        )
        port = self._grpc.add_insecure_port("127.0.0.1:0")
        self.grpc_url = f"grpc://127.0.0.1:{port}"
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            _Prediction(self), self._grpc
        )
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(_Model(self), self._grpc)
        self._grpc.start()

    def close(self):
        self._grpc.stop(None)
        super().close()


def _answering(method):
    """A method of a service that answers a `Failure` with its code."""

    @functools.wraps(method)
    def answer(self, request, context):
        try:
            return method(self, request)
        except Failure as failure:
            code = next(each for each in grpc.StatusCode if each.value[0] == failure.args[0])
            context.abort(code, failure.args[1])

    return answer


class _Prediction(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, endpoint):
        self._endpoint = endpoint

    @_answering
    def Predict(self, request):
        inputs = {name: tf.make_ndarray(each).tolist() for name, each in request.inputs.items()}
        wanted = list(request.output_filter)
        spec = request.model_spec
        self._endpoint.begin("predict", inputs=inputs, spec=spec, outputs=wanted)
        name = spec.signature_name or "serving_default"
        if name not in model_endpoint.SIGNATURES:
            raise Failure(Code.FAILED_PRECONDITION, f'Serving signature key "{name}" not found.')
        types = model_endpoint.SIGNATURES[name][1]
        if unknown := set(wanted) - types.keys():
            words = f"output tensor alias not found in signature: {unknown}"
            raise Failure(Code.INVALID_ARGUMENT, words)
        response = predict_pb2.PredictResponse()
        for key, values in self._endpoint.predicted(name, inputs).items():
            if key in wanted or not wanted:
                tensor = tf.make_tensor_proto(values, _TYPES[types[key][0]])
                response.outputs[key].CopyFrom(tensor)
        return response

    @_answering
    def Classify(self, request):
        self._endpoint.begin("classify", spec=request.model_spec)
        response = classification_pb2.ClassificationResponse()
        for example in request.input.example_list.examples:
            row = response.result.classifications.add()
            row.classes.add(label="a", score=0.5)
            (text,) = example.features.feature["text"].bytes_list.value
            row.classes.add(label=text.decode(), score=0.25)
        return response

    @_answering
    def Regress(self, request):
        self._endpoint.begin("regress", spec=request.model_spec)
        response = regression_pb2.RegressionResponse()
        for example in request.input.example_list.examples:
            (number,) = example.features.feature["x"].float_list.value
            response.result.regressions.add(value=number / 2)
        return response

    @_answering
    def GetModelMetadata(self, request):
        self._endpoint.begin("metadata", spec=request.model_spec)
        assert list(request.metadata_field) == ["signature_def"]
        signatures = json_format.ParseDict(
            {"signature_def": model_endpoint.signature_defs()},
            get_model_metadata_pb2.SignatureDefMap(),
        )
        response = get_model_metadata_pb2.GetModelMetadataResponse()
        response.model_spec.version.value = model_endpoint.VERSION
        response.metadata["signature_def"].Pack(signatures)
        return response


class _Model(model_service_pb2_grpc.ModelServiceServicer):
    def __init__(self, endpoint):
        self._endpoint = endpoint

    @_answering
    def GetModelStatus(self, request):
        self._endpoint.begin("status", spec=request.model_spec)
        response = get_model_status_pb2.GetModelStatusResponse()
        state = get_model_status_pb2.ModelVersionStatus.State.Value(self._endpoint.state)
        response.model_version_status.add(version=model_endpoint.VERSION, state=state)
        return response


@pytest.fixture(scope="session")
def running():
    """One for all tests of a folder, whose conftest.py imports both fixtures."""
    endpoint = Endpoint()
    yield endpoint
    endpoint.close()


@pytest.fixture
def endpoint(running):
    """A server of both APIs that has not been asked yet."""
    running.reset()
    return running
