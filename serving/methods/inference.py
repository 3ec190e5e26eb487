"""Classify, Regress and MultiInference: tf.Examples in, labels with scores or numbers out."""

import dataclasses
import time
from collections.abc import Sequence

import numpy as np

from serving.methods import counting
from serving.methods.core import Core
from serving.models.servable import DEFAULT_SIGNATURE, Servable, Signature, Tensors
from serving.models.spec import ModelSpec
from serving.monitoring import prediction_logs
from serving.status import Code, ServingError, invalid

CLASSIFY = "tensorflow/serving/classify"
REGRESS = "tensorflow/serving/regress"

_INPUTS = "inputs"
_CLASSES, _SCORES = "classes", "scores"
_OUTPUTS = "outputs"


@dataclasses.dataclass(frozen=True)
class Classification:
    """Labels and scores of each example.

    Attributes:
      servable: which model and version answered; it may be unloaded by now.
      labels: bytes in an array of objects [n, num_classes]; None: the model gives none.
      scores: float32 [n, num_classes]; None: the model gives none. One of both is there.
    """

    servable: Servable
    labels: np.ndarray | None
    scores: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class Regression:
    """A number for each example.

    Attributes:
      servable: which model and version answered; it may be unloaded by now.
      values: float32 [n].
    """

    servable: Servable
    values: np.ndarray


@dataclasses.dataclass(frozen=True)
class Task:
    """What a multi-inference request wants of its examples.

    Attributes:
      method_name: `CLASSIFY` or `REGRESS`.
    """

    spec: ModelSpec
    method_name: str


async def classify(
    core: Core,
    spec: ModelSpec,
    examples: Sequence[bytes],
    *,
    timeout_seconds: float | None = None,
) -> Classification:
    """Classifies serialized tf.Examples.

    Raises:
      ServingError: from the lookup; for a signature that does not classify, or no examples; from
        the run; or for outputs that are no classes or scores.
    """
    with core.lease(spec) as servable:
        signature = _signature(servable, spec)
        _check_classification(signature)
        feeds = _feeds(examples)
        with counting.run(core.metrics, spec.name, "Classify"):
            outputs = await core.runner.run(
                servable, spec.signature_name, feeds, (), timeout_seconds
            )
        counting.examples(core.metrics, spec.name, len(examples))
    core.log(servable, spec, lambda target: prediction_logs.classify(target, examples))
    return _classification(servable, outputs, len(examples))


async def regress(
    core: Core,
    spec: ModelSpec,
    examples: Sequence[bytes],
    *,
    timeout_seconds: float | None = None,
) -> Regression:
    """Gives a number for each serialized tf.Example.

    Raises:
      ServingError: from the lookup; for a signature that is no regression, or no examples; from
        the run; or for outputs that are no numbers.
    """
    with core.lease(spec) as servable:
        signature = _signature(servable, spec)
        _check_regression(signature)
        feeds = _feeds(examples)
        with counting.run(core.metrics, spec.name, "Regress"):
            outputs = await core.runner.run(
                servable, spec.signature_name, feeds, (), timeout_seconds
            )
        counting.examples(core.metrics, spec.name, len(examples))
    core.log(servable, spec, lambda target: prediction_logs.regress(target, examples))
    return _regression(servable, outputs, len(examples))


async def multi_inference(
    core: Core,
    tasks: Sequence[Task],
    examples: Sequence[bytes],
    *,
    timeout_seconds: float | None = None,
) -> list[Classification | Regression]:
    """Answers several signatures of one model for the same examples.

    TensorFlow Serving computes them in one run of the session; here they run one after the other,
    with the same answers.

    Raises:
      ServingError: as of `classify` and `regress`; also for tasks of different models, two of one
        signature, or another method.
    """
    spec = tasks[0].spec if tasks else ModelSpec("")
    deadline = None if timeout_seconds is None else time.monotonic() + timeout_seconds
    with core.lease(spec) as servable:
        _check_tasks(servable, tasks)
        feeds = _feeds(examples)
        answers: list[Classification | Regression] = []
        for task in tasks:
            left = None if deadline is None else max(deadline - time.monotonic(), 0.001)
            name = task.spec.signature_name
            outputs = await core.runner.run(servable, name, feeds, (), left)
            read = _classification if task.method_name == CLASSIFY else _regression
            answers.append(read(servable, outputs, len(examples)))
        counting.examples(core.metrics, spec.name, len(examples))
    return answers


def _signature(servable: Servable, spec: ModelSpec) -> Signature:
    name = spec.signature_name or DEFAULT_SIGNATURE
    if name not in servable.signatures:
        raise invalid(f"No signature was found with the name: {name}")
    return servable.signatures[name]


