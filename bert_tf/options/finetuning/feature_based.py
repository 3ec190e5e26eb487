"""Flags of training on the layers of an encoder that is not trained (paper, section 5.3)."""

import dataclasses
from typing import Any

from bert_tf.errors import InputError
from bert_tf.flagging import option
from bert_tf.frozen_layers import FROZEN_LAYERS
from bert_tf.options.checks import require_positive

_DEFAULT_UNITS = 768  # the paper's
_EXCLUDED: tuple[str, ...] = (
    "use_tpu",
    "length_buckets",
    "jit_compile",
    "freeze_layers",
    "reinit_layers",
)
_EXCLUDED += ("weight_decay_to_start", "layer_lr_decay", "teacher", "student_layers", "ensemble")


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureBased:
    """Flags of the feature-based approach."""

    feature_based: str | None = option(
        None,
        "(new) For tagging: train a two-layer BiLSTM on these layers of the encoder, which is not "
        "trained itself (paper, table 7). None: train the whole model, or predict with the one in "
        "--output_dir.",
        choices=tuple(FROZEN_LAYERS),
    )
    lstm_units: int = option(
        _DEFAULT_UNITS, "(new) Units of the BiLSTM of --feature_based in each direction."
    )


def check(options: Any) -> None:
    """Checks the flags against each other and against the others of run_classifier.py.

    Raises:
      InputError: some exclude each other.
    """
    require_positive(options, "lstm_units")
    if not options.feature_based:
        if options.lstm_units != _DEFAULT_UNITS:
            raise InputError(f"--lstm_units={options.lstm_units} needs --feature_based.")
        return
    defaults = {field.name: field.default for field in dataclasses.fields(options)}
    for name in _EXCLUDED:
        if name in defaults and getattr(options, name) != defaults[name]:
            raise InputError(
                f"--feature_based={options.feature_based} and --{name} exclude each other. Leave "
                "one out."
            )
    if options.do_train and not options.init_checkpoint:
        raise InputError(
            f"--feature_based={options.feature_based} reads an encoder that is not trained. Give "
            "its weights: --init_checkpoint."
        )
