"""Predict: named tensors in, named tensors out."""

import dataclasses
import inspect
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

import numpy as np

from serving.methods import counting
from serving.methods.core import Core
from serving.models.servable import Servable, Signature, Tensors
from serving.models.spec import ModelSpec
from serving.monitoring import prediction_logs
from serving.status import invalid

FeedsOf = Callable[[Servable], Tensors | Awaitable[Tensors]]


@dataclasses.dataclass(frozen=True)
class Prediction:
    """The answer of a model.

    Attributes:
      servable: which model and version answered; it may be unloaded by now.
      outputs: tensors by output name; strings are bytes in arrays of objects.
    """

    servable: Servable
    signature: Signature
    outputs: Mapping[str, np.ndarray]


async def predict(
    core: Core,
    spec: ModelSpec,
    feeds_of: FeedsOf,
    *,
    outputs: Sequence[str] = (),
    timeout_seconds: float | None = None,
) -> Prediction:
    """Runs a signature of a model.

    Args:
      feeds_of: gives the tensors by input name for the servable that was found, as JSON is read by
        the signature; a coroutine function where that takes long. It may raise ServingError.
      outputs: names of those wanted; none: all.
      timeout_seconds: for the run; None: no limit.

    Raises:
      ServingError: from the lookup, from `feeds_of`, for a wrong name in `outputs`, or from the
        run.
    """
    with core.lease(spec) as servable:
        made = feeds_of(servable)
        feeds = await made if inspect.isawaitable(made) else made
        signature = servable.signature(spec.signature_name)
        _check_outputs(outputs, signature.outputs)
        with counting.run(core.metrics, spec.name, "Predict"):
            tensors = await core.runner.run(
                servable, spec.signature_name, feeds, outputs, timeout_seconds
            )
    core.log(
        servable, spec, lambda target: prediction_logs.predict(target, feeds, tensors, outputs)
    )
    return Prediction(servable, signature, tensors)


def _check_outputs(wanted: Sequence[str], known: Collection[str]) -> None:
    seen = set()
    for name in wanted:
        if name not in known:
            raise invalid(
                f"output tensor alias not found in signature: {name} Outputs expected to be in "
                f"the set {{{','.join(sorted(known))}}}."
            )
        if name in seen:
            raise invalid(f"duplicate output tensor alias: {name}")
        seen.add(name)