def _check_tasks(servable: Servable, tasks: Sequence[Task]) -> None:
    seen = set()
    for task in tasks:
        if not task.spec.name:
            raise invalid("Found ModelSpec with an empty model name.")
        if task.spec.name != tasks[0].spec.name:
            raise invalid(
                "All ModelSpecs in a MultiInferenceRequest must access the same model name."
            )
        name = task.spec.signature_name or DEFAULT_SIGNATURE
        if name in seen:
            raise invalid(f"Duplicate evaluation of signature: {name}")
        seen.add(name)
        if name not in servable.signatures:
            raise invalid(f"Requested signature not found in model graph: {name}")
        if task.method_name == CLASSIFY:
            _check_classification(servable.signatures[name])
        elif task.method_name == REGRESS:
            _check_regression(servable.signatures[name])
        else:
            raise ServingError(
                Code.UNIMPLEMENTED, f"Unsupported signature method_name: {task.method_name}"
            )


def _check_classification(signature: Signature) -> None:
    """Names decide; `method_name` of signatures that TensorFlow 2 wrote is always predict."""
    if len(signature.inputs) != 1:
        raise invalid("Expected one input Tensor.")
    if len(signature.outputs) not in (1, 2):
        raise invalid(f"Expected one or two output Tensors, found {len(signature.outputs)}")
    if _INPUTS not in signature.inputs:
        raise invalid(f"No classification inputs found in SignatureDef: {_described(signature)}")
    if not signature.outputs.keys() & {_CLASSES, _SCORES}:
        raise invalid(
            f'Expected classification signature outputs to contain at least one of "{_CLASSES}" '
            f'or "{_SCORES}". Signature was: {_described(signature)}'
        )


def _check_regression(signature: Signature) -> None:
    if len(signature.inputs) != 1:
        raise invalid("Expected one input Tensor.")
    if len(signature.outputs) != 1:
        raise invalid("Expected one output Tensor.")
    if _INPUTS not in signature.inputs:
        raise invalid(f"No regression inputs found in SignatureDef: {_described(signature)}")
    if _OUTPUTS not in signature.outputs:
        raise invalid(f"No regression outputs found in SignatureDef: {_described(signature)}")


def _described(signature: Signature) -> str:
    return f"inputs {{{','.join(signature.inputs)}}} outputs {{{','.join(signature.outputs)}}}"


def _feeds(examples: Sequence[bytes]) -> Tensors:
    if not examples:
        raise invalid("Input is empty.")
    values = np.empty(len(examples), object)
    values[:] = examples
    return {_INPUTS: values}


def _classification(servable: Servable, outputs: Tensors, num_examples: int) -> Classification:
    classes, scores = outputs.get(_CLASSES), outputs.get(_SCORES)
    for name, tensor, dtype in ((_CLASSES, classes, "STRING"), (_SCORES, scores, "FLOAT")):
        if tensor is None:
            continue
        if tensor.ndim != 2:
            raise invalid(
                "Expected Tensor shape: [batch_size num_classes] but got "
                f"{_shape_text(tensor.shape)}"
            )
        if _data_type(tensor) != f"DT_{dtype}":
            raise invalid(f"Expected {name} Tensor of DT_{dtype}. Got: {_data_type(tensor)}")
        if len(tensor) != num_examples:
            raise invalid(
                f"Expected {name} output batch size of {num_examples}. Got: {len(tensor)}"
            )
    if classes is not None and scores is not None and classes.shape != scores.shape:
        raise invalid(
            "Tensors class and score should match in dim_size(1). Got "
            f"{classes.shape[1]} vs. {scores.shape[1]}"
        )
    return Classification(servable, classes, scores)


def _regression(servable: Servable, outputs: Tensors, num_examples: int) -> Regression:
    tensor = outputs[_OUTPUTS]
    if tensor.ndim != 1 and not (tensor.ndim == 2 and tensor.shape[1] == 1):
        raise invalid(
            "Expected output Tensor shape to be either [batch_size] or [batch_size, 1] but got "
            f"{_shape_text(tensor.shape)}"
        )
    if len(tensor) != num_examples:
        raise invalid(
            f"Input batch size did not match output batch size: {num_examples} vs. {len(tensor)}"
        )
    if tensor.dtype != np.float32:
        raise invalid(f"Expected output Tensor of DT_FLOAT.  Got: {_data_type(tensor)}")
    return Regression(servable, tensor.reshape(-1))


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _data_type(tensor: np.ndarray) -> str:
    """TensorFlow's name of a type, such as DT_FLOAT."""
    if tensor.dtype == object:
        return "DT_STRING"
    names = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}
    return f"DT_{names.get(tensor.dtype.name, tensor.dtype.name.upper())}"
