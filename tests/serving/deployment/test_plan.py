"""What is decided of image, memory, threads and batching."""

import pytest

from bert_tf.errors import InputError
from export.images.operations import Findings
from export.images.table import images
from serving.deployment import plan
from serving.deployment.exported import Model
from serving.deployment.options import Deploy

LINES = ("max_batch_size { value: 64 }", "batch_timeout_micros { value: 2000 }")
MIB = 2**20


def model(name="topics", first="2.12", **values):
    """A model that images from `first` on can run."""
    names = list(images())
    lacking = names[: names.index(first)] if first else names
    problems = {image: ("X is missing",) if image in lacking else () for image in names}
    usual = {
        "labels": {"stable": 3},
        "findings": {3: Findings((), (), problems)},
        "num_bytes": 91 * MIB,
        "is_frozen": False,
        "batching": LINES,
        "not_batched": "",
    }
    return Model(name=name, path=f"models/{name}", **usual | values)


def make(*models, **values):
    paths = tuple(each.path for each in models)
    return plan.make(Deploy(model_base_path=paths, output_dir="deploy", **values), models)


def test_the_newest_image_that_can_run_all_models_is_taken():
    assert make(model()).image == "tensorflow/serving:2.20.0"
    assert make(model(), gpu=True).image == "tensorflow/serving:2.20.0-gpu"
    assert make(model(), model("other", first="2.20")).image == "tensorflow/serving:2.20.0"


def test_without_such_an_image_one_has_to_be_named():
    with pytest.raises(InputError, match="No image from 2.15 to 2.20 can run all of topics"):
        make(model(first=None))
    assert make(model(first=None), image="example.org/own").image == "example.org/own"


def test_a_named_image_is_checked():
    assert make(model(), image="2.19.0").image == "tensorflow/serving:2.19.0"
    assert make(model(), image="2.19.0-gpu", gpu=True).image == "tensorflow/serving:2.19.0-gpu"
    with pytest.raises(
        InputError, match="--image=2.19.1 cannot run version 3 of topics: X is miss"
    ):
        make(model(first="2.20"), image="2.19.1")


def test_every_tag_is_of_a_version_whose_operations_are_known():
    assert set(plan._TAGS) <= set(images())
    assert all(tag.startswith(f"{version}.") for version, tag in plan._TAGS.items())


def test_memory_is_for_the_server_and_three_copies_of_the_weights():
    assert make(model()).memory_mib == 1536  # 1024 + 3 * 91 = 1297
    assert make(model(), model("other")).memory_mib == 1792  # 1570
    assert make(model(), memory_mib=5000).memory_mib == 5000


def test_frozen_weights_take_more():
    assert make(model(is_frozen=True)).memory_mib == 3072  # 1024 + 20 * 91 = 2844


def test_there_are_as_many_threads_as_cpus():
    made = make(model(), cpus=6)
    assert made.batching == (*LINES, "num_batch_threads { value: 6 }")
    assert "--tensorflow_intra_op_parallelism=6" in made.server_flags


def test_models_that_are_batched_differently_keep_their_own_parameters():
    made = make(model(), model("other", batching=()))
    assert made.batching == ("num_batch_threads { value: 4 }",)
    assert "--enable_per_model_batching_parameters=true" in made.server_flags
    alike = make(model(), model("other"))
    assert "--enable_per_model_batching_parameters=true" not in alike.server_flags


def test_without_parameters_there_is_no_batching():
    made = make(model(batching=()))
    assert made.batching == ()
    assert [flag for flag in made.server_flags if "batching" in flag] == []


def test_a_request_ends_before_the_server_does():
    made = make(model())
    (flag,) = [flag for flag in made.server_flags if "rest_api_timeout" in flag]
    assert made.drain_seconds > int(flag.partition("=")[2]) / 1000


def test_the_volume_holds_several_versions():
    assert make(model()).volume_gib == 1
    assert make(model(num_bytes=2 * 2**30)).volume_gib == 10


def test_two_models_of_one_name_are_refused():
    with pytest.raises(InputError, match="two models are called topics"):
        make(model(), model())
