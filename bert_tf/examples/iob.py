"""Entities in tags of words, as they are scored: of IOB1, IOB2, IOBES, and of ill-formed tags.

A tag is "O" or a prefix, a hyphen and a type: "B-PER". In IOB2 every entity begins with B. In IOB1,
CoNLL-2003's, it begins with I, and with B only right behind another one of the same type.
"""

from collections.abc import Sequence
from typing import NamedTuple

OUTSIDE = "O"
_UNNAMED = "_"  # the type of a tag without one, as seqeval names it


class Entity(NamedTuple):
    """Words of one type: those from `first` to before `end`."""

    type: str
    first: int
    end: int


def entities(tags: Sequence[str]) -> list[Entity]:
    """The entities as conlleval reads them (Tjong Kim Sang 2003), which takes any tags.

    An entity begins at B or S, at any tag behind O, behind E or S, and where the type changes. So
    IOB1, IOB2 and IOBES are read right, and a model's I-PER behind O begins an entity.

    >>> entities(["I-PER", "I-PER", "O", "B-LOC", "I-ORG"])
    [Entity(type='PER', first=0, end=2), Entity(type='LOC', first=3, end=4), \
Entity(type='ORG', first=4, end=5)]
    """
    found: list[Entity] = []
    prefix, kind, first = OUTSIDE, "", 0
    for position, tag in enumerate([*tags, OUTSIDE]):
        was_prefix, was_kind = prefix, kind
        prefix, kind = split(tag)
        is_start = prefix in "BS" or was_prefix in "OES" or kind != was_kind
        if was_prefix != OUTSIDE and (is_start or prefix == OUTSIDE):
            found.append(Entity(was_kind, first, position))
        if is_start:
            first = position
    return found


def strict_entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of IOB2 alone: B and the I of its type behind it; another I is none.

    What seqeval calls mode="strict" with scheme=IOB2.
    """
    found: list[Entity] = []
    for position, tag in enumerate(tags):
        prefix, kind = split(tag)
        if prefix == "B":
            found.append(Entity(kind, position, position + 1))
        elif prefix == "I" and found and found[-1].end == position and found[-1].type == kind:
            found[-1] = Entity(kind, found[-1].first, position + 1)
    return found


def split(tag: str) -> tuple[str, str]:
    """Prefix and type of a tag: ("B", "PER"); ("O", "_") of what is outside."""
    return tag[0], tag[1:].split("-", maxsplit=1)[-1] or _UNNAMED
