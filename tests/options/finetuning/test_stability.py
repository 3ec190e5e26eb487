"""Flags for small data sets and for evaluations: what is refused, and with which way out."""

import pytest

from bert_tf import options
from bert_tf.errors import InputError

GIVEN = {"init_checkpoint": "bert", "output_dir": "out", "do_train": True, "do_eval": True}


def made(**values):
    return options.Classifier(**GIVEN | {"data_dir": "data"} | values)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"layer_lr_decay": 0.0}, "--layer_lr_decay=0.0 must be above 0 and up to 1"),
        ({"layer_lr_decay": 1.1}, "--layer_lr_decay=1.1 must be above 0 and up to 1"),
        ({"reinit_layers": -1}, "--reinit_layers=-1 must be at least 0"),
        ({"freeze_layers": -1}, "--freeze_layers=-1 must be at least 0"),
        (
            {"weight_decay_to_start": True, "weight_decay_rate": 0.0},
            "--weight_decay_rate=0.0 leaves --weight_decay_to_start without effect. Give a rate",
        ),
        ({"eval_steps": 0}, "--eval_steps=0 must be above 0"),
        ({"early_stopping_patience": 0}, "--early_stopping_patience=0 must be above 0"),
        (
            {"early_stopping_min_delta": 0.1},
            "--early_stopping_min_delta=0.1 needs --early_stopping_patience",
        ),
        (
            {"early_stopping_patience": 3, "early_stopping_min_delta": -0.1},
            "--early_stopping_min_delta=-0.1 must be at least 0",
        ),
        ({"eval_steps": 5, "do_eval": False}, "--eval_steps is about .*--do_eval is not given"),
        ({"best_metric": "f1", "do_eval": False}, "--best_metric is about evaluations"),
    ],
)
def test_what_is_refused(flags, message):
    with pytest.raises(InputError, match=message):
        made(**flags)


@pytest.mark.parametrize("name", ["reinit_layers", "freeze_layers"])
def test_layers_of_a_checkpoint_need_one(name):
    new = {"init_checkpoint": None, "bert_config_file": "c", "vocab_file": "v"}
    with pytest.raises(InputError, match=f"--{name} needs --init_checkpoint: without one"):
        made(**new, **{name: 0})
    made(**new, **{name: 0}, do_train=False)  # as in the flags.txt of a run that is evaluated


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"reinit_layers": 13}, "--reinit_layers=13: the model has 12 layers"),
        ({"freeze_layers": 13}, "--freeze_layers=13: the model has 12 layers"),
        ({"freeze_layers": 9, "reinit_layers": 4}, "share layers: the model has 12"),
    ],
)
def test_the_model_has_that_many_layers(flags, message):
    with pytest.raises(InputError, match=message):
        made(**flags).check_layers(12)


def test_numbers_of_layers_that_fit():
    for flags in ({}, {"reinit_layers": 12}, {"freeze_layers": 8, "reinit_layers": 4}):
        made(**flags).check_layers(12)


def test_a_run_that_only_predicts_may_have_the_flags_of_its_training():
    made(do_train=False, do_eval=False, do_predict=True, eval_steps=5, early_stopping_patience=2)


@pytest.mark.parametrize(
    "flags",
    [
        {"layer_lr_decay": 0.9},
        {"reinit_layers": 1},
        {"freeze_layers": 0},
        {"weight_decay_to_start": True},
    ],
)
def test_an_encoder_that_is_not_trained_has_none_of_them(flags):
    made(feature_based="last", task_name="conll-2003")
    with pytest.raises(InputError, match=f"feature_based=last and --{min(flags)} exclude"):
        made(feature_based="last", task_name="conll-2003", **flags)
