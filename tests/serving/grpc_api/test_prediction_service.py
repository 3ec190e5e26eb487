"""PredictionService over gRPC, asked with the stubs of tensorflow-serving-api."""

import asyncio
import concurrent.futures
import threading

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    inference_pb2,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from serving.options import Server
from tests.reference import snippets

INVALID = grpc.StatusCode.INVALID_ARGUMENT


@pytest.fixture(scope="module")
def stub(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


def predict_request(signature_name="", name="tiny", **inputs):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature_name
    for alias, value in inputs.items():
        is_proto = isinstance(value, tf.make_tensor_proto(0).__class__)
        request.inputs[alias].CopyFrom(value if is_proto else tf.make_tensor_proto(value))
    return request


def texts(*values, **options):
    return predict_request(text=tf.make_tensor_proto(list(values), tf.string), **options)


def inputs_of(message, *values):
    for value in values:
        feature = tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        features = tf.train.Features(feature={"x": feature})
        message.example_list.examples.append(tf.train.Example(features=features))


def failure(call, request, **options):
    with pytest.raises(grpc.RpcError) as raised:
        call(request, timeout=60, **options)
    return raised.value.code(), raised.value.details()


def test_predict_answers_in_typed_fields_with_the_version_and_the_signature(stub):
    answer = stub.Predict(texts("ab", "cde"), timeout=60)
    spec = answer.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("tiny", 7, "serving_default")
    assert sorted(answer.outputs) == ["length", "thirds", "upper"]
    assert list(answer.outputs["length"].int_val) == [2, 3]
    assert list(answer.outputs["upper"].string_val) == [b"AB", b"CDE"]
    assert list(answer.outputs["thirds"].float_val) == pytest.approx([2, 2 / 3, 3, 1])
    assert [dim.size for dim in answer.outputs["thirds"].tensor_shape.dim] == [2, 2]
    assert not answer.outputs["thirds"].tensor_content


def test_the_code_of_the_page_runs(channel, options, capsys):
    """docs/grpc.md, but for the address and the model."""
    (block,) = snippets.blocks("docs/grpc.md")
    for old, new in (
        ("localhost:8500", f"unix:{options.grpc_socket_path}"),
        ("topics", "tiny"),
        ('"label"', '"upper"'),
    ):
        assert old in block
        block = block.replace(old, new)
    exec(block, {})
    assert capsys.readouterr().out == "[b'WHICH ROCKET FLEW TO THE MOON?'] 7\n"


def test_output_filter_selects(stub):
    request = texts("ab")
    request.output_filter.append("length")
    assert sorted(stub.Predict(request, timeout=60).outputs) == ["length"]


def test_versions_and_labels(stub):
    request = texts("ab")
    request.model_spec.version.value = 7
    assert stub.Predict(request, timeout=60).model_spec.version.value == 7
    request.model_spec.version_label = "stable"
    assert stub.Predict(request, timeout=60).model_spec.version.value == 7
    request.model_spec.version_label = "canary"
    assert failure(stub.Predict, request) == (
        INVALID,
        "Unrecognized servable version label: canary",
    )


def test_defaulted_inputs_may_be_left_out(stub):
    answer = stub.Predict(predict_request("divide", x=np.float32([3, 4])), timeout=60)
    assert list(answer.outputs["quotient"].float_val) == [1.5, 2]


def test_many_values_are_read_and_written_elsewhere(stub):
    x, y = np.arange(200_000, dtype=np.float32), np.full(200_000, 2, np.float32)
    answer = stub.Predict(predict_request("divide", x=x, y=y), timeout=60)
    np.testing.assert_array_equal(np.array(answer.outputs["quotient"].float_val), x / 2)


def test_requests_at_once_are_not_mixed(stub):
    with concurrent.futures.ThreadPoolExecutor(8) as executor:
        answers = executor.map(lambda n: stub.Predict(texts("x" * n), timeout=60), range(64))
        assert [list(each.outputs["length"].int_val) for each in answers] == [
            [n] for n in range(64)
        ]


@pytest.mark.parametrize(
    ("request_", "code", "message"),
    [
        (predict_pb2.PredictRequest(), INVALID, "Missing ModelSpec"),
        (predict_request(name=""), INVALID, "ModelSpec has no name specified."),
        (
            predict_request(name="other"),
            grpc.StatusCode.NOT_FOUND,
            "Servable not found for request: Latest(other)",
        ),
        (
            predict_request("no"),
            grpc.StatusCode.FAILED_PRECONDITION,
            'Serving signature key "no" not found.',
        ),
        (
            predict_request(),
            INVALID,
            "input size does not match signature: 0!=1 len({}) != len({text}). Sent extra: {}. "
            "Missing but required: {text}.",
        ),
        (
            predict_request("divide", y=[1.0]),
            INVALID,
            "Signature input alias: x(feed name: divide_x:0) not found in request and no default "
            "value provided. Inputs expected to be in the request {y}, or default input alias "
            "set: y",
        ),
        (
            predict_request("divide", x=[1.0], z=[1.0]),
            INVALID,
            "Inputs contains invalid name. Used request inputs: x, request input: x,z",
        ),
        (
            predict_request(text=[1.0]),
            INVALID,
            "Expects arg[0] to be string but float is provided",
        ),
        (
            predict_request(text=[["a"]]),
            INVALID,
            "Input text has shape [1, 1], expected [-1] (-1: any size)",
        ),
        (
            predict_request("divide", x=np.float32([1, 2]), y=np.float32([1, 2, 3])),
            INVALID,
            "Incompatible shapes: [2] vs. [3]",
        ),
    ],
)
def test_refused_predictions(stub, request_, code, message):
    got, details = failure(stub.Predict, request_)
    assert got == code
    assert details.startswith(message)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            ["no"],
            "output tensor alias not found in signature: no Outputs expected to be in the set "
            "{length,thirds,upper}.",
        ),
        (["upper", "upper"], "duplicate output tensor alias: upper"),
    ],
)
def test_refused_filters(stub, names, message):
    request = texts("a")
    request.output_filter.extend(names)
    assert failure(stub.Predict, request) == (INVALID, message)


