import pytest

from bert_tf.errors import InputError
from serving import options

MODEL = {"model_base_path": "m"}


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({}, "--model_base_path is missing"),
        (MODEL | {"model_name": "a/b"}, "must not be empty or hold"),
        (MODEL | {"model_name": ""}, "must not be empty or hold"),
        (MODEL | {"file_system_poll_wait_seconds": -1}, "poll_wait_seconds=-1 must not be neg"),
        (MODEL | {"max_num_load_retries": -1}, "--max_num_load_retries=-1 must not be negative"),
        (MODEL | {"saved_model_tags": "serve,,gpu"}, "has an empty tag"),
        (MODEL | {"drain_seconds": -1}, "--drain_seconds=-1 must not be negative"),
        (MODEL | {"port": 8501}, "--port and --rest_api_port are both 8501"),
        (MODEL | {"port": 0, "rest_api_port": 0}, "No API is left"),
        (
            MODEL
            | {
                "tensorflow_session_parallelism": 1,
                "tensorflow_intra_op_parallelism": 1,
                "tensorflow_inter_op_parallelism": 1,
            },
            "give it alone, or the two others",
        ),
    ],
)
def test_flags_that_contradict_each_other_are_refused(flags, message):
    with pytest.raises(InputError, match=message):
        options.Server(**flags)


def test_a_model_config_file_needs_no_other_flag_of_models():
    assert options.Server(model_config_file="f", model_name="a/b").model_base_path is None


def test_a_socket_is_an_api_too():
    made = options.Server(**MODEL, port=0, rest_api_port=0, grpc_socket_path="s")
    assert made.grpc_socket_path == "s"


@pytest.mark.parametrize(
    ("flags", "threads"),
    [
        ({}, (0, 0)),
        ({"tensorflow_session_parallelism": 3}, (3, 3)),
        ({"tensorflow_intra_op_parallelism": 2}, (2, 0)),
        # As in TensorFlow Serving, one of the two is enough to overrule the third.
        ({"tensorflow_session_parallelism": 3, "tensorflow_inter_op_parallelism": 1}, (0, 1)),
    ],
)
def test_threads_of_sessions(flags, threads):
    assert options.ModelFlags(**MODEL, **flags).session_threads == threads


@pytest.mark.parametrize(
    ("flags", "threads"),
    [
        ({}, (0, 0)),
        ({"enable_batching": True}, (1, 1)),
        ({"enable_batching": True, "tensorflow_intra_op_parallelism": 4}, (4, 0)),
        ({"enable_batching": True, "tensorflow_session_parallelism": 2}, (2, 2)),
    ],
)
def test_a_batch_has_one_thread_unless_flags_say_more(flags, threads):
    assert options.Server(**MODEL, **flags).session_threads == threads
