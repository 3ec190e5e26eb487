"""Documents as arrays of ids, and pools of them: where examples and random texts are drawn from."""

import itertools
from typing import NamedTuple

import numpy as np

from bert_tf.errors import InputError
from bert_tf.examples.choices import EXAMPLE_TYPES, ExampleType
from bert_tf.examples.random_bits import RandomBits


class Documents(NamedTuple):
    """Several documents in a row.

    Attributes:
      ids: int32 [tokens].
      sentence_ends: int64 [sentences], where in `ids` each sentence ends.
      document_ends: int64 [documents], how many sentences there are up to the end of each.
      group_starts: bool [tokens], where a unit starts that is masked as a whole; None: the corpus
        does not say.
    """

    ids: np.ndarray
    sentence_ends: np.ndarray
    document_ends: np.ndarray
    group_starts: np.ndarray | None = None


def cut_long_sentences(sentence_ends, goes_on, longest):
    """Cuts sentences into near-equal parts of `longest` tokens or fewer, at starts of words.

    A word longer than `longest` is cut inside.

    Args:
      sentence_ends: int64 [sentences].
      goes_on: bool [tokens], True for a token that goes on with a word.
      longest: int.

    Returns:
      (sentence_ends, num_parts): int64 [more sentences]; int64 [sentences], parts of each.
    """
    lengths = np.diff(sentence_ends, prepend=0)
    num_parts = np.ones(len(lengths), np.int64)
    cuts = []
    for place in np.flatnonzero(lengths > longest):
        start, end = int(sentence_ends[place] - lengths[place]), int(sentence_ends[place])
        found = list(_cuts(start, end, longest, goes_on))
        cuts += found
        num_parts[place] += len(found)
    if not cuts:
        return sentence_ends, num_parts
    return np.sort(np.concatenate([sentence_ends, np.array(cuts, np.int64)])), num_parts


def _cuts(start, end, longest, goes_on):
    """Yields where the parts of a sentence end, but for the last one."""
    place = start
    while (left := end - place) > longest:
        whole = place + -(-left // -(-left // longest))
        cuts = *range(whole, place, -1), *range(whole + 1, place + longest + 1)
        place = next((cut for cut in cuts if not goes_on[cut]), whole)
        yield place


class Pool:
    """Documents in memory together: each is the others' source of random second texts.

    Sentences and documents count over the whole pool: sentence s is
    `ids[bounds[s] : bounds[s + 1]]`, document d is sentences `first_sentences[d]` up to
    `first_sentences[d + 1]`.

    Args:
      parts: list of `Documents`.
      continuations: bool [V], True for tokens that go on with a word.

    Attributes:
      ids: int32 [tokens].
      group_starts: bool [tokens] or None.
      goes_on: bytes [tokens], 1 where a token goes on with a word, or with a unit if the corpus
        gives units.
      bounds: list of int [sentences + 1].
      first_sentences: list of int [documents + 1].
      first_documents: list of int [parts + 1], where in the documents each part starts.
    """

    def __init__(self, parts, continuations):
        self.ids = np.concatenate([part.ids for part in parts])
        self.group_starts = None
        goes_on = continuations[self.ids]
        if parts[0].group_starts is not None:
            self.group_starts = np.concatenate([part.group_starts for part in parts])
            goes_on = ~self.group_starts
        self.goes_on = goes_on.tobytes()
        self.bounds = _joined([part.sentence_ends for part in parts], [len(p.ids) for p in parts])
        num_sentences = [len(part.sentence_ends) for part in parts]
        self.first_sentences = _joined([part.document_ends for part in parts], num_sentences)
        num_documents = (len(part.document_ends) for part in parts)
        self.first_documents = list(itertools.accumulate(num_documents, initial=0))
        self._num_startable_before = None

    def prepare_random_texts(self):
        """Lists where random texts may start: any sentence but the first of its document.

        Raises:
          InputError: fewer than two documents.
        """
        firsts = np.array(self.first_sentences)
        check_documents(len(firsts) - 1, EXAMPLE_TYPES["nsp"])
        is_first = np.zeros(firsts[-1], bool)
        is_first[firsts[:-1]] = True
        self._startable = np.flatnonzero(~is_first).tolist()
        self._end_of_document = np.repeat(firsts[1:], np.diff(firsts)).tolist()
        self._num_startable_before = (firsts - np.arange(len(firsts))).tolist()

    def random_start(self, document, rng):
        """Draws a sentence of another document, not its first, all equally likely.

        So long documents are drawn more often than short ones.

        Args:
          document: int, the one not to draw from.
          rng: `random.Random`.

        Returns:
          (sentence, end): ints, the sentence and the one behind the last of its document.
        """
        before = self._num_startable_before
        num_here = before[document + 1] - before[document]
        place = int(rng.random() * (before[-1] - num_here))
        if place >= before[document]:
            place += num_here
        sentence = self._startable[place]
        return sentence, self._end_of_document[sentence]


def check_documents(num_documents: int, example_type: ExampleType) -> None:
    """Refuses a corpus with too few documents for a type of examples.

    Raises:
      InputError: too few.
    """
    if num_documents < example_type.min_documents == 2:
        raise InputError(
            f"The input has {num_documents} document(s) of two sentences or more; at least "
            "two were wanted, because a random next sentence must come from another "
            "document. Put one sentence on a line and a blank line between documents."
        )
    if num_documents < 1:
        sentences = "two sentences or more" if example_type.has_pair else "any token"
        raise InputError(f"The input has no document of {sentences}; nothing to draw from.")


def _joined(ends, sizes):
    """Ends within each part as places in all parts together, 0 in front."""
    offsets = itertools.accumulate(sizes, initial=0)
    return [0, *np.concatenate([end + o for end, o in zip(ends, offsets, strict=False)]).tolist()]


def assign_pools(units, num_tokens, min_documents, random_seed):
    """Groups units at random into pools, so that random texts come from all over the corpus.

    Args:
      units: list of (key, tokens, documents), in the order of their keys.
      num_tokens: int, a pool is full with so many.
      min_documents: int, and with so many; the last pool joins the one before if it has fewer.
      random_seed: int.

    Returns:
      list of tuples of keys.
    """
    units = [unit for unit in units if unit[2]]
    order = RandomBits(random_seed).permutation(len(units))
    found, sizes = [], []
    for key, tokens, documents in (units[place] for place in order):
        if not found or (sizes[-1][0] >= num_tokens and sizes[-1][1] >= min_documents):
            found.append([])
            sizes.append((0, 0))
        found[-1].append(key)
        sizes[-1] = sizes[-1][0] + tokens, sizes[-1][1] + documents
    if len(found) > 1 and (sizes[-1][0] < num_tokens // 2 or sizes[-1][1] < min_documents):
        found[-2:] = [found[-2] + found[-1]]
    return [tuple(keys) for keys in found]
