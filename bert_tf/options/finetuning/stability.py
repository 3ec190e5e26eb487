"""Flags of fine-tuning that decide what is learned where, and when the training is evaluated.

docs/fine_tuning.md says which of them helps when, and what each is worth.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from bert_tf.errors import InputError
from bert_tf.flagging import as_text, option
from bert_tf.options.checks import require_not_negative, require_positive
from bert_tf.options.finetuning.recipes import RECIPES, with_values_of

# What decides the weights, in addition to what every training has.
STABILITY = ("layer_lr_decay", "reinit_layers", "freeze_layers", "weight_decay_to_start")
_DURING_TRAINING = ("eval_steps", "early_stopping_patience", "best_metric")
_RECIPES_HELP = "; ".join(f"{name}: {recipe.summary}" for name, recipe in RECIPES.items())


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stability:
    """Flags for small data sets, where fine-tuning varies much from seed to seed."""

    recipe: str | None = option(
        None,
        f"(new) The settings of a paper, as far as no flag of their own gives others. "
        f"{_RECIPES_HELP}.",
        choices=tuple(RECIPES),
    )
    layer_lr_decay: float = option(
        1.0,
        "(new) Factor of the learning rate from each layer to the one below: the head and the "
        "pooler have the whole rate, the top layer this share of it, the next one its square "
        "(ELECTRA; Zhang et al. 2021). Usual: 0.8 to 0.95.",
    )
    reinit_layers: int | None = option(
        None,
        "(new) Top layers that start with new random weights, and the pooler with them; 0: the "
        "pooler alone (Zhang et al. 2021, section 5). None: as in --init_checkpoint.",
    )
    freeze_layers: int | None = option(
        None,
        "(new) Lowest layers that keep their weights, and the embeddings with them; 0: the "
        "embeddings alone (Lee et al. 2019). None: every weight is trained.",
    )
    weight_decay_to_start: bool = option(
        False,
        "(new) Weight decay pulls the weights of --init_checkpoint towards their values there, not "
        "towards 0 (L2-SP of Li et al. 2018; for BERT, Lee et al. 2020).",
    )

    @classmethod
    def filled_in(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Options with those of their --recipe where none are given."""
        return with_values_of(given.get("recipe"), given)

    def check_layers(self, num_hidden_layers: int) -> None:
        """Checks the numbers of layers against those that the model has.

        Raises:
          InputError: there are fewer.
        """
        new, frozen = self.reinit_layers or 0, self.freeze_layers or 0
        for name, number in (("reinit_layers", new), ("freeze_layers", frozen)):
            if number > num_hidden_layers:
                raise InputError(
                    f"--{name}={number}{_from_recipe(self, name)}: the model has "
                    f"{num_hidden_layers} layers. Give a number up to {num_hidden_layers}."
                )
        if new + frozen > num_hidden_layers:
            raise InputError(
                f"--reinit_layers={new} and --freeze_layers={frozen} share layers: the model has "
                f"{num_hidden_layers}. A new layer must be trained; give smaller numbers."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DuringTraining:
    """Flags that say when the dev set is evaluated, and what follows from it."""

    eval_steps: int | None = option(
        None,
        "(new) Updates between two evaluations on the dev set; none: one at the end of each epoch. "
        "The end of the training always has one.",
    )
    early_stopping_patience: int | None = option(
        None,
        "(new) End the training once this many evaluations in a row have not improved the score; "
        "none: make every update.",
    )
    early_stopping_min_delta: float = option(
        0.0, "(new) What a score must improve by to count for --early_stopping_patience."
    )
    best_metric: str | None = option(
        None,
        "(new) Metric on the dev set that decides which weights are the best; loss is one too. "
        "None: the main metric of the data set.",
    )


def check(options: Any) -> None:
    """Checks the flags of both classes against each other and those of the training.

    Args:
      options: of a class that is a `Stability`, a `DuringTraining` and a `Training`.

    Raises:
      InputError: a value is refused, or two flags contradict each other.
    """
    if not 0 < options.layer_lr_decay <= 1:
        raise InputError(f"--layer_lr_decay={options.layer_lr_decay} must be above 0 and up to 1.")
    for name in ("reinit_layers", "freeze_layers"):
        if getattr(options, name) is not None:
            require_not_negative(options, name)
    _check_start(options)
    require_positive(options, "eval_steps", "early_stopping_patience")
    require_not_negative(options, "early_stopping_min_delta")
    _check_evaluations(options)


def _check_start(options: Any) -> None:
    """Refuses what needs the weights of a checkpoint where there is none."""
    needing = [
        name
        for name in ("reinit_layers", "freeze_layers", "weight_decay_to_start")
        if getattr(options, name) is not None and getattr(options, name) is not False
    ]
    if needing and options.do_train and not options.init_checkpoint:
        name = needing[0]
        raise InputError(
            f"--{name}{_from_recipe(options, name)} needs --init_checkpoint: without one, every "
            "weight starts random. Give one, or leave it out."
        )
    if options.weight_decay_to_start and not options.weight_decay_rate:
        raise InputError(
            f"--weight_decay_rate={options.weight_decay_rate}"
            f"{_from_recipe(options, 'weight_decay_rate')} leaves --weight_decay_to_start without "
            "effect. Give a rate above 0, such as --weight_decay_rate=0.01."
        )


def _check_evaluations(options: Any) -> None:
    given = [name for name in _DURING_TRAINING if getattr(options, name) is not None]
    if given and options.do_train and not options.do_eval:
        raise InputError(
            f"--{given[0]} is about evaluations during the training, and --do_eval is not given. "
            "Give it, or leave this out."
        )
    if options.early_stopping_min_delta and options.early_stopping_patience is None:
        raise InputError(
            f"--early_stopping_min_delta={options.early_stopping_min_delta} needs "
            "--early_stopping_patience."
        )


def _from_recipe(options: Any, name: str) -> str:
    """Says that a value is that of --recipe, where it is."""
    recipe = RECIPES.get(options.recipe or "")
    if recipe and name in recipe.values and getattr(options, name) == recipe.values[name]:
        return f" (as in --recipe={options.recipe})"
    return ""


def recipe_text(options: Stability) -> str:
    """What --recipe has set, and which flags took precedence over it; "" without one."""
    recipe = RECIPES.get(options.recipe or "")
    if not recipe:
        return ""
    own = {name: getattr(options, name) for name in recipe.values}
    same = {name: value for name, value in own.items() if value == recipe.values[name]}
    other = {name: value for name, value in own.items() if name not in same}
    text = f"Recipe {options.recipe} ({recipe.source}): {_flags(same)}"
    return f"{text}\n  Given instead: {_flags(other)}" if other else text


def _flags(values: Mapping[str, Any]) -> str:
    return " ".join(f"--{name}={as_text(value)}" for name, value in values.items())
