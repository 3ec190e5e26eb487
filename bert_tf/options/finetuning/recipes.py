"""`--recipe`: the settings of fine-tuning that a paper recommends, under one name."""

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Settings that belong together.

    Attributes:
      summary: what is special about them, for --help.
      source: where they come from.
      values: by option.
    """

    summary: str
    source: str
    values: Mapping[str, Any]


_PAPER = {
    "train_batch_size": 32,
    "learning_rate": 2e-5,
    "num_train_epochs": 3.0,
    "warmup_proportion": 0.1,
    "lr_schedule": "linear",
    "optimizer": "adamw",
    "adam_bias_correction": False,
    "weight_decay_rate": 0.01,
    "max_grad_norm": 1.0,
}

RECIPES = {
    "paper": Recipe(
        "3 epochs, no bias correction",
        "Devlin et al. 2019, section 4.1, and the command for MRPC of google-research/bert",
        _PAPER,
    ),
    "mosbach2021": Recipe(
        "20 epochs with bias correction",
        "Mosbach et al. 2021, arXiv 2006.04884, section 6",
        _PAPER | {"train_batch_size": 16, "num_train_epochs": 20.0, "adam_bias_correction": True},
    ),
    "zhang2021": Recipe(
        "bias correction, new weights in the pooler and the top 5 layers",
        "Zhang et al. 2021, arXiv 2006.05987, sections 4 and 5, and sample_commands/reinit.sh of "
        "asappresearch/revisit-bert-finetuning",
        _PAPER | {"adam_bias_correction": True, "reinit_layers": 5, "weight_decay_rate": 0.0},
    ),
}


def with_values_of(name: str | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Options as they were given, with those of a recipe for the rest.

    Args:
      name: key of `RECIPES`; None, or a name that is none: nothing is added.
      given: by option.
    """
    recipe = RECIPES.get(name or "")
    return {**recipe.values, **given} if recipe else dict(given)
