"""The flags of a plan check themselves."""

import pytest

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
