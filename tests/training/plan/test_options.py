"""The flags of a plan are checked; those of run_pretraining.py are the same here."""

import dataclasses

import pytest

from bert_tf import options
from bert_tf.errors import InputError
from bert_tf.training.plan.options import PlanOptions


@pytest.mark.parametrize("mfu", [0.0, -0.1, 1.01, 35.0, float("nan")])
def test_a_utilisation_that_is_no_share_is_refused(mfu):
    with pytest.raises(InputError, match="--assumed_mfu=.* must be in"):
        PlanOptions(hardware="cpu", bert_config_file="", assumed_mfu=mfu)


@pytest.mark.parametrize("mfu", [None, 0.35, 1.0])
def test_a_share_is_taken(mfu):
    assert PlanOptions(hardware="cpu", bert_config_file="", assumed_mfu=mfu).assumed_mfu == mfu


@pytest.mark.parametrize(
    "name", ["train_batch_size", "max_seq_length", "num_train_steps", "max_predictions_per_seq"]
)
def test_numbers_are_above_zero(name):
    with pytest.raises(InputError, match=f"--{name}=0 must be above 0"):
        PlanOptions(hardware="cpu", bert_config_file="", **{name: 0})


def test_defaults_are_those_of_pretraining_but_for_what_a_plan_decides():
    planned, trained = (
        {field.name: field.default for field in dataclasses.fields(each)}
        for each in (PlanOptions, options.PreTraining)
    )
    shared = planned.keys() & trained.keys()
    differing = {name for name in shared if planned[name] != trained[name]}
    assert planned.keys() - shared == {"hardware", "assumed_mfu"}
    assert differing == {"bert_config_file", "dtype", "jit_compile"}
