"""Tag schemes of entities, read strictly and turned into IOB2: B-X begins an entity, I-X goes on.

| scheme | a word alone | first of several | inside | last |
|---|---|---|---|---|
| iob1 | I-X | I-X | I-X | I-X |
| iob2 | B-X | B-X | I-X | I-X |
| iobes, bioes | S-X | B-X | I-X | E-X |
| bilou | U-X | B-X | I-X | L-X |
| bmes | S-X | B-X | M-X | E-X |

In IOB1, B-X begins an entity right behind another one of type X (Ramshaw and Marcus 1995;
CoNLL-2003 as released). Tags of IOB2 name the same entities when they are read as IOB1, so a reader
of IOB1 takes both.
"""

from collections.abc import Sequence

# Scheme -> its letters, each as what it is: Begin, Inside, End or Single.
_LETTERS = {
    "iobes": {"B": "B", "I": "I", "E": "E", "S": "S"},
    "bioes": {"B": "B", "I": "I", "E": "E", "S": "S"},
    "bilou": {"B": "B", "I": "I", "L": "E", "U": "S"},
    "bmes": {"B": "B", "M": "I", "E": "E", "S": "S"},
}
PLAIN = "plain"
SCHEMES = ("iob2", "iob1", *_LETTERS, PLAIN)
OUTSIDE = "O"


class TagError(ValueError):
    """A tag that a scheme does not allow there.

    Attributes:
      index: of the word in the sentence.
    """

    def __init__(self, index: int, problem: str):
        super().__init__(problem)
        self.index = index


def to_iob2(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    """The tags of a sentence in IOB2; as they are for "plain", whose tags are no entities.

    Args:
      tags: of the words of one sentence.
      scheme: of `SCHEMES`.

    Raises:
      TagError: a tag is not of the scheme, or not allowed behind the one before it.
    """
    if scheme == PLAIN:
        return tuple(tags)
    if scheme == "iob1":
        return _from_iob1(tags)
    if scheme == "iob2":
        return _checked_iob2(tags)
    return _from_ends(tags, scheme)


def _from_iob1(tags: Sequence[str]) -> tuple[str, ...]:
    found, open_type = [], ""
    for index, tag in enumerate(tags):
        letter, entity = _split(index, tag, "iob1", "BI")
        is_first = letter == "B" or entity != open_type
        found.append(tag if not letter else f"{'B' if is_first else 'I'}-{entity}")
        open_type = entity
    return tuple(found)


def _checked_iob2(tags: Sequence[str]) -> tuple[str, ...]:
    open_type = ""
    for index, tag in enumerate(tags):
        letter, entity = _split(index, tag, "iob2", "BI")
        if letter == "I" and entity != open_type:
            where = f"behind {tags[index - 1]}" if index else "at the first word"
            raise TagError(
                index,
                f"tag {tag!r} {where} goes on with an entity that is not open; in IOB2 an entity "
                f"begins with B-{entity}. If the file is IOB1, where entities begin with I-, set "
                'the scheme "iob1"',
            )
        open_type = entity
    return tuple(tags)


def _from_ends(tags: Sequence[str], scheme: str) -> tuple[str, ...]:
    letters = _LETTERS[scheme]
    found, open_type = [], ""
    for index, tag in enumerate(tags):
        letter, entity = _split(index, tag, scheme, "".join(letters))
        what = letters.get(letter, "")
        if (what in ("I", "E")) != bool(open_type) or (open_type and entity != open_type):
            where = f"follow {tags[index - 1]!r}" if index else "be the first"
            raise TagError(index, f"tag {tag!r} cannot {where} in the scheme {scheme}")
        found.append(tag if not what else f"{'B' if what in 'BS' else 'I'}-{entity}")
        open_type = entity if what in ("B", "I") else ""
    if open_type:
        raise TagError(
            len(tags) - 1, f"the entity {open_type} has no end in the scheme {scheme} ({tags[-1]})"
        )
    return tuple(found)


def _split(index: int, tag: str, scheme: str, letters: str) -> tuple[str, str]:
    """Letter and type of a tag; "" and "" for O."""
    if tag == OUTSIDE:
        return "", ""
    letter, hyphen, entity = tag.partition("-")
    if letter in letters and len(letter) == 1 and hyphen and entity:
        return letter, entity
    wanted = ", ".join([OUTSIDE, *(f"{each}-TYPE" for each in letters)])
    raise TagError(
        index,
        f"tag {tag!r} is none of the scheme {scheme}; wanted: {wanted}. Schemes: "
        f"{', '.join(SCHEMES)}",
    )
