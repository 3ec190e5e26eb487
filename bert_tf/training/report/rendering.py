"""Pages from templates, and how they write numbers and names.

A page is one HTML file that needs nothing else: `templates/page.html` is its skeleton, with style
sheet and script inside; `templates/parts.html` has what pages are made of.
"""

import functools
import os
from collections.abc import Sequence
from typing import Any

from bert_tf import formatting

# Names, and parts of names, that are not words.
_WORDS = {
    "lm": "LM",
    "mfu": "Model FLOP utilisation",
    "real_share": "Share of tokens that are not padding",
    "max_seq_length": "Tokens per example (max_seq_length)",
    "train_batch_size": "Examples per update (train_batch_size)",
    "exact_spans": "Answers with right start and end",
    "f1": "F1",
    "matthews": "Matthews correlation",
    "pearson": "Pearson correlation",
    "spearman": "Spearman correlation",
    "thresh": "threshold",
    "HasAns": "questions with an answer:",
    "NoAns": "questions without an answer:",
}
_MAX_DIGITS = 9
# What the values mean, by the endings of their names.
_MEANINGS = {
    "masked_lm_loss": "Cross-entropy per masked token, in nats; lower is better.",
    "masked_lm_accuracy": "Masked tokens guessed right.",
    "next_sentence_loss": "Cross-entropy per pair, in nats; 0.69 is guessing.",
    "next_sentence_accuracy": "Pairs judged right; 50 % is guessing.",
    "loss": "What training minimises; lower is better.",
    "learning_rate": "How far an update moves the weights: up in the warm-up, then down.",
    "gradient_norm": "Size of the gradient before it is clipped.",
    "parameter_norm": "Size of all weights together.",
    "loss_scale": "Factor that keeps float16 gradients from becoming zero.",
    "tokens_per_second": "Without padding, over the last minute.",
    "mfu": "Share of the fastest matrix products of these devices; reading and waiting lower it.",
}
_SHARES = ("accuracy", "exact_spans", "share", "mfu")  # endings of names


def render(template: str, **values: Any) -> str:
    """Fills in a file of `templates/`; every value is escaped unless the template says `safe`."""
    return _environment().get_template(template).render(values)


@functools.cache
def _environment() -> Any:
    import jinja2  # only a run that writes a report needs it

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(os.path.join(os.path.dirname(__file__), "templates")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def number(value: float, is_share: bool = False, digits: int = 4) -> str:
    """A value in few characters: 4.217, 1.5 M, 1e-4, 43.2 %.

    Args:
      digits: significant ones; of a share, one fewer.
    """
    if is_share:
        return formatting.percent(value, digits - 1)
    if abs(value) < 1e4:
        return formatting.number(value, digits)
    return formatting.abbreviated(value, digits=digits)


def digits_to_tell_apart(values: Sequence[float], is_share: bool = False) -> int:
    """Digits with which `number` gives different texts for different values; at least 4."""
    enough = (
        digits
        for digits in range(4, _MAX_DIGITS)
        if len({number(value, is_share, digits) for value in values}) == len(set(values))
    )
    return next(enough, _MAX_DIGITS)


def is_share(name: str) -> bool:
    """Whether a value of that name is a share, shown in per cent."""
    return name.endswith(_SHARES)


def shown(name: str, value: float) -> str:
    """The value of that name as text."""
    return number(value, is_share(name))


def meaning(name: str) -> str:
    """What a value of that name says, for a newcomer; "" where the name says it."""
    found = (text for ending, text in _MEANINGS.items() if name.endswith(ending))
    return next(found, "")


def words(name: str) -> str:
    """A name in code as a name on paper: "masked_lm_loss" is "Masked LM loss"."""
    if name in _WORDS:
        return _WORDS[name]
    text = " ".join(_WORDS.get(word, word) for word in name.split("_"))
    return text[:1].upper() + text[1:]
