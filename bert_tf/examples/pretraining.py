"""Documents to pre-training examples: pairs, packed and masked, one pass over one document."""

import dataclasses
import functools
import random
from typing import NamedTuple

from bert_tf.examples import pairs
from bert_tf.examples.masking import Masker
from bert_tf.examples.packing import pack
from bert_tf.text.vocab import Vocabulary


class PretrainingExample(NamedTuple):
    """One example before padding.

    Attributes:
      word_ids: list of int, [CLS] a [SEP] b [SEP], masked.
      type_ids: list of int, as long.
      positions: list of int, ascending, of the tokens to predict.
      labels: list of int, the ids that stood at `positions`.
      is_random_next: whether the second text is from another document.
      is_capped: whether `max_predictions_per_seq` kept the share of masked tokens down.
    """

    word_ids: list
    type_ids: list
    positions: list
    labels: list
    is_random_next: bool
    is_capped: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExampleMaker:
    """Makes the examples of a document; what it makes depends on its arguments alone.

    Attributes:
      vocabulary: `text.vocab.Vocabulary`.
      masker: `masking.Masker`.
      max_seq_length: int, special tokens included.
      short_seq_prob: float, see `pairs.pairs`.
      random_seed: int.
    """

    vocabulary: Vocabulary
    masker: Masker
    max_seq_length: int
    short_seq_prob: float
    random_seed: int

    @property
    def room(self):
        """Tokens of a pair without the special ones."""
        return self.max_seq_length - pairs.NUM_SPECIAL_TOKENS

    @functools.cached_property
    def _is_continuation(self):
        return self.vocabulary.continuations

    def document(self, number, sentences, num_bytes):
        """`pairs.document` for this length and vocabulary."""
        return pairs.document(number, sentences, num_bytes, self.room, self._is_continuation)

    def examples(self, pool, index, pass_number):
        """Yields the `PretrainingExample`s of one pass over one document of a pool.

        Random draws are seeded by the seed, the pass and the number of the document in the
        input, so they do not depend on which documents were worked on before.
        """
        number = pool.documents[index].number
        rng = random.Random(f"{self.random_seed} {pass_number} {number}")
        for pair in pairs.pairs(
            pool,
            index,
            rng,
            room=self.room,
            short_seq_prob=self.short_seq_prob,
            is_continuation=self._is_continuation,
        ):
            word_ids, type_ids = pack(pair.ids_a, pair.ids_b, self.vocabulary, self.max_seq_length)
            masked = self.masker(word_ids, rng)
            yield PretrainingExample(
                masked.word_ids,
                type_ids,
                masked.positions,
                masked.labels,
                pair.is_random_next,
                masked.is_capped,
            )
