"""Parameters of batching: TensorFlow Serving's BatchingParameters."""

import dataclasses
import os
from collections.abc import Sequence
from typing import Any

from bert_tf.errors import InputError
from serving import text_protos
from serving.execution import processors
from serving.status import invalid

# TensorFlow Serving looks for this name next to saved_model.pb.
MODEL_FILE = "batching_params.pbtxt"

_MESSAGE = {
    "BatchingParameters": {
        "max_batch_size": (1, "Int64Value"),
        "batch_timeout_micros": (2, "Int64Value"),
        "max_enqueued_batches": (3, "Int64Value"),
        "num_batch_threads": (4, "Int64Value"),
        "thread_pool_name": (5, "StringValue"),
        "allowed_batch_sizes": (6, "repeated int64"),
        "pad_variable_length_inputs": (7, "bool"),
        "enable_large_batch_splitting": (8, "BoolValue"),
        "max_execution_batch_size": (9, "Int64Value"),
    }
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class BatchingParameters:
    """How requests are merged. Defaults are TensorFlow Serving's.

    Of CPUs, those count that the process may use, which are fewer in a container.

    Attributes:
      max_batch_size: most rows of a request, and of a batch unless large requests are split.
      batch_timeout_micros: longest time that a request waits for others.
      num_batch_threads: batches computed at once, of all models.
      max_enqueued_batches: most batches that wait in each queue.
      allowed_batch_sizes: a batch is filled up to one of them; none: any size.
      pad_variable_length_inputs: whether rows of several lengths are filled up, with the first
        element of their tensor.
      enable_large_batch_splitting: whether a request may be divided among batches.
      max_execution_batch_size: most rows of a batch then; None: `max_batch_size`.

    Raises:
      InputError: parameters that TensorFlow Serving refuses.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    num_batch_threads: int = dataclasses.field(default_factory=lambda: processors.available())
    max_enqueued_batches: int = 10
    allowed_batch_sizes: tuple[int, ...] = ()
    pad_variable_length_inputs: bool = False
    enable_large_batch_splitting: bool = False
    max_execution_batch_size: int | None = None
    thread_pool_name: str = ""

    def __post_init__(self) -> None:
        for name in ("num_batch_threads", "max_batch_size", "max_enqueued_batches"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be positive; was {getattr(self, name)}")
        if self.batch_timeout_micros < 0:
            raise InputError(
                f"batch_timeout_micros must be non-negative; was {self.batch_timeout_micros}"
            )
        if not 0 < self.capacity <= self.max_batch_size:
            raise InputError(
                "When enable_large_batch_splitting is true, max_batch_size must be greater than "
                "or equal to max_execution_batch_size, which must be positive; they are "
                f"{self.max_batch_size} and {self.capacity}"
            )
        _check_allowed(self.allowed_batch_sizes, self.max_batch_size)

    @property
    def capacity(self) -> int:
        """Most rows of a batch."""
        if self.enable_large_batch_splitting and self.max_execution_batch_size is not None:
            return self.max_execution_batch_size
        return self.max_batch_size

    def filled_size(self, num_rows: int) -> int:
        """The smallest allowed size for a batch of this many rows."""
        return next((size for size in self.allowed_batch_sizes if size >= num_rows), num_rows)


def _check_allowed(sizes: Sequence[int], max_batch_size: int) -> None:
    if not sizes:
        return
    if sizes[0] < 1 or any(a >= b for a, b in zip(sizes, sizes[1:], strict=False)):
        raise InputError(
            "allowed_batch_sizes entries must be positive and monotonically increasing; they are "
            f"{list(sizes)}"
        )
    if sizes[-1] != max_batch_size:
        raise InputError(
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was "
            f"{sizes[-1]}; expected {max_batch_size}"
        )


def from_file(path: str, what: str) -> BatchingParameters:
    """Reads parameters in protobuf's text format.

    Args:
      what: the file in messages.

    Raises:
      InputError: the file cannot be read, or holds what is refused.
    """
    message = text_protos.message_classes(_MESSAGE)["BatchingParameters"]()
    text_protos.parse_file(path, message, what)
    try:
        return BatchingParameters(**_values(message))
    except InputError as error:
        raise InputError(f"{what}: {error}") from None


def _values(message: Any) -> dict[str, Any]:
    """The fields that are given; a scalar without a wrapper counts as given if it is not 0."""
    values: dict[str, Any] = {}
    for field, value in message.ListFields():
        if field.name == "allowed_batch_sizes":
            values[field.name] = tuple(value)
        else:
            values[field.name] = value if isinstance(value, bool) else value.value
    return values


def of_model(path: str) -> BatchingParameters | None:
    """The parameters that a version brings along, or None if it has none.

    Args:
      path: of the version's directory.

    Raises:
      ServingError: INVALID_ARGUMENT; the file is damaged, or holds what is refused.
    """
    file = os.path.join(path, MODEL_FILE)
    if not os.path.isfile(file):
        return None
    try:
        return from_file(file, file)
    except InputError as error:
        raise invalid(str(error)) from None
