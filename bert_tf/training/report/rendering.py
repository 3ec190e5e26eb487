"""Pages from templates, and how they write numbers and names.

A page is one HTML file that needs nothing else: `templates/page.html` is its skeleton, with style
sheet and script inside; `templates/parts.html` has what pages are made of.
"""

import functools
import os
from typing import Any

_WORDS = {"lm": "LM", "mfu": "Model FLOP utilisation"}


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
        return f"{100 * value:.3g} %"
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= size:
            unit = 1e3 if letter == "k" else size
            return f"{value / unit:.4g} {letter}"
    if value and abs(value) < 1e-3:
        digits, power = f"{value:.2e}".split("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return f"{value:.4g}"


def words(name: str) -> str:
    """A name in code as a name on paper: "masked_lm_loss" is "Masked LM loss"."""
    if name in _WORDS:
        return _WORDS[name]
    text = " ".join(_WORDS.get(word, word) for word in name.split("_"))
    return text[:1].upper() + text[1:]
