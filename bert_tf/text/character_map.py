"""A table from characters to strings, in the form the op `FastBertNormalize` reads.

The op replaces every code point of a text by a string. tf-text ships a table that lower-cases by
compatibility folding and turns control characters into spaces; the released code does neither.
`model_buffer` makes the op apply any table instead: it writes the flatbuffer that
tf-text describes in fast_bert_normalizer_model.fbs, unchanged since its release 2.9.

The table is a double-array trie over the bytes of UTF-8. A node is a 32-bit unit; the child of
node `n` by byte `b` is unit `n ^ offset ^ b` if that unit is labelled `b`; the value of node
`n` is unit `n ^ offset`. Each inner node's children thus fill one block of units, and nodes
with equal children share the block.
"""

import struct

_HAS_VALUE = 1 << 8
_IS_VALUE = 1 << 31
_IS_REPLACED = 1 << 30  # else the op copies the character
_LENGTH_BITS = 6  # of a value, the bytes of the replacement; above it, where they are in the pool
_ROOT_BLOCK = 256
_CONTINUATION_BYTES = range(0x80, 0xC0)


def model_buffer(replacements):
    """Serializes a table.

    Args:
      replacements: dict from code point (int) to str; other code points stay as they are.

    Returns:
      bytes, for `tensorflow_text.FastBertNormalizer(model_buffer=...)`.
    """
    pool, values = _pooled(replacements)
    units = _Trie(values).units
    return _flatbuffer(units, values.get(0, 0), pool)


def _pooled(replacements):
    """Returns the replacements end to end, each once, and the value of each code point."""
    pool, places, values = bytearray(), {}, {}
    for codepoint, text in replacements.items():
        data = text.encode("utf-8")
        if data not in places:
            places[data] = len(pool)
            pool += data
        values[codepoint] = _IS_REPLACED | places[data] << _LENGTH_BITS | len(data)
    return bytes(pool), values


class _Trie:
    """Lays out the units: the root, its block, the values, then the blocks of 64 children."""

    def __init__(self, values):
        distinct = sorted(set(values.values()))
        self.units = [0] * (2 * _ROOT_BLOCK) + [_IS_VALUE | value for value in distinct]
        self.units += [0] * (-len(self.units) % len(_CONTINUATION_BYTES))
        self._value_places = {value: 2 * _ROOT_BLOCK + i for i, value in enumerate(distinct)}
        self._blocks = {}

        self.units[0] = _offset_bits(0, _ROOT_BLOCK)
        for lead, tree in _byte_tree(values).items():
            self._write(_ROOT_BLOCK ^ lead, lead, tree)
        # The op looks at a unit before it compares the label: any byte must stay inside.
        self.units += [0] * (-len(self.units) % 256)

    def _write(self, place, label, tree):
        """Writes the unit of a node: a value (int) or a tuple of the 64 trees below it."""
        if isinstance(tree, int):
            target = self._value_places[tree]
            self.units[place] = label | _HAS_VALUE | _offset_bits(place, target)
        else:
            self.units[place] = label | _offset_bits(place, self._block(tree))

    def _block(self, trees):
        """The base of the block of a node's children, written when first met."""
        if trees not in self._blocks:
            base = len(self.units) ^ _CONTINUATION_BYTES[0]
            self.units += [0] * len(_CONTINUATION_BYTES)
            self._blocks[trees] = base
            for label, tree in zip(_CONTINUATION_BYTES, trees, strict=True):
                if tree is not None:
                    self._write(base ^ label, label, tree)
        return self._blocks[trees]


def _offset_bits(place, target):
    return (place ^ target) << 10


def _byte_tree(values):
    """Nests the values by the bytes of UTF-8: lead byte -> tuple of 64 trees or a value.

    A tree is None (no value below), an int (a value) or a tuple of 64 trees.
    """
    root = {codepoint: value for codepoint, value in values.items() if 0 < codepoint < 0x80}
    for first, last, lead, num_levels in (
        (0x80, 0x7FF, 0xC0, 1),
        (0x800, 0xFFFF, 0xE0, 2),
        (0x10000, 0x10FFFF, 0xF0, 3),
    ):
        level = {point: value for point, value in values.items() if first <= point <= last}
        for _ in range(num_levels):
            level = _grouped(level)
        root |= {lead + index: tree for index, tree in level.items()}
    return root


def _grouped(level):
    """One level up: the trees with equal leading bits become one tuple."""
    rows = {}
    for index, tree in level.items():
        row = rows.setdefault(index >> 6, [None] * len(_CONTINUATION_BYTES))
        row[index & 0x3F] = tree
    return {index: tuple(row) for index, row in rows.items()}


def _flatbuffer(units, value_of_zero, pool):
    """The table FastBertNormalizerModel: field 0 is left out (false), then these three."""
    vtable_size, table_size = 12, 16
    table = 4 + vtable_size
    trie = table + table_size
    pool_place = trie + 4 + 4 * len(units)
    return b"".join(
        (
            struct.pack("<I", table),
            struct.pack("<6H", vtable_size, table_size, 0, 4, 8, 12),
            struct.pack("<iIiI", vtable_size, trie - (table + 4), value_of_zero,
                        pool_place - (table + 12)),
            struct.pack(f"<I{len(units)}I", len(units), *units),
            struct.pack("<I", len(pool)),
            pool,
        )
    )  # fmt: skip
