"""--grid and --restarts: what they ask for, and what is refused before anything is read."""

import pytest

from bert_tf import options
from bert_tf.errors import InputError
from bert_tf.options.finetuning import grid

GIVEN = {"init_checkpoint": "bert", "output_dir": "out", "do_train": True, "do_eval": True}
DATA = {"task_name": "mrpc", "data_dir": "data"}


def classifier(**flags):
    return options.Classifier(**GIVEN | DATA | flags)


def test_the_grid_of_the_paper():
    """Appendix A.3: batch size 16, 32; learning rate 5e-5, 3e-5, 2e-5; epochs 2, 3, 4."""
    found = grid.searched(classifier(grid="paper"))
    assert {name: set(values) for name, values in found.items()} == {
        "train_batch_size": {16, 32},
        "learning_rate": {5e-5, 3e-5, 2e-5},
        "num_train_epochs": {2.0, 3.0, 4.0},
    }
    assert len(list(grid.combinations(found))) == 18


def test_values_have_the_types_of_their_flags_and_options_are_sorted():
    found = grid.searched(
        classifier(grid=" train_batch_size=16, 8 ;learning_rate=1e-4,0.0001,2e-5; optimizer=lamb;")
    )
    assert found == {
        "learning_rate": (1e-4, 2e-5),
        "optimizer": ("lamb",),
        "train_batch_size": (16, 8),
    }
    assert list(found) == sorted(found)
    assert grid.searched(classifier(grid="adam_bias_correction=true,false")) == {
        "adam_bias_correction": (True, False)
    }


def test_without_a_grid_there_is_one_combination():
    assert not classifier().has_grid
    several = classifier(restarts=3)
    assert several.has_grid
    assert list(grid.combinations(grid.searched(several))) == [{}]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"grid": "learning_rat=1"}, "no option learning_rat. Did you mean learning_rate?"),
        ({"grid": "learning_rate=a"}, "learning_rate=a is not a number"),
        ({"grid": "learning_rate=nan"}, "learning_rate=nan is not a number"),
        ({"grid": "learning_rate=-1"}, "--learning_rate=-1.0 must be above 0"),
        ({"grid": "train_batch_size=1.5"}, "train_batch_size=1.5 is not a whole number"),
        ({"grid": "optimizer=sgd"}, "optimizer=sgd is not one of adamw, lamb"),
        ({"grid": "adam_bias_correction=maybe"}, "is not true or false"),
        ({"grid": "output_dir=a,b"}, "cannot vary output_dir: .*It can vary .*learning_rate"),
        ({"grid": "random_seed=1,2"}, "cannot vary random_seed. Give --restarts"),
        ({"grid": "learning_rate"}, "'learning_rate' is not an option with its values"),
        ({"grid": "learning_rate=1,"}, "is not an option with its values"),
        ({"grid": "learning_rate=1;learning_rate=2"}, "names learning_rate twice"),
        ({"grid": ""}, "names no option"),
        ({"grid": "paper", "do_eval": False}, "--grid needs .*--do_eval is missing"),
        ({"restarts": 2, "do_train": False}, "--restarts needs .*--do_train is missing"),
        ({"restarts": 0}, "--restarts=0 must be above 0"),
        ({"parallel_runs": 2}, "--parallel_runs=2 is for several runs"),
        ({"keep_all_runs": True}, "--keep_all_runs=true is for several runs"),
        ({"restarts": 2, "parallel_runs": 2, "use_tpu": True}, "for CPUs and GPUs"),
    ],
)
def test_what_is_refused(flags, message):
    with pytest.raises(InputError, match=message):
        classifier(**flags)


def test_question_answering_has_a_grid_too():
    files = {"train_file": "train.json", "predict_file": "dev.json"}
    given = options.QuestionAnswering(**GIVEN, **files, grid="doc_stride=64,128", restarts=2)
    assert grid.searched(given) == {"doc_stride": (64, 128)}


def test_options_that_are_named_exist():
    assert names(options.Classifier) | names(options.QuestionAnswering) >= grid.HOW_IT_RUNS
    assert set(grid.ONE_RUN) == names(options.GridSearch)


def names(options_class):
    return set(options_class.__dataclass_fields__)
