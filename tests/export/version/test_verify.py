import pytest

from export.kinds import checks
from export.version import verify


def test_another_models_graph_is_a_mismatch(cases, other_weights):
    case = cases["classify", 2]
    exported = case.exported
    assert exported.difference < 1e-5
    message = "Signature serving_default .* the Python path"
    with other_weights(case.model), pytest.raises(checks.Mismatch, match=message):
        verify.largest_difference(exported.path, exported.module, exported.signatures)
    # Nothing is remembered of these weights.
    ids_only = {"ids": exported.signatures["ids"]}
    assert verify.largest_difference(exported.path, exported.module, ids_only) < 1e-5
