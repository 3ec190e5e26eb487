import dataclasses

import pytest

from bert_tf.checkpoints.model_directory import new_model
from export.kinds import checks, table
from export.version import verify


def test_another_models_graph_is_a_mismatch(cases):
    case = cases["classify", 2]
    path = case.exported.path
    assert case.exported.difference < 1e-5
    module = table.make(case.served)
    assert verify.largest_difference(path, module, module.signatures()) < 1e-5
    other = new_model(case.directory.config, case.directory.metadata)
    module = table.make(dataclasses.replace(case.served, model=other))
    with pytest.raises(checks.Mismatch, match="Signature serving_default .* the Python path"):
        verify.largest_difference(path, module, module.signatures())
