"""Pages from templates, and how they write numbers and names.

A page is one HTML file that needs nothing else: `templates/page.html` is its skeleton, with style
sheet and script inside; `templates/parts.html` has what pages are made of.
"""

import functools
import os
from typing import Any

from bert_tf import formatting

# Names, and parts of names, that are not words.
_WORDS = {
    "lm": "LM",
    "mfu": "Model FLOP utilisation",
    "real_share": "Share of tokens that are not padding",
    "exact_spans": "Answers with right start and end",
    "f1": "F1",
    "matthews": "Matthews correlation",
    "pearson": "Pearson correlation",
    "spearman": "Spearman correlation",
    "HasAns": "questions with an answer:",
    "NoAns": "questions without an answer:",
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


def number(value: float, is_share: bool = False) -> str:
    """A value in few characters: 4.217, 1.5 M, 1e-4, 43.2 %."""
    if is_share:
        return formatting.percent(value)
    if abs(value) < 1e4:
        return formatting.number(value)
    return formatting.abbreviated(value, digits=4)


def is_share(name: str) -> bool:
    """Whether a value of that name is a share, shown in per cent."""
    return name.endswith(_SHARES)


def shown(name: str, value: float) -> str:
    """The value of that name as text."""
    return number(value, is_share(name))


def words(name: str) -> str:
    """A name in code as a name on paper: "masked_lm_loss" is "Masked LM loss"."""
    if name in _WORDS:
        return _WORDS[name]
    text = " ".join(_WORDS.get(word, word) for word in name.split("_"))
    return text[:1].upper() + text[1:]
