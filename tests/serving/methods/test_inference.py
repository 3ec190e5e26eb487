"""Classify, Regress and MultiInference as both transports call them."""

import asyncio

import numpy as np
import pytest

from serving.methods import inference
from serving.methods.core import Core
from serving.methods.inference import CLASSIFY, REGRESS, Task
from serving.models.spec import ModelSpec
from serving.monitoring.metrics import Metrics
from serving.status import Code, ServingError


def spec(signature_name):
    return ModelSpec("tiny", signature_name=signature_name)


def examples(*values):
    import tensorflow as tf

    def example(value):
        feature = tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        return tf.train.Example(features=tf.train.Features(feature={"x": feature}))

    return [example(value).SerializeToString() for value in values]


class Giving:
    """A `Runner` whose every answer is given."""

    def __init__(self, **outputs):
        self.outputs = outputs

    async def run(self, servable, signature_name, feeds, outputs=(), timeout_seconds=None):
        return self.outputs


def with_runner(core, runner):
    return Core(core.models, runner, Metrics(), 30.0)


def test_classify(core):
    answer = asyncio.run(inference.classify(core, spec("classify"), examples(0.25, 1)))
    assert answer.servable.version == 7
    assert answer.labels.tolist() == [[b"low", b"high"]] * 2
    assert answer.scores.tolist() == [[0.75, 0.25], [0, 1]]


def test_regress_gives_a_vector_of_a_column_too(core):
    answer = asyncio.run(inference.regress(core, spec("regress"), examples(0.25, 1)))
    assert answer.values.tolist() == [2.5, 10]
    column = with_runner(core, Giving(outputs=np.ones((2, 1), np.float32)))
    answer = asyncio.run(inference.regress(column, spec("regress"), examples(0, 0)))
    assert answer.values.tolist() == [1, 1]


def test_multi_inference_answers_in_the_order_of_the_tasks(core):
    tasks = [Task(spec("regress"), REGRESS), Task(spec("classify"), CLASSIFY)]
    before = core.metrics.request_example_count_total.value("tiny")
    regression, classification = asyncio.run(
        inference.multi_inference(core, tasks, examples(0.5), timeout_seconds=30)
    )
    assert regression.values.tolist() == [5]
    assert classification.scores.tolist() == [[0.5, 0.5]]
    assert core.metrics.request_example_count_total.value("tiny") == before + 1


@pytest.mark.parametrize(
    ("method", "name", "message"),
    [
        (inference.classify, "no", "No signature was found with the name: no"),
        (inference.classify, "divide", "Expected one input Tensor."),
        (inference.classify, "", "Expected one or two output Tensors, found 3"),
        (
            inference.classify,
            "gather",
            "No classification inputs found in SignatureDef: inputs {index} outputs {value}",
        ),
        (
            inference.classify,
            "regress",
            'Expected classification signature outputs to contain at least one of "classes" or '
            '"scores". Signature was: inputs {inputs} outputs {outputs}',
        ),
        (inference.regress, "no", "No signature was found with the name: no"),
        (inference.regress, "divide", "Expected one input Tensor."),
        (inference.regress, "classify", "Expected one output Tensor."),
        (
            inference.regress,
            "gather",
            "No regression inputs found in SignatureDef: inputs {index} outputs {value}",
        ),
    ],
)
def test_signatures_that_do_something_else_are_refused(core, method, name, message):
    with pytest.raises(ServingError) as raised:
        asyncio.run(method(core, spec(name), examples(1)))
    assert (raised.value.code, raised.value.message) == (Code.INVALID_ARGUMENT, message)


@pytest.mark.parametrize(
    ("tasks", "code", "message"),
    [
        ([], Code.INVALID_ARGUMENT, "ModelSpec has no name specified."),
        (
            [Task(spec("classify"), CLASSIFY), Task(ModelSpec(""), CLASSIFY)],
            Code.INVALID_ARGUMENT,
            "Found ModelSpec with an empty model name.",
        ),
        (
            [Task(spec("classify"), CLASSIFY), Task(ModelSpec("other"), CLASSIFY)],
            Code.INVALID_ARGUMENT,
            "All ModelSpecs in a MultiInferenceRequest must access the same model name.",
        ),
        (
            [Task(spec("classify"), CLASSIFY)] * 2,
            Code.INVALID_ARGUMENT,
            "Duplicate evaluation of signature: classify",
        ),
        (
            [Task(spec("no"), CLASSIFY)],
            Code.INVALID_ARGUMENT,
            "Requested signature not found in model graph: no",
        ),
        (
            [Task(spec("classify"), "other")],
            Code.UNIMPLEMENTED,
            "Unsupported signature method_name: other",
        ),
    ],
)
def test_tasks_that_do_not_fit_are_refused(core, tasks, code, message):
    with pytest.raises(ServingError) as raised:
        asyncio.run(inference.multi_inference(core, tasks, examples(1)))
    assert (raised.value.code, raised.value.message) == (code, message)


def test_a_request_without_examples_is_refused(core):
    with pytest.raises(ServingError, match="Input is empty."):
        asyncio.run(inference.classify(core, spec("classify"), []))


STRINGS = np.full((2, 3), b"a", object)


@pytest.mark.parametrize(
    ("outputs", "message"),
    [
        (
            {"classes": STRINGS[0]},
            "Expected Tensor shape: [batch_size num_classes] but got [3]",
        ),
        ({"classes": np.ones((2, 3))}, "Expected classes Tensor of DT_STRING. Got: DT_DOUBLE"),
        ({"scores": STRINGS}, "Expected scores Tensor of DT_FLOAT. Got: DT_STRING"),
        (
            {"scores": np.ones((1, 3), np.float32)},
            "Expected scores output batch size of 2. Got: 1",
        ),
        (
            {"classes": STRINGS, "scores": np.ones((2, 2), np.float32)},
            "Tensors class and score should match in dim_size(1). Got 3 vs. 2",
        ),
    ],
)
def test_outputs_that_are_no_classes_are_refused(core, outputs, message):
    core = with_runner(core, Giving(**outputs))
    with pytest.raises(ServingError) as raised:
        asyncio.run(inference.classify(core, spec("classify"), examples(1, 2)))
    assert (raised.value.code, raised.value.message) == (Code.INVALID_ARGUMENT, message)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            np.ones((2, 3), np.float32),
            "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got "
            "[2,3]",
        ),
        (np.ones(3, np.float32), "Input batch size did not match output batch size: 2 vs. 3"),
        (np.ones(2, np.int32), "Expected output Tensor of DT_FLOAT.  Got: DT_INT32"),
    ],
)
def test_outputs_that_are_no_numbers_are_refused(core, output, message):
    core = with_runner(core, Giving(outputs=output))
    with pytest.raises(ServingError) as raised:
        asyncio.run(inference.regress(core, spec("regress"), examples(1, 2)))
    assert (raised.value.code, raised.value.message) == (Code.INVALID_ARGUMENT, message)
