"""Flags of run_classifier.py on how examples become rows; the model directory remembers them."""

import dataclasses
from typing import Any

from bert_tf.errors import InputError
from bert_tf.flagging import option
from bert_tf.options.checks import require_positive

_WINDOWS = "windows"
_OF_WINDOWS = ("max_windows", "window_stride", "window_pooling")


@dataclasses.dataclass(frozen=True, kw_only=True)
class LongTexts:
    """What becomes of texts that are longer than a row, and how room next to short ones is used."""

    long_texts: str = option(
        "truncate",
        "(new) What becomes of texts longer than --max_seq_length. truncate: the rest is cut off, "
        "as released. windows: a text is read in overlapping windows of that length, and the "
        "answers of the windows are pooled, in training too.",
        choices=("truncate", _WINDOWS),
    )
    max_windows: int = option(
        8, "(new) Maximum windows of a text; what follows them is cut off. Memory grows with it."
    )
    window_stride: int | None = option(
        None,
        "(new) Tokens from the start of one window to the start of the next; none: half of what a "
        "window holds of the text.",
    )
    window_pooling: str = option(
        "mean",
        "(new) How the logits of a text's windows become its logits: their mean, or the highest "
        "one of each label.",
        choices=("mean", "max"),
    )
    document_context: bool = option(
        False,
        "(new) Tagging: fill rows up with the text of the document around the sentence, as in the "
        "paper (section 5.3).",
    )

    @property
    def task_settings(self) -> dict[str, Any]:
        """The flags that are not at their defaults, for `Task.with_settings`."""
        settings: dict[str, Any] = {}
        if self.long_texts == _WINDOWS:
            names = ("long_texts", *_OF_WINDOWS)
            settings = {name: getattr(self, name) for name in names}
        if self.document_context:
            settings["document_context"] = True
        return settings


def check(options: LongTexts, max_seq_length: int) -> None:
    """Checks the flags against each other.

    Raises:
      InputError: a number is not above 0, windows have gaps between them, or a flag of windows is
        given without them.
    """
    require_positive(options, "max_windows", "window_stride")
    if options.window_stride is not None and options.window_stride > max_seq_length - 2:
        raise InputError(
            f"--window_stride={options.window_stride} would leave out tokens between two windows: "
            f"with --max_seq_length={max_seq_length} a window holds {max_seq_length - 2} of them, "
            "[CLS] and [SEP] aside. Give a smaller stride."
        )
    defaults = {field.name: field.default for field in dataclasses.fields(LongTexts)}
    for name in _OF_WINDOWS if options.long_texts != _WINDOWS else ():
        if getattr(options, name) != defaults[name]:
            raise InputError(
                f"--{name}={getattr(options, name)} needs --long_texts=windows. Give it, or leave "
                "this out."
            )
