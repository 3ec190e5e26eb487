"""Asks a server with one client library; runs in an environment where that library is installed.

Its argument is JSON: the client's name, the ports, the model, the texts. The last line that it
prints is a JSON object from what was asked to what was answered.
"""

import asyncio
import importlib.util
import json
import sys
import types
from unittest import mock

import numpy as np


def stubs(task):
    """tensorflow-serving-api and TensorFlow, as the tutorials use them."""
    import grpc
    import tensorflow as tf
    from tensorflow_serving.apis import (
        classification_pb2,
        get_model_metadata_pb2,
        get_model_status_pb2,
        model_service_pb2_grpc,
        predict_pb2,
        prediction_service_pb2_grpc,
    )

    channel = grpc.insecure_channel(f"localhost:{task['port']}")
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    request = predict_pb2.PredictRequest()
    request.model_spec.name = task["model"]
    request.model_spec.signature_name = "serving_default"
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(task["texts"], shape=[len(task["texts"])]))
    outputs = stub.Predict(request, 30.0).outputs
    yield "Predict", [list(outputs["length"].int_val), tf.make_ndarray(outputs["scores"]).tolist()]
    request.output_filter.append("length")
    outputs = stub.Predict.future(request, 30.0).result().outputs
    yield "Predict.future, output_filter", list(outputs["length"].int_val)

    examples = classification_pb2.ClassificationRequest()
    examples.model_spec.name, examples.model_spec.signature_name = task["model"], "classify"
    for text in task["texts"]:
        feature = tf.train.Feature(bytes_list=tf.train.BytesList(value=[text.encode()]))
        example = tf.train.Example(features=tf.train.Features(feature={"text": feature}))
        examples.input.example_list.examples.extend([example])
    rows = stub.Classify(examples, 30.0).result.classifications
    yield "Classify", [[one.score for one in row.classes] for row in rows]

    metadata = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    metadata.model_spec.name = task["model"]
    answer = stub.GetModelMetadata(metadata, 30.0)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    answer.metadata["signature_def"].Unpack(signatures)
    yield "GetModelMetadata", sorted(signatures.signature_def["serving_default"].outputs)

    status = get_model_status_pb2.GetModelStatusRequest()
    status.model_spec.name = task["model"]
    states = model_service_pb2_grpc.ModelServiceStub(channel).GetModelStatus(status, 30.0)
    yield "GetModelStatus", [[each.version, each.state] for each in states.model_version_status]


def min_tfs_client(task):
    from min_tfs_client.requests import TensorServingClient
    from min_tfs_client.tensors import tensor_proto_to_ndarray

    client = TensorServingClient(host="localhost", port=task["port"])
    for version in (None, 1):
        response = client.predict_request(
            model_name=task["model"],
            model_version=version,
            input_dict={"text": np.array(task["texts"])},
        )
        arrays = {name: tensor_proto_to_ndarray(each) for name, each in response.outputs.items()}
        name = "predict_request" if version is None else "predict_request, version"
        yield name, [arrays["length"].tolist(), arrays["scores"].tolist()]


def _ovms(client, task):
    texts = task["texts"]
    # Its version 0 is the newest one on its own server, and no version on TensorFlow Serving.
    outputs = client.predict({"text": texts}, task["model"], model_version=1)
    yield "predict", [np.array(outputs["length"]).tolist(), np.array(outputs["scores"]).tolist()]
    metadata = client.get_model_metadata(task["model"], model_version=1)
    if "outputs" not in metadata:  # over HTTP it knows its own server's keys, and gives the JSON
        metadata = metadata["metadata"]["signature_def"]["signature_def"]["serving_default"]
    yield "get_model_metadata", sorted(metadata["outputs"])
    status = client.get_model_status(task["model"], model_version=1)
    yield "get_model_status", [[number, each["state"]] for number, each in status.items()]


def ovmsclient_grpc(task):
    import ovmsclient

    yield from _ovms(ovmsclient.make_grpc_client(f"localhost:{task['port']}"), task)


def ovmsclient_http(task):
    import ovmsclient

    yield from _ovms(ovmsclient.make_http_client(f"localhost:{task['rest_port']}"), task)


def tf_serving_client(task):
    """Its own copy of the old stubs; one function of TensorFlow 1 is stood for."""
    (folder,) = importlib.util.find_spec("tf_serving_client").submodule_search_locations
    sys.path.insert(0, folder)
    from tensorflow.core.framework import tensor_pb2, types_pb2

    util = types.ModuleType("tensorflow.contrib.util")
    util.make_tensor_proto = lambda data, dtype: _string_tensor(tensor_pb2, types_pb2, data)
    sys.modules["tensorflow.contrib"] = types.ModuleType("tensorflow.contrib")
    sys.modules["tensorflow.contrib.util"] = util
    from tf_serving_client.predict_client.predict_client import PredictClient

    data = [{"tensor_name": "text", "data": task["texts"], "dtype": None}]
    response = PredictClient(f"localhost:{task['port']}").predict(data, task["model"], 1)
    yield "predict", _numbers(response)


def serving_utils(task):
    """A client over grpclib, another HTTP/2 stack; two functions of TensorFlow are stood for."""
    tf = mock.MagicMock()
    tf.compat.v1 = tf
    names = ("tensorflow", "tensorflow.compat", "tensorflow.compat.v1")
    # Parts for saving models, which need all of TensorFlow.
    for name in (*names, "serving_utils.loader", "serving_utils.saver"):
        sys.modules[name] = tf
    from serving_utils.client import Client
    from serving_utils.protos import tensor_pb2, types_pb2

    tf.make_tensor_proto = lambda data: _string_tensor(tensor_pb2, types_pb2, data)
    tf.make_ndarray = lambda proto: proto

    async def ask():
        client = Client(host="localhost", port=task["port"], loop=asyncio.get_running_loop())
        inputs = {"text": task["texts"]}
        both = [
            client.predict(inputs, model_name=task["model"]),
            await client.async_predict(inputs, model_name=task["model"]),
        ]
        names = ["length"]
        many = (
            client.async_predict({"text": ["a" * size]}, names, model_name=task["model"])
            for size in range(32)
        )
        sizes = [list(each["length"].int_val) for each in await asyncio.gather(*many)]
        return both, sizes

    both, sizes = asyncio.run(ask())
    for name, outputs in zip(("predict", "async_predict"), both, strict=True):
        yield name, _numbers(types.SimpleNamespace(outputs=outputs))
    yield "32 async_predict at once", sizes


def _string_tensor(tensor_pb2, types_pb2, data):
    values = [text.encode() for text in data]
    proto = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=values)
    proto.tensor_shape.dim.add(size=len(values))
    return proto


def _numbers(response):
    scores = np.array(response.outputs["scores"].float_val).reshape(-1, 2)
    return [list(response.outputs["length"].int_val), scores.tolist()]


CLIENTS = {
    "tensorflow-serving-api": stubs,
    "min-tfs-client": min_tfs_client,
    "ovmsclient, gRPC": ovmsclient_grpc,
    "ovmsclient, HTTP": ovmsclient_http,
    "tf-serving-client": tf_serving_client,
    "serving-utils": serving_utils,
}


def main():
    task = json.loads(sys.argv[1])
    answers = {}
    for name, answer in CLIENTS[task["client"]](task):
        answers[name] = json.loads(json.dumps(answer, default=list))
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