def test_classify(stub):
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = "tiny", "classify"
    inputs_of(request.input, 0.25, 1)
    answer = stub.Classify(request, timeout=60)
    rows = [
        [(one.label, one.score) for one in row.classes] for row in answer.result.classifications
    ]
    assert rows == [[("low", 0.75), ("high", 0.25)], [("low", 0), ("high", 1)]]
    assert answer.model_spec.signature_name == "classify"
    request.model_spec.signature_name = "no"
    assert failure(stub.Classify, request) == (
        INVALID,
        "No signature was found with the name: no",
    )
    assert failure(stub.Classify, classification_pb2.ClassificationRequest()) == (
        INVALID,
        "Missing ModelSpec",
    )


def test_regress_with_a_context(stub):
    request = regression_pb2.RegressionRequest()
    request.model_spec.name, request.model_spec.signature_name = "tiny", "regress"
    given = request.input.example_list_with_context
    given.context.features.feature["x"].float_list.value.append(0.5)
    given.examples.add()
    given.examples.add().features.feature["x"].float_list.value.append(0.25)
    answer = stub.Regress(request, timeout=60)
    assert [each.value for each in answer.result.regressions] == [5, 2.5]
    assert answer.model_spec.version.value == 7
    request.ClearField("input")
    assert failure(stub.Regress, request) == (INVALID, "Input is empty.")


def test_multi_inference(stub):
    request = inference_pb2.MultiInferenceRequest()
    for name in ("regress", "classify"):
        task = request.tasks.add(method_name=f"tensorflow/serving/{name}")
        task.model_spec.name, task.model_spec.signature_name = "tiny", name
    inputs_of(request.input, 0.5)
    regression, classification = stub.MultiInference(request, timeout=60).results
    assert regression.regression_result.regressions[0].value == 5
    assert regression.model_spec.signature_name == "regress"
    assert len(classification.classification_result.classifications[0].classes) == 2
    request.tasks[1].CopyFrom(request.tasks[0])
    assert failure(stub.MultiInference, request) == (
        INVALID,
        "Duplicate evaluation of signature: regress",
    )


