"""Templates that show words of a sentence, and the words that they show.

A dump has calls of templates, not what they show. The few that most sentences use are handled
here: what they show is one of their arguments, or close to it. All others leave a hole, except
those known to show no words.
"""

import re
from collections.abc import Callable
from typing import cast

import mwparserfromhell
from mwparserfromhell.nodes import Template
from mwparserfromhell.parser import ParserError

# What removed markup leaves in a paragraph until it is finished: SILENT where the sentence is
# complete without it, HOLE where words may be missing. XML 1.0 allows neither character.
SILENT = "\x02"
HOLE = "\x03"


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


# Shows the argument of that position; -1 is the last one.
_ARGUMENT = {
    **dict.fromkeys(_names("nowrap, nobr, nobreak, small, smaller, big, larger, sc, smallcaps"), 1),
    **dict.fromkeys(_names("nobold, noitalic, nq, angbr, abbr, tooltip, unicode, polytonic"), 1),
    **dict.fromkeys(_names("script/arabic, script/hebrew, okina, em, strong, ship, sub, sup"), 1),
    **dict.fromkeys(_names("linktext, zh, formatnum, start date, mvar, railgauge, track gauge"), 1),
    **dict.fromkeys(_names("lang, rtl-lang, script, color, colour"), 2),
    **dict.fromkeys(_names("transl, transliteration, tlit"), -1),
}
_LANGUAGE = re.compile(r"lang-[a-z]{2,3}(?:-[a-z]+)*")
# Show a separate passage: their first argument.
_QUOTATIONS = frozenset(_names("quote, blockquote, bquote, cquote, quotation, quote box"))
# Show their arguments without anything between them.
_JOINED = frozenset(_names("chem, chem2"))
_SHIPS = frozenset(_names("uss, hms, ss, rms, hmas, hmcs, usns, ins, sms"))
_PREFIXES = {
    **dict.fromkeys(_names("circa, c., ca."), "c. "),
    **dict.fromkeys(_names("floruit, fl."), "fl. "),
    **dict.fromkeys(_names("reign, r."), "r. "),
    **dict.fromkeys(_names("us$, usd"), "US$"),
    **{sign: sign for sign in "£€¥"},
    "e": " × 10^",
}
_CONSTANTS = {
    **dict.fromkeys(_names("nbsp, space, spaces, thinsp, thin space, hair space"), " "),
    **dict.fromkeys(_names("ndash, en dash"), "–"),
    **dict.fromkeys(_names("mdash, em dash"), "—"),
    **dict.fromkeys(_names("snd, spnd, spaced ndash, spaced en dash"), " – "),
    **dict.fromkeys(_names("·, dot, middot, •, bull"), " · "),
    **{
        "'": "'",
        "`": "'",
        "'s": "'s",
        "' \"": "'\"",
        "\" '": "\"'",
        "=": "=",
        "shy": "",
        "zwj": "\u200d",
        "zwnj": "\u200c",
    },
    **{"ad": "AD", "bc": "BC", "bce": "BCE", "ce": "CE"},
}
# Footnotes, complaints, pictures and anchors.
_SILENT = frozenset(
    _names(
        "sfn, sfnp, sfnm, r, rp, ref, refn, efn, efn-ua, efn-la, #tag:ref, note, ref label, cref, "
        "citation needed, cn, fact, clarify, who, when, which, where, whom, by whom, why, how, "
        "according to whom, dubious, discuss, disputed inline, verify source, full, vague, "
        "failed verification, page needed, unreliable source?, better source needed, sic, "
        "primary source inline, year needed, medical citation needed, original research inline, "
        "update after, update inline, dead link, webarchive, harv, harvnb, harvtxt, cite quran, "
        "cite web, cite book, cite news, cite journal, citation, bibleverse, bibleref, "
        "anchor, visible anchor, clear, clr, -, flagicon, flag icon, coord, main, see also, further"
    )
)

_NUMBER = re.compile(r"[-−+]?[\d.,]*\d[\d.,/]*")
_RANGES = {
    **{word: f" {word} " for word in ("to", "and", "or", "by", "x", "×")},
    **{"-": "–", "–": "–", "to(-)": " to ", "xx": " × ", "+/-": " ± ", "±": " ± "},
}
_UNIT_PAIRS = {("ft", "in"), ("foot", "inch"), ("lb", "oz"), ("st", "lb"), ("mi", "yd")}
_UNITS = {
    **{"km2": "km²", "m2": "m²", "cm2": "cm²", "m3": "m³", "km3": "km³", "cm3": "cm³"},
    **{"sqmi": "sq mi", "sqft": "sq ft", "sqkm": "km²", "cuft": "cu ft", "cumi": "cu mi"},
    **{"C": "°C", "F": "°F", "kmh": "km/h", "foot": "feet", "inch": "inches", "mile": "miles"},
}


