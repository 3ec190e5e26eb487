"""A small SavedModel with one signature per rule of the REST contract."""

import pytest


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
    tf.saved_model.save(
        tf.Module(),
        str(path / "7"),
        signatures={"serving_default": default, **functions, "half": half, "brain": brain},
    )
    (path / "3").mkdir()
    (path / "temporary-9").mkdir()
    return path


@pytest.fixture(scope="session")
def servable(base_path):
    """Version 7 of the model, loaded."""
    from serving.models import servable

    return servable.Servable("tiny", 7, str(base_path / "7"))
