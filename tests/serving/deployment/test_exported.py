"""What is found out about the versions of a model."""

import pytest

from bert_tf.errors import InputError
from serving.deployment import exported

NONE = {"stable": None, "canary": None, "previous": None}


def test_the_largest_version_with_a_model_in_it_is_the_stable_one(topics):
    model = exported.read(str(topics), NONE)
    assert (model.name, model.labels, model.versions) == ("topics", {"stable": 10}, [10])
    assert model.batching == (
        "max_batch_size { value: 64 }",
        "batch_timeout_micros { value: 2000 }",
    )
    assert (model.not_batched, model.is_frozen) == ("", False)
    assert model.images[0] == "2.12" and "2.20" in model.images


def test_each_label_has_its_version(topics):
    model = exported.read(f"{topics}/", NONE | {"stable": 1, "canary": 2})
    assert model.labels == {"stable": 1, "canary": 2}
    assert model.versions == [1, 2]
    assert model.num_bytes == 2 * exported.read(str(topics), NONE).num_bytes


def test_the_stable_version_is_the_largest_one_that_is_nothing_else(topics):
    model = exported.read(str(topics), NONE | {"canary": 10})
    assert model.labels == {"stable": 2, "canary": 10}


def test_a_canary_alone_is_refused(tmp_path, write_version):
    write_version(tmp_path / "m" / "4")
    with pytest.raises(InputError, match="No version is left for the label 'stable': .* has 4"):
        exported.read(str(tmp_path / "m"), NONE | {"canary": 4})


def test_a_version_that_is_not_there_is_refused_and_those_that_are_named(topics):
    with pytest.raises(InputError, match=r"--canary_version=11: .*It has 1, 2, 10\."):
        exported.read(str(topics), NONE | {"canary": 11})


@pytest.mark.parametrize("name", ["missing", "empty"])
def test_a_directory_without_versions_is_refused(tmp_path, name):
    (tmp_path / "empty" / "one").mkdir(parents=True)
    with pytest.raises(InputError, match="no version: .* `python -m export.savedmodel"):
        exported.read(str(tmp_path / name), NONE)


def test_a_name_that_urls_cannot_have_is_refused(tmp_path):
    with pytest.raises(InputError, match="'a b' cannot be the name"):
        exported.read(str(tmp_path / "a b"), NONE)


@pytest.mark.parametrize(
    ("batching", "shape", "reason"),
    [
        ("", (-1,), "version 1 has no batching_params.pbtxt"),
        ("max_batch_size { value: 8 }", (), "a tensor of serving_default has no batch dimension"),
        ("max_batch_size { value: 8 }", (3, 4), "serving_default has no batch dimension"),
    ],
)
def test_a_model_that_cannot_be_batched_says_why(tmp_path, write_version, batching, shape, reason):
    write_version(tmp_path / "m" / "1", batching, shape)
    model = exported.read(str(tmp_path / "m"), NONE)
    assert model.batching == () and reason in model.not_batched


def test_weights_in_the_graph_are_seen(tmp_path, write_version, monkeypatch):
    write_version(tmp_path / "m" / "1")
    monkeypatch.setattr(exported, "_FROZEN_BYTES", 10)
    assert exported.read(str(tmp_path / "m"), NONE).is_frozen


def test_an_operation_that_no_image_has_leaves_no_image(tmp_path, write_version):
    write_version(tmp_path / "m" / "1", operation="NoSuchOperation")
    assert exported.read(str(tmp_path / "m"), NONE).images == []
