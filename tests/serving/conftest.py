"""A small SavedModel with one signature per rule of the contract, and a core around it."""

import concurrent.futures
import contextlib

import pytest

from serving.models.spec import VersionStatus
from serving.status import Code, ServingError, invalid


@pytest.fixture(scope="session")
def base_path(tmp_path_factory):
    """Base path of a model with versions 3 (empty) and 7 (served)."""
    import tensorflow as tf

    def spec(dtype, name, rank=1):
        return tf.TensorSpec([None] * rank, dtype, name=name)

    @tf.function(input_signature=[spec(tf.string, "text")])
    def default(text):
        length = tf.strings.length(text)
        thirds = tf.cast(length, tf.float32)[:, tf.newaxis] / tf.constant([1.0, 3.0])
        return {"length": length, "thirds": thirds, "upper": tf.strings.upper(text)}

    @tf.function(input_signature=[spec(tf.float32, "x"), spec(tf.float32, "y")])
    def divide(x, y):
        return {"quotient": x / y}

    types = [tf.bool, tf.float64, tf.int8, tf.int64, tf.uint64, tf.string]
    names = ["truth", "double", "small", "large", "unsigned", "raw_bytes"]

    @tf.function(input_signature=[spec(t, n) for t, n in zip(types, names, strict=True)])
    def same(truth, double, small, large, unsigned, raw_bytes):
        tensors = [truth, double, small, large, unsigned, raw_bytes]
        return {f"same_{n}": tf.identity(t) for n, t in zip(names, tensors, strict=True)}

    @tf.function(input_signature=[spec(tf.int32, "index", rank=2)])
    def gather(index):
        return {"value": tf.gather(tf.constant([2.5, 3.5, 5.5]), index)}

    @tf.function(input_signature=[spec(tf.float32, "x")])
    def total(x):
        return {"sum": tf.reduce_sum(x), "x": x + 0.0}

    @tf.function(input_signature=[spec(tf.float16, "x")])
    def half(x):
        return {"y": tf.cast(x, tf.float32)}

    @tf.function(input_signature=[spec(tf.float32, "x")])
    def brain(x):
        return {"y": tf.cast(x, tf.bfloat16)}

    path = tmp_path_factory.mktemp("models") / "tiny"
    functions = {"divide": divide, "same": same, "gather": gather, "total": total}
    functions |= _of_examples()
    tf.saved_model.save(
        tf.Module(),
        str(path / "7"),
        signatures={"serving_default": default, **functions, "half": half, "brain": brain},
    )
    _give_default(path / "7" / "saved_model.pb", "divide", "y", 2.0)
    (path / "3").mkdir()
    (path / "temporary-9").mkdir()
    return path


def _of_examples():
    """Functions of serialized tf.Examples, whose x is the score of the second class."""
    import tensorflow as tf

    def x_of(inputs):
        features = {"x": tf.io.FixedLenFeature([], tf.float32)}
        return tf.io.parse_example(inputs, features)["x"]

    inputs = tf.TensorSpec([None], tf.string, name="inputs")

    @tf.function(input_signature=[inputs])
    def classify(inputs):
        x = x_of(inputs)
        classes = tf.repeat(tf.constant([["low", "high"]]), tf.size(x), axis=0)
        return {"classes": classes, "scores": tf.stack([1 - x, x], axis=1)}

    @tf.function(input_signature=[inputs])
    def regress(inputs):
        return {"outputs": 10 * x_of(inputs)}

    return {"classify": classify, "regress": regress}


def _give_default(path, signature, name, value):
    """Writes the default of an input into a SavedModel, as tools other than TensorFlow do."""
    import tensorflow as tf
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    defaults = saved.meta_graphs[0].signature_def[signature].defaults
    defaults[name].CopyFrom(tf.make_tensor_proto([value]))
    path.write_bytes(saved.SerializeToString())


@pytest.fixture(scope="session")
def servable(base_path):
    """Version 7 of the model, loaded."""
    from serving.models import servable

    return servable.Servable("tiny", 7, str(base_path / "7"))


class OneModel:
    """`Models` of one version, labelled "stable"."""

    def __init__(self, servable):
        self.servable = servable
        self.leases = 0
        self.configured = []

    @contextlib.contextmanager
    def lease(self, spec):
        if spec.label not in (None, "stable"):
            raise invalid(f"Unrecognized servable version label: {spec.label}")
        known = (self.servable.name, self.servable.version)
        if (spec.name, spec.version or known[1]) != known:
            wanted = f"Latest({spec.name})" if spec.version is None else "Specific(...)"
            raise ServingError(Code.NOT_FOUND, f"Servable not found for request: {wanted}")
        self.leases += 1
        try:
            yield self.servable
        finally:
            self.leases -= 1

    def statuses(self, name, version=None):
        if name != self.servable.name or version not in (None, self.servable.version):
            raise ServingError(Code.NOT_FOUND, f"Could not find any versions of model {name}")
        failed = VersionStatus(6, "END", Code.INVALID_ARGUMENT, "broken")
        return [VersionStatus(self.servable.version, "AVAILABLE")] + [failed] * (version is None)

    def configure(self, configs):
        self.configured.append(list(configs))


@pytest.fixture(scope="module")
def core(servable):
    from serving.execution.direct import DirectRunner
    from serving.methods.core import Core
    from serving.monitoring.metrics import Metrics

    with concurrent.futures.ThreadPoolExecutor(2) as executor:
        yield Core(OneModel(servable), DirectRunner(executor), Metrics(), 30.0)