def shown_template(call: str) -> str:
    """The wikitext that replaces a call of a template; `SILENT` or `HOLE` where it is not known.

    Args:
      call: what is between the braces, e.g. `"lang|fr|mot"`, with calls inside it replaced.
    """
    name = _name(call)
    if name in _CONSTANTS:
        return _CONSTANTS[name]
    if name in _SILENT:
        return SILENT
    render = _RENDERERS.get(name) or (_first if _LANGUAGE.fullmatch(name) else None)
    if render is None:
        return HOLE
    try:
        parsed = mwparserfromhell.parse("{{" + call + "}}", skip_style_tags=True)
        # Values may be padded; `{{nowrap| a }}` is shown with its spaces.
        return render(name, cast(Template, parsed.get(0))) or HOLE
    except (ParserError, AttributeError, IndexError):
        return HOLE


def _name(call: str) -> str:
    """The name of the template in lower case; `#if:` and `formatnum:` end at the colon."""
    name = call.partition("|")[0].strip().replace("_", " ").lower()
    return "formatnum" if name.startswith("formatnum:") else name


def _positional(template: Template) -> list[str]:
    """The arguments without a name, or with a number as their name, in order."""
    return [str(param.value).strip() for param in template.params if str(param.name).isdigit()]


def _argument(name: str, template: Template) -> str:
    position = _ARGUMENT[name]
    values = _positional(template)
    if name == "formatnum":
        return str(template.name).partition(":")[2].strip()
    return values[position - 1 if position > 0 else position]


def _first(_: str, template: Template) -> str:
    return _positional(template)[0]


def _quotation(_: str, template: Template) -> str:
    values = _positional(template)
    named = {str(param.name).strip(): str(param.value).strip() for param in template.params}
    return f"\n\n{values[0] if values else named.get('text') or named.get('quote', '')}\n\n"


def _joined(_: str, template: Template) -> str:
    return "".join(_positional(template))


def _ship(name: str, template: Template) -> str:
    return f"{name.upper()} {_positional(template)[0]}"


def _prefixed(name: str, template: Template) -> str:
    return _PREFIXES[name] + "–".join(_positional(template)[:2])


def _as_of(_: str, template: Template) -> str:
    is_lower = any(str(param.name).strip() == "lc" for param in template.params)
    date = _positional(template)
    return ("as of " if is_lower else "As of ") + " ".join(reversed(date))


def _value(_: str, template: Template) -> str:
    """`{{val|5.1|e=6|u=kg}}`."""
    named = {str(param.name).strip(): str(param.value).strip() for param in template.params}
    power = f" × 10^{named['e']}" if "e" in named else ""
    unit = f" {named['u']}" if "u" in named else ""
    return named["1"] + power + unit if "1" in named else ""


def _nihongo(_: str, template: Template) -> str:
    """`{{nihongo|English|kanji|romaji}}` shows the last two in parentheses."""
    values = _positional(template)
    others = ", ".join(filter(None, values[1:3]))
    return f"{values[0]} ({others})" if values[0] and others else values[0] or others


def _interlanguage(_: str, template: Template) -> str:
    """`{{ill|Title|de|Titel}}`, or with the language first."""
    values = _positional(template)
    return values[-1] if re.fullmatch("[a-z]{2,3}", values[0]) and len(values) > 2 else values[0]


def _convert(_: str, template: Template) -> str:
    """`{{convert|5|to|6|km|mi}}` and `{{convert|5|ft|11|in|m}}`: what is given, not converted."""
    values = _positional(template)
    num_read = 2 if len(values) > 1 and values[1] not in _RANGES else 4
    if len(values) > 3 and tuple(values[1:4:2]) in _UNIT_PAIRS and _NUMBER.fullmatch(values[2]):
        num_read = 4
    parts = [_RANGES.get(value) or f" {_UNITS.get(value, value)}" for value in values[:num_read]]
    return (
        "".join(parts).replace("  ", " ").replace("– ", "–").strip()
        if _NUMBER.match(values[0])
        else ""
    )


_RENDERERS: dict[str, Callable[[str, Template], str]] = {
    **dict.fromkeys(_ARGUMENT, _argument),
    **dict.fromkeys(_QUOTATIONS, _quotation),
    **dict.fromkeys(_JOINED, _joined),
    **dict.fromkeys(_SHIPS, _ship),
    **dict.fromkeys(_PREFIXES, _prefixed),
    **dict.fromkeys(("as of", "asof"), _as_of),
    **dict.fromkeys(("convert", "cvt"), _convert),
    **dict.fromkeys(("ill", "interlanguage link", "ill2"), _interlanguage),
    **dict.fromkeys(("nihongo", "nihongo2", "nihongo3"), _nihongo),
    "val": _value,
}
