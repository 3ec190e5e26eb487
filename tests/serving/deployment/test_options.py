"""Values that are refused before a model is read."""

import pytest

from bert_tf.errors import InputError
from serving.deployment.options import Deploy


def options(**values):
    return Deploy(**{"model_base_path": ("models/m",), "output_dir": "deploy"} | values)


def test_what_is_left_out_has_a_value_that_works():
    made = options()
    assert made.labels == {"stable": None, "canary": None, "previous": None}
    assert (made.deployment_name, made.replicas, made.gpu) == ("tensorflow-serving", 2, False)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"deployment_name": "My_server"}, "--deployment_name=My_server is no name for Kubernetes"),
        ({"deployment_name": "a" * 41}, "at most 40"),
        ({"deployment_name": "a-"}, "is no name"),
        ({"image": "2.19.1\nuser: root"}, "is no image"),
        ({"replicas": 0}, "--replicas=0 must be at least 1"),
        ({"cpus": -1}, "--cpus=-1 must be at least 1"),
        ({"memory_mib": 0}, "--memory_mib=0 must be at least 1"),
        ({"stable_version": 2, "canary_version": 2}, "must differ; found 2, 2"),
        ({"model_base_path": ("a", "b"), "canary_version": 2}, "are for one model; 2 were given"),
    ],
)
def test_refused(values, message):
    with pytest.raises(InputError, match=message):
        options(**values)


def test_images_of_any_registry_are_taken():
    for image in ("2.19.1", "2.19.1-gpu", "registry.example.org:5000/team/serving@sha256:ab12"):
        assert options(image=image).image == image
