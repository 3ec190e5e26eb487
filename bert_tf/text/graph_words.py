"""Text to words, as a TensorFlow graph: those of `bert_tf.text.words`.

The rule looks at the next few characters only, so it is computed for all characters of all texts at
once, from what a table says of each. Memory is a multiple of the texts, however many words there
are: words are encoded from their characters, because cutting a string copies all of it. Only core
operations are used.
"""

import functools

import tensorflow as tf

from bert_tf.text import graph_offsets, graph_tables, words

# What the table says of a character. Letters, digits and symbols are those that are no breaks; most
# of them are nothing else either, and the table has 0 for characters that it leaves out.
_BREAK, _SPACE, _DELETED, _CASED, _DIGIT, _MARK = (1 << bit for bit in range(6))
_JOINER, _NUMBER_JOINER, _PERIOD, _APOSTROPHE = (1 << bit for bit in range(6, 10))

_CLITICS = ("s", "m", "d", "re", "ve", "ll")


class TextWords:
    """The words of B texts.

    Args:
      texts: string [B]; bytes that are not UTF-8 are ignored, and do not count as characters.

    Attributes:
      words: string [N], those of all texts.
      splits: int32 [B + 1], the words of text i are those from `splits[i]` to before
        `splits[i + 1]`.
      starts, ends: int32 [N], Unicode code points of the text.
    """

    def __init__(self, texts: tf.Tensor) -> None:
        points = tf.strings.unicode_decode(texts, "UTF-8", errors="ignore")
        # A space behind each text: what follows is no neighbour.
        spaces = tf.fill([tf.size(texts), 1], ord(" "))
        points = tf.concat([points, spaces], axis=1)
        self._points = points.flat_values
        self._starts, self._ends = _spans(self._points)
        text_starts = tf.cast(points.row_splits, tf.int32)
        self.splits = tf.searchsorted(
            tf.concat([self._starts, [tf.int32.max]], axis=0), text_starts
        )
        text = graph_offsets.segment_ids(self.splits, tf.size(self._starts))
        before = tf.gather(text_starts, text)
        self.starts, self.ends = self._starts - before, self._ends - before
        self.words = self._encoded(self._starts, self._ends)

    def cut(self, first: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
        """Parts of the texts, string [M].

        Args:
          first, last: int32 [M], the first and the last word of each.
        """
        return self._encoded(tf.gather(self._starts, first), tf.gather(self._ends, last))

    def _encoded(self, starts: tf.Tensor, ends: tf.Tensor) -> tf.Tensor:
        index = tf.ragged.range(starts, ends)
        return tf.strings.unicode_encode(
            index.with_values(tf.gather(self._points, index.flat_values)), "UTF-8"
        )


def _spans(points: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Where words start and end: int32 [N] each.

    Args:
      points: int32 [M], code points; a space is the last one, if there are any.
    """
    kinds = _table().lookup(points)
    kept = tf.cast(tf.where(kinds & _DELETED == 0)[:, 0], tf.int32)
    kinds, points = tf.gather(kinds, kept), tf.gather(points, kept)
    is_inside = _is_inside(kinds)
    clitic, negation = _clitics(points, kinds, is_inside)
    is_clitic = _marked(clitic, kinds)
    is_inside |= is_clitic
    is_run = (points == _shifted(points, 1)) & _has(kinds, _MARK) & ~_shifted(is_inside, 1)
    goes_on = tf.where(is_inside, _shifted(is_inside, 1), is_run)
    is_word = ~_has(kinds, _SPACE)
    is_start = is_word & (~goes_on | is_clitic | _marked(negation, kinds))
    is_end = is_word & (_shifted(is_start, -1) | ~_shifted(is_word, -1))
    return tf.boolean_mask(kept, is_start), tf.boolean_mask(kept, is_end) + 1


def _is_inside(kinds: tf.Tensor) -> tf.Tensor:
    """Which characters stay in the word of the character before, if that is inside one."""
    is_char = ~_has(kinds, _BREAK)
    before, behind = _shifted(kinds, 1), _shifted(kinds, -1)
    is_joiner = _has(kinds, _JOINER)
    is_abbreviation = (
        _has(kinds, _PERIOD)
        & _has(before, _CASED)
        & ~_shifted(is_char | (is_joiner & ~_has(kinds, _PERIOD)), 2)
        & ~_has(behind, _PERIOD)
    )
    is_joined = is_joiner & _shifted(is_char | is_abbreviation, 1)
    is_joined &= _shifted(is_char, -1)
    is_in_number = _has(kinds, _NUMBER_JOINER) & _has(before, _DIGIT) & _has(behind, _DIGIT)
    return is_char | is_abbreviation | is_joined | is_in_number


def _clitics(
    points: tf.Tensor, kinds: tf.Tensor, is_inside: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Where clitics start: 's and the like, and n't; int32 each.

    What is behind the last character is a space, and no letter either.
    """
    apostrophe = tf.cast(tf.where(_has(kinds, _APOSTROPHE))[:, 0], tf.int32)

    def position(distance: int) -> tf.Tensor:
        return tf.clip_by_value(apostrophe + distance, 0, tf.maximum(tf.size(points) - 1, 0))

    def is_letter(distance: int, letter: str) -> tf.Tensor:
        point = tf.gather(points, position(distance))
        return (point == ord(letter)) | (point == ord(letter.upper()))

    def ends_at(distance: int) -> tf.Tensor:
        return ~tf.gather(is_inside, position(distance))

    is_clitic = tf.zeros_like(apostrophe, tf.bool)
    for clitic in _CLITICS:
        is_this = ends_at(len(clitic) + 1)
        for distance, letter in enumerate(clitic, start=1):
            is_this &= is_letter(distance, letter)
        is_clitic |= is_this
    is_negation = is_letter(-1, "n") & is_letter(1, "t") & ends_at(2)
    return tf.boolean_mask(apostrophe, is_clitic), tf.boolean_mask(apostrophe, is_negation) - 1


def _has(kinds: tf.Tensor, flag: int) -> tf.Tensor:
    return kinds & flag > 0


def _shifted(values: tf.Tensor, distance: int) -> tf.Tensor:
    """The values that many characters before each, or behind for a negative distance; 0 outside."""
    outside = tf.zeros([abs(distance)], values.dtype)
    if distance > 0:
        return tf.concat([outside, values], axis=0)[: tf.size(values)]
    return tf.concat([values, outside], axis=0)[-distance:]


def _marked(index: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    """True at some positions: bool, as long as `like`."""
    none = tf.zeros_like(like, tf.bool)
    return tf.tensor_scatter_nd_update(none, index[:, tf.newaxis], tf.ones_like(index, tf.bool))


@functools.cache
def _table() -> graph_tables.CodePointTable:
    return graph_tables.make_table(lambda char: _flags(words.shape(char)))


def _flags(shape: str) -> int:
    of_classes = {
        words.DELETED: _BREAK | _DELETED,
        words.SPACE: _BREAK | _SPACE,
        words.CJK: _BREAK,
        words.CASED: _CASED,
        words.DIGIT: _DIGIT,
        words.OTHER: 0,
    }
    if shape in of_classes:
        return of_classes[shape]
    if shape.isalpha():
        return _CASED
    of_marks = {
        words.JOINERS: _JOINER,
        words.NUMBER_JOINERS: _NUMBER_JOINER,
        words.PERIOD: _PERIOD,
        words.APOSTROPHES: _APOSTROPHE,
    }
    return sum((flag for marks, flag in of_marks.items() if shape in marks), _BREAK | _MARK)
