import pytest

from bert_tf.errors import InputError
from serving import options
from serving.execution import parameters
from serving.execution.parameters import BatchingParameters
from serving.status import Code, ServingError

# The example of TensorFlow Serving's guide to batching, and the other fields of the message.
WHOLE = """
max_batch_size { value: 128 }
batch_timeout_micros { value: 0 }
max_enqueued_batches { value: 1000000 }
num_batch_threads { value: 8 }
thread_pool_name { value: "pool" }
allowed_batch_sizes: 32
allowed_batch_sizes: [64, 128]  # both forms of a list
pad_variable_length_inputs: true
enable_large_batch_splitting { value: true }
max_execution_batch_size { value: 64 }
"""


def read(tmp_path, text):
    path = tmp_path / "parameters.pbtxt"
    path.write_text(text)
    return parameters.from_file(str(path), "--batching_parameters_file=F")


def test_every_field_is_read(tmp_path):
    assert read(tmp_path, WHOLE) == BatchingParameters(
        max_batch_size=128,
        batch_timeout_micros=0,
        max_enqueued_batches=1_000_000,
        num_batch_threads=8,
        thread_pool_name="pool",
        allowed_batch_sizes=(32, 64, 128),
        pad_variable_length_inputs=True,
        enable_large_batch_splitting=True,
        max_execution_batch_size=64,
    )


def test_an_empty_file_leaves_tensorflow_serving_s_defaults(tmp_path, monkeypatch):
    monkeypatch.setattr(parameters.processors, "available", lambda: 6)
    given = read(tmp_path, "")
    assert (given.max_batch_size, given.capacity, given.batch_timeout_micros) == (1000, 1000, 0)
    assert (given.max_enqueued_batches, given.num_batch_threads) == (10, 6)
    assert given.filled_size(7) == 7


def test_a_batch_is_at_most_what_is_executed_at_once(tmp_path):
    assert read(tmp_path, WHOLE).capacity == 64
    unsplit = WHOLE.replace("value: true", "value: false")
    assert read(tmp_path, unsplit).capacity == 128  # the limit counts only where rows are split


def test_a_batch_is_filled_up_to_the_next_allowed_size(tmp_path):
    given = read(tmp_path, WHOLE)
    assert [given.filled_size(rows) for rows in (1, 32, 33, 64)] == [32, 32, 64, 64]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max_batch_size: 32", "Invalid protobuf file"),  # a number where a wrapper is wanted
        ("no_such_field { value: 1 }", "Invalid protobuf file"),
        ("num_batch_threads { value: 0 }", "num_batch_threads must be positive; was 0"),
        ("max_enqueued_batches { value: 0 }", "max_enqueued_batches must be positive; was 0"),
        ("batch_timeout_micros { value: -1 }", "must be non-negative; was -1"),
        (
            "max_batch_size { value: 64 } allowed_batch_sizes: 32",
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was 32; "
            "expected 64",
        ),
        ("allowed_batch_sizes: [32, 8, 1000]", "must be positive and monotonically increasing"),
        (
            "enable_large_batch_splitting { value: true } max_execution_batch_size { value: 2000 }",
            "must be greater than or equal to max_execution_batch_size",
        ),
    ],
)
def test_what_tensorflow_serving_refuses_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith("--batching_parameters_file=F: ")


def test_a_version_may_bring_its_own(tmp_path):
    assert parameters.of_model(str(tmp_path)) is None
    (tmp_path / "batching_params.pbtxt").write_text("max_batch_size { value: 3 }")
    assert parameters.of_model(str(tmp_path)).max_batch_size == 3
    (tmp_path / "batching_params.pbtxt").write_text("max_batch_size { value: -3 }")
    with pytest.raises(ServingError, match="max_batch_size must be positive; was -3") as caught:
        parameters.of_model(str(tmp_path))
    assert caught.value.code == Code.INVALID_ARGUMENT


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="F cannot be read: .*nowhere"):
        parameters.from_file(str(tmp_path / "nowhere"), "F")


def test_a_file_alone_does_not_turn_batching_on():
    options.BatchingFlags(batching_parameters_file="F", enable_batching=True)
    with pytest.raises(InputError, match="is set without --enable_batching"):
        options.BatchingFlags(batching_parameters_file="F")
