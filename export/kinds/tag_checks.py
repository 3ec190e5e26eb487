"""The answers of an exported tagger against those of the Python path, text by text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bert_tf.examples import iob
from bert_tf.tasks.kinds.tagging import Tagging
from bert_tf.text import words
from export.kinds import checks

NOWHERE = -1  # where a word or an entity is that is not there


class Comparison:
    """Compares what a signature answers for a text.

    Args:
      of_words: whether the signature takes words, so that positions are numbers of words.
    """

    def __init__(self, task: Tagging, of_words: bool) -> None:
        self._task, self._of_words = task, of_words

    def __call__(self, given: Mapping[str, Any], text: str, want: npt.NDArray) -> float:
        """The largest difference of a probability.

        Args:
          given: the outputs for the text.
          want: float32 [N C], the probabilities of the Python path for its words.

        Raises:
          Mismatch: there are other words, or entities that the tags do not mark.
        """
        spans = words.split(text)
        for name, values in self._wanted(given, text, spans):
            _require_equal(name, given[name], values, text)
        tags = [tag.decode() for tag in given["tags"][: len(spans)]]
        index = [self._task.labels.index(tag) for tag in tags]
        scores = given["scores"][: len(spans), np.newaxis]
        # A score is the probability of its tag, and no tag has a greater one.
        both = np.stack([want[np.arange(len(want)), index], want.max(axis=1, initial=0)], axis=1)
        return float(np.abs(both - scores).max(initial=0.0))

    def _wanted(
        self, given: Mapping[str, Any], text: str, spans: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[str, Sequence[Any]]]:
        """Names of outputs and what they must be before the padding."""
        tags = [tag.decode() for tag in given["tags"][: len(spans)]]
        yield "tags", tags
        yield "scores", given["scores"][: len(spans)].tolist()
        starts, ends = zip(*spans, strict=True) if spans else ((), ())
        if not self._of_words:
            yield "words", words.of(text)
            yield "starts", starts
            yield "ends", ends
        if not self._task.are_entities:
            return
        found = iob.entities(tags)
        yield "entity_types", [entity.type for entity in found]
        scores = [float(np.mean(given["scores"][entity.first : entity.end])) for entity in found]
        if not np.allclose(given["entity_scores"][: len(found)], scores, atol=checks.TOLERANCE):
            raise checks.Mismatch(f"other entity_scores for {text!r}: they are no means")
        if self._of_words:
            yield "entities", [" ".join(words.of(text)[e.first : e.end]) for e in found]
            yield "entity_starts", [entity.first for entity in found]
            yield "entity_ends", [entity.end for entity in found]
        else:
            yield "entities", [text[starts[e.first] : ends[e.end - 1]] for e in found]
            yield "entity_starts", [starts[entity.first] for entity in found]
            yield "entity_ends", [ends[entity.end - 1] for entity in found]


def _require_equal(name: str, given: npt.NDArray, want: Sequence[Any], text: str) -> None:
    """Compares an output with what it must be; behind it there is nothing but padding.

    Raises:
      Mismatch: they differ.
    """
    values = [each.decode() if isinstance(each, bytes) else each for each in given.tolist()]
    head, tail = values[: len(want)], values[len(want) :]
    filler = {"U": "", "S": "", "O": "", "i": NOWHERE, "f": 0.0}[given.dtype.kind]
    if head != list(want) or any(each != filler for each in tail):
        raise checks.Mismatch(f"other {name} for {text!r}: {head}, not {list(want)}")
