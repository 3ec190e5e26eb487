"""Recipes hold what their papers say, and flags that are given take precedence."""

import dataclasses

import pytest
from absl import flags

from bert_tf import flagging, options
from bert_tf.errors import InputError
from bert_tf.options.finetuning.recipes import RECIPES
from bert_tf.options.finetuning.stability import recipe_text

GIVEN = {"init_checkpoint": "bert", "output_dir": "out", "do_train": True, "data_dir": "d"}


def made(**values):
    return flagging.make(options.Classifier, GIVEN | values)


# By hand from the papers: epochs, batch, rate, bias correction, decay, new layers.
@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("paper", (3.0, 32, 2e-5, False, 0.01, None)),
        ("mosbach2021", (20.0, 16, 2e-5, True, 0.01, None)),
        ("zhang2021", (3.0, 32, 2e-5, True, 0.0, 5)),
    ],
)
def test_a_recipe_sets_what_its_paper_says(name, wanted):
    found = made(recipe=name)
    assert (
        found.num_train_epochs,
        found.train_batch_size,
        found.learning_rate,
        found.adam_bias_correction,
        found.weight_decay_rate,
        found.reinit_layers,
    ) == wanted
    assert (found.warmup_proportion, found.lr_schedule, found.max_grad_norm) == (0.1, "linear", 1.0)


def test_every_value_is_an_option_of_fine_tuning():
    names = {field.name for field in dataclasses.fields(options.FineTuning)}
    assert all(recipe.values.keys() <= names for recipe in RECIPES.values())


def test_a_flag_that_is_given_takes_precedence_even_with_its_default():
    found = made(recipe="mosbach2021", num_train_epochs=3.0, learning_rate=1e-5)
    assert (found.num_train_epochs, found.learning_rate, found.train_batch_size) == (3.0, 1e-5, 16)


def test_the_command_line_does_the_same(tmp_path):
    arguments = ["", "--output_dir=o", "--init_checkpoint=b", "--data_dir=d", "--do_eval"]
    arguments += ["--recipe=mosbach2021", "--train_batch_size=32"]
    values = flags.FlagValues()
    flagging.define(options.Classifier, values)
    values(arguments)
    found = flagging.read(options.Classifier, values)
    assert (found.num_train_epochs, found.train_batch_size) == (20.0, 32)
    # What it leaves in flags.txt gives the same options again.
    flag_file = tmp_path / "flags.txt"
    flag_file.write_text(flagging.to_flagfile(found))
    again = flags.FlagValues()
    flagging.define(options.Classifier, again)
    again(again.read_flags_from_files(["", *flag_file.read_text().splitlines()], force_gnu=False))
    assert flagging.read(options.Classifier, again) == found


def test_the_text_says_what_was_set_and_what_was_given():
    text = recipe_text(made(recipe="mosbach2021", num_train_epochs=5.0))
    head, given = text.split("\n  Given instead: ")
    assert head.startswith(
        "Recipe mosbach2021 (Mosbach et al. 2021, arXiv 2006.04884, section 6): "
    )
    assert "--train_batch_size=16" in head and "--adam_bias_correction=true" in head
    assert given == "--num_train_epochs=5.0"
    assert recipe_text(made()) == ""


def test_what_a_recipe_sets_and_the_run_cannot_have_is_explained():
    with pytest.raises(InputError, match=r"--reinit_layers \(as in --recipe=zhang2021\) needs"):
        made(recipe="zhang2021", init_checkpoint=None, bert_config_file="c", vocab_file="v")
    with pytest.raises(InputError, match=r"reinit_layers=5 \(as in --recipe=zhang2021\): the mod"):
        made(recipe="zhang2021").check_layers(3)
    assert made(recipe="zhang2021", reinit_layers=1).check_layers(3) is None
