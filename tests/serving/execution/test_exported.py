import json

import numpy as np
import pytest

from serving.execution import exported
from serving.execution.parameters import BatchingParameters
from serving.models.servable import Signature, TensorSpec

LIMITS = BatchingParameters(
    num_batch_threads=1,
    max_batch_size=3,
    enable_large_batch_splitting=True,
    max_execution_batch_size=2,
)
IDS = ("input_word_ids", "input_mask", "input_type_ids")


class Version:
    """A servable of which only the signature is known."""

    def __init__(self, path, inputs, outputs):
        self.path = str(path)
        self._signature = Signature(
            {name: TensorSpec(name, *spec) for name, spec in inputs.items()},
            {name: TensorSpec(name, *spec) for name, spec in outputs.items()},
        )

    def signature(self, name):
        return self._signature


@pytest.fixture
def ours(tmp_path):
    (tmp_path / "assets.extra").mkdir()
    (tmp_path / "assets.extra" / "model_card.json").write_text(json.dumps({}))
    return tmp_path


def ids_version(path, **outputs):
    return Version(path, dict.fromkeys(IDS, ("int32", (-1, -1))), outputs)


def merging(version, pads_with_first=False, outputs=None):
    outputs = outputs or version.signature("").outputs
    return exported.merging(version, "ids", frozenset(outputs), pads_with_first)


def test_another_s_model_follows_tensorflow_serving(tmp_path):
    version = ids_version(tmp_path, logits=("float", (-1, 2)))
    assert merging(version).padding == "none"
    assert merging(version, pads_with_first=True).padding == "first"
    assert not merging(version).by_shape


def test_ids_of_a_classifier_are_filled_up_with_zeros(ours):
    version = ids_version(ours, label=("string", (-1,)), logits=("float", (-1, 3)))
    merge = merging(version, pads_with_first=True)
    assert (merge.padding, merge.by_shape) == ("zeros", False)
    same = {name: np.zeros([2, 4], np.int32) for name in IDS}
    assert merge.takes(same, LIMITS)
    assert not merge.takes(same | {"input_mask": np.zeros([2, 3], np.int32)}, LIMITS)


def test_ids_with_an_answer_for_each_token_are_merged_by_shape(ours):
    version = ids_version(ours, tags=("string", (-1, -1)), logits=("float", (-1, -1, 3)))
    assert (merging(version).padding, merging(version).by_shape) == ("none", True)


def test_answers_are_cut_where_the_widest_row_of_the_request_ends(ours):
    shape = (-1, -1)
    outputs = {"words": ("string", shape), "starts": ("int32", shape), "scores": ("float", shape)}
    outputs |= {"entities": ("string", shape), "entity_scores": ("float", shape)}
    version = Version(ours, {"text": ("string", (-1,))}, outputs)
    answer = {
        "words": np.array([[b"a", b"", b""], [b"a", b"b", b""]], object),
        "starts": np.array([[0, -1, -1], [0, 2, -1]]),
        "scores": np.array([[0.5, 0, 0], [0.0, 0.25, 0]]),
        "entities": np.array([[b"", b""], [b"", b""]], object),
        "entity_scores": np.zeros([2, 2]),
    }
    cut = merging(version).cut(answer)
    # What was cut cannot be joined again.
    texts = [{"text": np.array([b"a"] * size, object)} for size in (1, 2, 3, 4)]
    assert [merging(version).takes(each, LIMITS) for each in texts] == [True, True, False, True]
    assert cut["words"].tolist() == [[b"a", b""], [b"a", b"b"]]
    assert cut["starts"].tolist() == [[0, -1], [0, 2]]
    assert cut["scores"].tolist() == [[0.5, 0], [0, 0.25]]
    assert cut["entities"].shape == cut["entity_scores"].shape == (2, 0)


def test_answers_of_three_axes_are_cut_too(ours):
    outputs = {"tokens": ("string", (-1, -1, 2)), "probabilities": ("float", (-1, -1, 2))}
    version = Version(ours, {"text": ("string", (-1,))}, outputs)
    tokens = np.array([[[b"a", b"b"], [b"", b""]]], object)
    cut = merging(version).cut({"tokens": tokens, "probabilities": np.zeros([1, 2, 2])})
    assert cut["tokens"].tolist() == [[[b"a", b"b"]]]
    assert cut["probabilities"].shape == (1, 1, 2)


def test_a_request_runs_alone_without_the_output_that_tells_where_to_cut(ours):
    outputs = {"words": ("string", (-1, -1)), "scores": ("float", (-1, -1))}
    version = Version(ours, {"text": ("string", (-1,))}, outputs)
    assert merging(version, outputs=["scores"]) is None
    assert merging(version, outputs=["words"]).axes[0][0] == "words"