def test_metadata_packs_the_signatures(stub):
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    assert failure(stub.GetModelMetadata, request) == (INVALID, "Missing ModelSpec")
    request.model_spec.name = "tiny"
    assert failure(stub.GetModelMetadata, request) == (
        INVALID,
        "GetModelMetadataRequest must specify at least one metadata_field",
    )
    request.metadata_field.append("signature_def")
    answer = stub.GetModelMetadata(request, timeout=60)
    assert (answer.model_spec.name, answer.model_spec.version.value) == ("tiny", 7)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(signatures)
    assert signatures.signature_def["divide"].inputs["x"].name == "divide_x:0"
    assert "__saved_model_init_op" in signatures.signature_def
    request.metadata_field.append("other")
    assert failure(stub.GetModelMetadata, request) == (
        INVALID,
        "Metadata field other is not supported",
    )


def test_long_texts_are_refused(stub):
    message = (
        "has 8388609 bytes, more than the limit of 8388608; shorten it, or start the server with "
        "a larger --grpc_max_text_bytes"
    )
    text = "x" * (2**23 + 1)
    assert failure(stub.Predict, texts("a", text)) == (INVALID, f"A text of text {message}")
    request = classification_pb2.ClassificationRequest()
    request.model_spec.name, request.model_spec.signature_name = "tiny", "classify"
    feature = request.input.example_list.examples.add().features.feature["x"]
    feature.bytes_list.value.append(text.encode())
    assert failure(stub.Classify, request)[1].startswith("A text of inputs has 8388")


def test_a_client_that_goes_away_frees_its_place(stub, core, monkeypatch):
    begun, ended = threading.Event(), threading.Event()

    async def waiting(*arguments):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with monkeypatch.context() as patched:
        patched.setattr(core.runner, "run", waiting)
        call = stub.Predict.future(texts("a"), timeout=60)
        assert begun.wait(30)
        before = core.metrics.request_count.value("tiny", "CANCELLED")
        call.cancel()
        assert ended.wait(30)
    stub.Predict(texts("a"), timeout=60)
    assert core.metrics.request_count.value("tiny", "CANCELLED") == before + 1
    assert core.models.leases == 0


def test_requests_are_counted_as_tensorflow_serving_counts_them(stub, core):
    count = core.metrics.request_count.value
    before = count("tiny", "OK"), count("tiny", "FAILED_PRECONDITION")
    stub.Predict(texts("a"), timeout=60)
    failure(stub.Predict, predict_request("no"))
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = "tiny"
    stub.GetModelMetadata(request, timeout=60)  # not counted over gRPC
    assert (count("tiny", "OK"), count("tiny", "FAILED_PRECONDITION")) == (
        before[0] + 1,
        before[1] + 1,
    )
    assert 'request_latency_count{model_name="tiny",API="Predict",entrypoint="GRPC"}' in (
        core.metrics.page()
    )


def test_the_deadline_of_a_client_bounds_the_run(stub, core, monkeypatch):
    given = []
    run = core.runner.run

    async def watching(servable, signature_name, feeds, outputs=(), timeout_seconds=None):
        given.append(timeout_seconds)
        return await run(servable, signature_name, feeds, outputs, timeout_seconds)

    monkeypatch.setattr(core.runner, "run", watching)
    stub.Predict(texts("a"), timeout=50)
    stub.Predict(texts("a"))
    assert 0 < given[0] < 51  # gRPC rounds it up
    assert given[1] is None


def test_tensor_content_by_a_flag(core, loop, tmp_path):
    from serving.grpc_api.server import GrpcServer

    options = Server(
        model_base_path="unused",
        port=0,
        grpc_socket_path=str(tmp_path / "s"),
        enable_serialization_as_tensor_content=True,
    )
    server = GrpcServer(options)
    loop.run(server.start(core))
    try:
        with grpc.insecure_channel(f"unix:{tmp_path / 's'}") as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            answer = stub.Predict(texts("ab", "cde"), timeout=60)
        assert tf.make_ndarray(answer.outputs["length"]).tolist() == [2, 3]
        assert answer.outputs["length"].tensor_content == np.int32([2, 3]).tobytes()
    finally:
        loop.run(server.stop(0))
