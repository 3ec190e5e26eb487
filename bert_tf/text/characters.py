"""What becomes of each character: the classes of the released tokenizer, and a table for the graph.

The classes follow `unicodedata` of the running Python, as those of the released code do, so a
newer Python may class newer characters differently. Both forms of the tokenizer use these classes.

`normalizer_model` writes a table from characters to strings in the form that the op
`FastBertNormalize` reads. The table that tf-text ships lower-cases by compatibility folding and
turns control characters into spaces; the released code does neither. The flatbuffer is described in
tf-text's fast_bert_normalizer_model.fbs, unchanged since its release 2.9.

The table is a double-array trie over the bytes of UTF-8. A node is a 32-bit cell; the child of
node `n` by byte `b` is cell `n ^ offset ^ b` if that cell is labelled `b`; the value of node
`n` is cell `n ^ offset`. The children of an inner node therefore fill one block of cells, and nodes
with equal children share the block.
"""

import struct
import unicodedata
from collections.abc import Mapping

# Blocks of the released code, known in 2018: without later extensions and kana.
_FIRST_CJK = 0x3400
_CJK_BLOCKS = (
    (0x4E00, 0x9FFF),
    (_FIRST_CJK, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)

# Code points that tables of all characters cover. The planes of later ideographs, the unassigned
# planes and those of private use are left out: their characters stay as they are.
WITH_PROPERTIES = (range(0x30000), range(0xE0000, 0xE1000))


def is_deleted(char: str) -> bool:
    """Whether clean-up drops it: control and format characters, and the replacement character.

    They are dropped before anything is split, so the text on both sides becomes one word.
    """
    if char in "\t\n\r":
        return False
    return char == "\N{REPLACEMENT CHARACTER}" or unicodedata.category(char) in ("Cc", "Cf")


def is_cjk(char: str) -> bool:
    """Whether it is in the CJK blocks, whose characters are always words of their own."""
    codepoint = ord(char)
    if codepoint < _FIRST_CJK:  # spares most characters the search
        return False
    return any(first <= codepoint <= last for first, last in _CJK_BLOCKS)


def is_punctuation(char: str) -> bool:
    """Whether it is Unicode punctuation or an ASCII symbol: a word of its own."""
    if char.isascii():
        return char.isprintable() and not char.isalnum() and char != " "
    return unicodedata.category(char)[0] == "P"


def cleaned(char: str) -> str:
    """First pass: deleted characters vanish, white space becomes one space, CJK gets spaces."""
    if is_deleted(char):
        return ""
    if char.isspace():
        return " "
    return f" {char} " if is_cjk(char) else char


def separated(char: str) -> str:
    """Last pass: spaces around punctuation."""
    return f" {char} " if is_punctuation(char) else char


def stripped_and_separated(char: str) -> str:
    """Last pass after decomposition: accents vanish, spaces around punctuation."""
    return "" if unicodedata.category(char) == "Mn" else separated(char)


def normal_form(char: str, do_lower_case: bool) -> str:
    """What becomes of a character on its own, with spaces at word boundaries.

    The normal form of a text is that of its characters, joined, except for two rules that look at
    neighbours. Both apply only with `do_lower_case`: the final sigma, and the order of combining
    characters that are not accents.
    """
    text = cleaned(char)
    if not do_lower_case:
        return "".join(map(separated, text))
    return "".join(map(stripped_and_separated, unicodedata.normalize("NFD", text.lower())))


# ---------------------------------------------------------------- table for FastBertNormalize

_HAS_VALUE = 1 << 8
_IS_VALUE = 1 << 31
_IS_REPLACED = 1 << 30  # else the op copies the character
_LENGTH_BITS = (
    6  # of a value: the length of the replacement in bytes; above them, its offset in the pool
)
_ROOT_BLOCK = 256
_CONTINUATION_BYTES = range(0x80, 0xC0)


def normalizer_model(replacements: Mapping[int, str]) -> bytes:
    """Serializes a table for `tensorflow_text.FastBertNormalizer(model_buffer=...)`.

    Args:
      replacements: code point to its replacement; other code points stay unchanged.
    """
    pool, values = _pooled(replacements)
    return _flatbuffer(_Trie(values).cells, values.get(0, 0), pool)


def _pooled(replacements: Mapping[int, str]) -> tuple[bytes, dict[int, int]]:
    """Returns the distinct replacements, concatenated, and the value of each code point."""
    pool, offsets, values = bytearray(), {}, {}
    for codepoint, text in replacements.items():
        data = text.encode("utf-8")
        if data not in offsets:
            offsets[data] = len(pool)
            pool += data
        values[codepoint] = _IS_REPLACED | offsets[data] << _LENGTH_BITS | len(data)
    return bytes(pool), values


# The values below a prefix of UTF-8 bytes: none, one value, or a tree for each of the 64
# continuation bytes.
_Tree = None | int | tuple["_Tree", ...]


class _Trie:
    """Lays out the cells: the root, its block, the values, then the blocks of 64 children."""

    def __init__(self, values: Mapping[int, int]) -> None:
        distinct = sorted(set(values.values()))
        self.cells = [0] * (2 * _ROOT_BLOCK) + [_IS_VALUE | value for value in distinct]
        self.cells += [0] * (-len(self.cells) % len(_CONTINUATION_BYTES))
        self._value_cells = {value: 2 * _ROOT_BLOCK + i for i, value in enumerate(distinct)}
        self._blocks: dict[tuple[_Tree, ...], int] = {}

        self.cells[0] = _offset_bits(0, _ROOT_BLOCK)
        for lead, tree in _byte_trees(values).items():
            self._write(_ROOT_BLOCK ^ lead, lead, tree)
        # The op reads a cell before it compares the label: any byte must stay inside.
        self.cells += [0] * (-len(self.cells) % 256)

    def _write(self, cell: int, label: int, tree: _Tree) -> None:
        """Writes the cell of a node, which has a value or children."""
        if isinstance(tree, tuple):
            self.cells[cell] = label | _offset_bits(cell, self._block(tree))
        elif tree is not None:
            target = self._value_cells[tree]
            self.cells[cell] = label | _HAS_VALUE | _offset_bits(cell, target)

    def _block(self, trees: tuple[_Tree, ...]) -> int:
        """The base of the block of a node's children, written on first use."""
        if trees not in self._blocks:
            base = len(self.cells) ^ _CONTINUATION_BYTES[0]
            self.cells += [0] * len(_CONTINUATION_BYTES)
            self._blocks[trees] = base
            for label, tree in zip(_CONTINUATION_BYTES, trees, strict=True):
                self._write(base ^ label, label, tree)
        return self._blocks[trees]


def _offset_bits(cell: int, target: int) -> int:
    return (cell ^ target) << 10


def _byte_trees(values: Mapping[int, int]) -> dict[int, _Tree]:
    """Nests the values by the bytes of UTF-8: a tree for each lead byte."""
    root: dict[int, _Tree] = {
        codepoint: value for codepoint, value in values.items() if 0 < codepoint < 0x80
    }
    for first, last, lead, num_levels in (
        (0x80, 0x7FF, 0xC0, 1),
        (0x800, 0xFFFF, 0xE0, 2),
        (0x10000, 0x10FFFF, 0xF0, 3),
    ):
        level: dict[int, _Tree] = {
            point: value for point, value in values.items() if first <= point <= last
        }
        for _ in range(num_levels):
            level = _grouped(level)
        root |= {lead + index: tree for index, tree in level.items()}
    return root


def _grouped(level: Mapping[int, _Tree]) -> dict[int, _Tree]:
    """One level up: the trees with equal leading bits become one tuple."""
    rows: dict[int, list[_Tree]] = {}
    for index, tree in level.items():
        row = rows.setdefault(index >> 6, [None] * len(_CONTINUATION_BYTES))
        row[index & 0x3F] = tree
    return {index: tuple(row) for index, row in rows.items()}


def _flatbuffer(cells: list[int], value_of_zero: int, pool: bytes) -> bytes:
    """The table FastBertNormalizerModel: field 0 is left out (false), then these three."""
    vtable_size, table_size = 12, 16
    table = 4 + vtable_size
    trie = table + table_size
    pool_start = trie + 4 + 4 * len(cells)
    return b"".join(
        (
            struct.pack("<I", table),
            struct.pack("<6H", vtable_size, table_size, 0, 4, 8, 12),
            struct.pack("<iIiI", vtable_size, trie - (table + 4), value_of_zero,
                        pool_start - (table + 12)),
            struct.pack(f"<I{len(cells)}I", len(cells), *cells),
            struct.pack("<I", len(pool)),
            pool,
        )
    )  # fmt: skip
