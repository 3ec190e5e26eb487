"""Entities of tagged words, in the graph: those of `bert_tf.examples.iob.entities`."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from bert_tf.examples import iob


class Entities(NamedTuple):
    """The entities of all texts, [M] each, one text after the other.

    Attributes:
      first, last: int32, the words that an entity begins and ends with.
      types: string.
      scores: float32, the mean of its words' scores.
    """

    first: tf.Tensor
    last: tf.Tensor
    types: tf.Tensor
    scores: tf.Tensor


class Reader:
    """Reads the entities off tags.

    Args:
      labels: the tags, in the order of the classes.
    """

    def __init__(self, labels: Sequence[str]) -> None:
        prefixes, types = zip(*map(iob.split, labels), strict=True)
        self._is_outside = np.array([prefix == iob.OUTSIDE for prefix in prefixes])
        self._begins = np.array([prefix in "BS" for prefix in prefixes])
        self._ends = np.array([prefix in "OES" for prefix in prefixes])
        self._names = list(dict.fromkeys(types))
        self._types = np.array([self._names.index(each) for each in types], np.int32)

    def read(self, tags: tf.Tensor, scores: tf.Tensor, text: tf.Tensor) -> Entities:
        """The entities of N words.

        Args:
          tags: int32 [N], classes.
          scores: float32 [N].
          text: int32 [N], ascending: words of different texts are no neighbours.
        """
        count = tf.size(tags)

        def before(values: tf.Tensor) -> tf.Tensor:
            return tf.concat([[-1], values], axis=0)[:count]

        tag_before = tf.maximum(before(tags), 0)
        is_entity = ~tf.gather(self._is_outside, tags)
        kinds = tf.gather(self._types, tags)
        begins = (
            tf.gather(self._begins, tags)
            | tf.gather(self._ends, tag_before)
            | (kinds != tf.gather(self._types, tag_before))
            | (text != before(text))
        )
        begins &= is_entity
        words = tf.cast(tf.where(is_entity)[:, 0], tf.int32)
        entity = tf.gather(tf.cumsum(tf.cast(begins, tf.int32)) - 1, words)
        first = tf.cast(tf.where(begins)[:, 0], tf.int32)
        return Entities(
            first,
            tf.math.segment_max(words, entity),
            tf.gather(self._names, tf.gather(kinds, first)),
            tf.math.segment_mean(tf.gather(scores, words), entity),
        )
