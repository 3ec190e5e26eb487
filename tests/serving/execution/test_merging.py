import numpy as np
import pytest

from serving.execution import merging
from serving.status import Code, ServingError


def ids(*rows):
    return {"x": np.array(rows, np.int32)}


def test_requests_stand_one_behind_the_other():
    texts = [{"text": np.array(row, object)} for row in ([b"a", b"bb"], [b"c"])]
    batch = merging.merged(texts, 3, "none")
    assert batch["text"].tolist() == [b"a", b"bb", b"c"]
    answer = {"size": np.array([1, 2, 1])}
    assert [each["size"].tolist() for each in merging.divided(answer, [2, 1])] == [[1, 2], [1]]


def test_a_batch_is_filled_up_with_the_first_row_of_the_last_request():
    batch = merging.merged([ids([1, 2]), ids([3, 4], [5, 6])], 5, "none")
    assert batch["x"].tolist() == [[1, 2], [3, 4], [5, 6], [3, 4], [3, 4]]


def test_rows_are_filled_up_with_the_first_element_of_their_request():
    batch = merging.merged([ids([7, 8, 9]), ids([1], [2])], 3, "first")
    assert batch["x"].tolist() == [[7, 8, 9], [1, 1, 1], [2, 1, 1]]  # 1 is the tensor's first


def test_rows_are_filled_up_with_zeros_where_that_is_safe():
    batch = merging.merged([ids([7, 8, 9]), ids([1], [2])], 3, "zeros")
    assert batch["x"].tolist() == [[7, 8, 9], [1, 0, 0], [2, 0, 0]]
    assert batch["x"].dtype == np.int32


def test_rows_of_several_lengths_are_refused_without_padding():
    with pytest.raises(ServingError) as caught:
        merging.merged([ids([1]), ids([1, 2])], 2, "none")
    assert caught.value.code == Code.FAILED_PRECONDITION
    assert caught.value.message == (
        "Tensors with name 'x' from different tasks have different shapes and padding is turned "
        "off. Set pad_variable_length_inputs to true, or ensure that all tensors with the same "
        "name have equal dimensions starting with the first dim."
    )


def test_an_empty_row_has_no_first_element():
    with pytest.raises(ServingError, match="Got empty tensor in batch of non-empty tensors."):
        merging.merged([ids([1]), {"x": np.zeros([1, 0], np.int32)}], 2, "first")


def test_answers_of_several_widths_cannot_be_joined():
    with pytest.raises(ServingError, match="Tensor concat operation failed: ") as caught:
        merging.joined([{"y": np.zeros([1, 2])}, {"y": np.zeros([1, 3])}])
    assert caught.value.code == Code.INTERNAL


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({}, "Batching Run() must have at least one input tensor"),
        (
            {"x": np.array(1)},
            "Batching Run() input tensors must have at least one dimension",
        ),
        (
            {"x": np.zeros(2), "y": np.zeros(3)},
            "Batching Run() input tensors must have equal 0th-dimension size",
        ),
    ],
)
def test_inputs_must_have_the_same_rows(feeds, message):
    with pytest.raises(ServingError) as caught:
        merging.num_rows(feeds)
    assert (caught.value.code, caught.value.message) == (Code.INVALID_ARGUMENT, message)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array(1.0), "Batched output tensor has 0 dimensions"),
        (
            np.zeros(3),
            "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension "
            "sizes of the input tensors",
        ),
    ],
)
def test_an_answer_must_have_the_batch_s_rows(array, message):
    with pytest.raises(ServingError) as caught:
        merging.check_answer({"y": array}, 2)
    assert (caught.value.code, caught.value.message) == (Code.FAILED_PRECONDITION, message)
