"""Tensors of several requests become those of one batch, and the batch's answer becomes theirs."""

from collections.abc import Mapping, Sequence

import numpy as np

from serving.models.servable import Tensors
from serving.status import Code, ServingError, invalid


def num_rows(feeds: Tensors) -> int:
    """Rows of a request.

    Raises:
      ServingError: INVALID_ARGUMENT; the inputs do not have the same number of rows.
    """
    if not feeds:
        raise invalid("Batching Run() must have at least one input tensor")
    if any(array.ndim == 0 for array in feeds.values()):
        raise invalid("Batching Run() input tensors must have at least one dimension")
    sizes = {array.shape[0] for array in feeds.values()}
    if len(sizes) > 1:
        raise invalid("Batching Run() input tensors must have equal 0th-dimension size")
    return sizes.pop()


def merged(
    requests: Sequence[Tensors],
    num_rows_wanted: int,
    padding: str,
) -> dict[str, np.ndarray]:
    """The inputs of a batch.

    Args:
      requests: their inputs by name, each with the same names, types and ranks; one or more.
      num_rows_wanted: rows of the batch; it is filled up with copies of a row, as TensorFlow
        Serving does, since any row that a client sent can be computed.
      padding: what fills rows up to the longest: `none`, they must be equally long; `first`, the
        first element of each request's tensor, as in TensorFlow Serving; `zeros`.

    Raises:
      ServingError: FAILED_PRECONDITION, rows are not equally long; INVALID_ARGUMENT, a tensor
        without elements cannot be filled up with its first one.
    """
    batch = {}
    for name in requests[0]:
        arrays = [request[name] for request in requests]
        shape = tuple(max(sizes) for sizes in zip(*(a.shape[1:] for a in arrays), strict=True))
        if any(array.shape[1:] != shape for array in arrays):
            arrays = _padded(name, arrays, shape, padding)
        missing = num_rows_wanted - sum(len(array) for array in arrays)
        if missing:
            arrays.append(np.repeat(arrays[-1][:1], missing, axis=0))
        batch[name] = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
    return batch


def _padded(
    name: str, arrays: Sequence[np.ndarray], shape: tuple[int, ...], padding: str
) -> list[np.ndarray]:
    if padding == "none":
        raise ServingError(
            Code.FAILED_PRECONDITION,
            f"Tensors with name '{name}' from different tasks have different shapes and padding is "
            "turned off. Set pad_variable_length_inputs to true, or ensure that all tensors with "
            "the same name have equal dimensions starting with the first dim.",
        )
    result = []
    for array in arrays:
        if not array.size and padding == "first":
            raise invalid("Got empty tensor in batch of non-empty tensors.")
        filled = np.full(
            (len(array), *shape), array.flat[0] if padding == "first" else 0, array.dtype
        )
        filled[tuple(slice(size) for size in array.shape)] = array
        result.append(filled)
    return result


def check_answer(answer: Mapping[str, np.ndarray], num_rows_wanted: int) -> None:
    """Checks that an answer can be divided among requests.

    Raises:
      ServingError: FAILED_PRECONDITION.
    """
    for array in answer.values():
        if array.ndim == 0:
            raise ServingError(Code.FAILED_PRECONDITION, "Batched output tensor has 0 dimensions")
        if array.shape[0] != num_rows_wanted:
            raise ServingError(
                Code.FAILED_PRECONDITION,
                "Batched output tensor's 0th dimension does not equal the sum of the 0th "
                "dimension sizes of the input tensors",
            )


def divided(answer: Tensors, sizes: Sequence[int]) -> list[dict[str, np.ndarray]]:
    """The answers of requests of these sizes, which stand one behind the other in a batch."""
    ends = np.cumsum(sizes)
    return [
        {name: array[end - size : end] for name, array in answer.items()}
        for size, end in zip(sizes, ends, strict=True)
    ]


def joined(answers: Sequence[Tensors]) -> dict[str, np.ndarray]:
    """The answer of a request that was divided among batches.

    Raises:
      ServingError: INTERNAL, as of TensorFlow Serving; rows of several batches differ in shape.
    """
    if len(answers) == 1:
        return dict(answers[0])
    try:
        return {name: np.concatenate([answer[name] for answer in answers]) for name in answers[0]}
    except ValueError as error:
        raise ServingError(Code.INTERNAL, f"Tensor concat operation failed: {error}") from None
