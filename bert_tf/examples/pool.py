"""Documents as arrays of ids, and pools of them: where examples and random texts are drawn from."""

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bert_tf.errors import InputError
from bert_tf.examples.choices import EXAMPLE_TYPES, ExampleType
from bert_tf.examples.random_bits import RandomBits


class Documents(NamedTuple):
    """Several documents in a row.

    Attributes:
      ids: [tokens].
      sentence_ends: [sentences], where in `ids` each sentence ends.
      document_ends: [documents], how many sentences there are up to the end of each.
      group_starts: [tokens], where tokens start that are masked together; None: the corpus does
        not say.
    """

    ids: npt.NDArray[np.integer]
    sentence_ends: npt.NDArray[np.int64]
    document_ends: npt.NDArray[np.int64]
    group_starts: npt.NDArray[np.bool_] | None = None


def cut_long_sentences(
    sentence_ends: npt.NDArray[np.int64], goes_on: npt.NDArray[np.bool_], longest: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Cuts sentences into near-equal parts of `longest` tokens or fewer, at starts of words.

    A word longer than `longest` is cut inside.

    Args:
      sentence_ends: [sentences].
      goes_on: [tokens], True for a token that goes on with a word.
      longest: in tokens.

    Returns:
      The ends of the parts [more sentences]; the number of parts of each sentence [sentences].
    """
    lengths = np.diff(sentence_ends, prepend=0)
    num_parts = np.ones(len(lengths), np.int64)
    cuts: list[int] = []
    for number in np.flatnonzero(lengths > longest):
        start, end = int(sentence_ends[number] - lengths[number]), int(sentence_ends[number])
        cuts_here = list(_cuts(start, end, longest, goes_on))
        cuts += cuts_here
        num_parts[number] += len(cuts_here)
    if not cuts:
        return sentence_ends, num_parts
    return np.sort(np.concatenate([sentence_ends, np.array(cuts, np.int64)])), num_parts


def _cuts(start: int, end: int, longest: int, goes_on: npt.NDArray[np.bool_]) -> Iterator[int]:
    """Yields where the parts of a sentence end, but for the last one."""
    position = start
    while (left := end - position) > longest:
        whole = position + -(-left // -(-left // longest))
        cuts = [*range(whole, position, -1), *range(whole + 1, position + longest + 1)]
        position = next((cut for cut in cuts if not goes_on[cut]), whole)
        yield position


class Pool:
    """Documents in memory together: each is the others' source of random second texts.

    Sentences and documents count over the whole pool: sentence s is
    `ids[bounds[s] : bounds[s + 1]]`, document d is sentences `first_sentences[d]` up to
    `first_sentences[d + 1]`.

    Args:
      parts: at least one; all or none say where groups start.
      continuations: [V], True for tokens that go on with a word.

    Attributes:
      ids: [tokens].
      group_starts: [tokens] or None.
      goes_on: [tokens], 1 where a token goes on with a word, or with a group if the corpus says
        what is masked together.
      bounds: [sentences + 1].
      first_sentences: [documents + 1].
      first_documents: [parts + 1], where in the documents each part starts.
    """

    def __init__(self, parts: Sequence[Documents], continuations: npt.NDArray[np.bool_]) -> None:
        self.ids = np.concatenate([part.ids for part in parts])
        self.group_starts: npt.NDArray[np.bool_] | None = None
        goes_on = continuations[self.ids]
        starts = [part.group_starts for part in parts if part.group_starts is not None]
        if starts:
            self.group_starts = np.concatenate(starts)
            goes_on = ~self.group_starts
        self.goes_on = goes_on.tobytes()
        self.bounds = _joined([part.sentence_ends for part in parts], [len(p.ids) for p in parts])
        num_sentences = [len(part.sentence_ends) for part in parts]
        self.first_sentences = _joined([part.document_ends for part in parts], num_sentences)
        num_documents = (len(part.document_ends) for part in parts)
        self.first_documents = list(itertools.accumulate(num_documents, initial=0))
        self._num_startable_before: list[int] = []

    def prepare_random_texts(self) -> None:
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

    def random_start(self, document: int, rng: random.Random) -> tuple[int, int]:
        """Draws a sentence of another document, not its first, all equally likely.

        So long documents are drawn more often than short ones.

        Returns:
          The sentence, and the one behind the last of its document.
        """
        before = self._num_startable_before
        num_here = before[document + 1] - before[document]
        number = int(rng.random() * (before[-1] - num_here))
        if number >= before[document]:
            number += num_here
        sentence = self._startable[number]
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


def _joined(ends: Sequence[npt.NDArray[np.int64]], sizes: Sequence[int]) -> list[int]:
    """Ends within each part as ends in all parts together, after a 0."""
    offsets = itertools.accumulate(sizes, initial=0)
    return [0, *np.concatenate([end + o for end, o in zip(ends, offsets, strict=False)]).tolist()]


def assign_pools(
    units: Sequence[tuple[Any, int, int]], num_tokens: int, min_documents: int, random_seed: int
) -> list[tuple]:
    """Groups units at random into pools, so that random texts come from the whole corpus.

    Args:
      units: (key, tokens, documents), in the order of their keys.
      num_tokens: a full pool has at least this many.
      min_documents: and this many; the last pool joins the one before if it has fewer.
      random_seed: of the order.

    Returns:
      A tuple of keys for each pool.
    """
    units = [unit for unit in units if unit[2]]
    order = RandomBits(random_seed).permutation(len(units))
    pools: list[list] = []
    sizes: list[tuple[int, int]] = []
    for key, tokens, documents in (units[number] for number in order):
        if not pools or (sizes[-1][0] >= num_tokens and sizes[-1][1] >= min_documents):
            pools.append([])
            sizes.append((0, 0))
        pools[-1].append(key)
        sizes[-1] = sizes[-1][0] + tokens, sizes[-1][1] + documents
    if len(pools) > 1 and (sizes[-1][0] < num_tokens // 2 or sizes[-1][1] < min_documents):
        pools[-2:] = [pools[-2] + pools[-1]]
    return [tuple(keys) for keys in pools]
