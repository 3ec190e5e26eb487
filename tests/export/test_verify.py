import pytest

from bert_tf.checkpoints.model_directory import new_model
from export import verify


def test_another_models_graph_is_a_mismatch(cases):
    case = cases["classify", 2]
    path = case.exported.path
    assert case.exported.difference < 1e-5
    assert verify.largest_difference(path, case.model, case.directory, 31) < 1e-5
    other = new_model(case.directory.config, case.directory.metadata)
    with pytest.raises(verify.Mismatch, match="Signature serving_default .* the Python path"):
        verify.largest_difference(path, other, case.directory, 31)
