"""Flags of teachers, students and ensembles, each with what it needs."""

import pytest

from bert_tf import flagging, options
from bert_tf.errors import InputError

GIVEN = {"output_dir": "out", "data_dir": "data"}


def made(**flags):
    return flagging.make(options.Classifier, GIVEN | flags)


def test_a_run_starts_from_the_model_that_is_named():
    assert made(teacher="t", student_layers="3", do_train=True).init_checkpoint == "t"
    student = made(teacher="t", student_layers="3", init_checkpoint="i", do_train=True)
    assert student.init_checkpoint == "i"
    ensemble = made(ensemble="a, b", do_eval=True)
    assert (ensemble.init_checkpoint, ensemble.ensemble_members) == ("a", ("a", "b"))
    assert made(init_checkpoint="i", do_eval=True).ensemble_members == ()


def test_what_trains_nothing_uses_the_model_that_is_there(tmp_path):
    for name in ("bert_config.json", "vocab.txt"):
        (tmp_path / name).touch()
    found = made(output_dir=str(tmp_path), do_predict=True)
    assert found.bert_config_file == str(tmp_path / "bert_config.json")
    assert found.vocab_file == str(tmp_path / "vocab.txt")
    given = made(output_dir=str(tmp_path), do_predict=True, init_checkpoint="i")
    assert given.bert_config_file is None
    with pytest.raises(InputError, match="--bert_config_file is not given"):
        made(output_dir=str(tmp_path), do_train=True)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"distillation_alpha": 1.5, "teacher": "t"}, "must be between 0 and 1"),
        ({"distillation_alpha": 0.3}, "--distillation_alpha=0.3 needs --teacher"),
        ({"distillation_temperature": 0.0, "teacher": "t"}, "must be above 0"),
        ({"distillation_alpha_cos": -1.0, "teacher": "t"}, "must be at least 0"),
        ({"distillation_alpha": 0.0, "teacher": "t"}, "leaves --teacher without effect"),
        ({"ensemble": "a", "do_train": False, "do_eval": True}, "at least two directories"),
        ({"ensemble": "a,b"}, "--ensemble is of trained models, and --do_train is given"),
        ({"teacher": "t", "feature_based": "last"}, "exclude each other"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(flags, message):
    with pytest.raises(InputError, match=message):
        made(**{"init_checkpoint": "i", "do_train": True} | flags)


def test_layers_of_no_model_are_refused():
    with pytest.raises(InputError, match="needs the model whose layers they are"):
        made(student_layers="3", bert_config_file="c", vocab_file="v", do_train=True)
