"""SavedModels with signatures and no weights, written without tracing."""

import pytest
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import saved_model_pb2

BATCHING = """\
# A comment.
max_batch_size { value: 64 }
batch_timeout_micros { value: 2000 }
num_batch_threads { value: 99 }
"""


def _tensor(infos, name, shape):
    infos[name].dtype = types_pb2.DT_STRING
    for size in shape:
        infos[name].tensor_shape.dim.add(size=size)


@pytest.fixture(scope="session")
def write_version():
    """Writes a version: `write_version(path, batching, outputs={...}, operation="Identity")`."""

    def write(path, batching=BATCHING, shape=(-1,), operation="Placeholder"):
        saved = saved_model_pb2.SavedModel(saved_model_schema_version=1)
        meta_graph = saved.meta_graphs.add()
        node = meta_graph.graph_def.node.add(name="x", op=operation)
        node.attr["dtype"].type = types_pb2.DT_STRING
        meta_graph.graph_def.versions.producer = 2000
        signature = meta_graph.signature_def["serving_default"]
        _tensor(signature.inputs, "text", (-1,))
        _tensor(signature.outputs, "label", shape)
        # As TensorFlow writes it: nothing in, nothing out.
        meta_graph.signature_def["__saved_model_init_op"].outputs["x"].dtype = 0
        path.mkdir(parents=True)
        (path / "saved_model.pb").write_bytes(saved.SerializeToString())
        if batching:
            (path / "batching_params.pbtxt").write_text(batching)

    return write


@pytest.fixture(scope="session")
def topics(tmp_path_factory, write_version):
    """Base path of a model with versions 1, 2 and 10, and what is none."""
    path = tmp_path_factory.mktemp("models") / "topics"
    for number in (1, 2, 10):
        write_version(path / str(number))
    (path / "11").mkdir()
    (path / "temporary-12").mkdir()
    return path
