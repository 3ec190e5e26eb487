"""Tags the words of texts, and finds the entities that the tags mark."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.examples import batching, iob
from bert_tf.examples.labelled import TokenExample
from bert_tf.library import texts
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.tagging import Tagging
from bert_tf.text import words
from bert_tf.text.wordpiece import WordPieceTokenizer

_BATCH_SIZE = 32


class TaggedWord(NamedTuple):
    """A word with its most probable tag.

    Attributes:
      text: `source[start:end]`.
      tag: in IOB2 for a model that was trained on entities.
      probability: of `tag`.
      start, end: characters of the source.
    """

    text: str
    tag: str
    probability: float
    start: int
    end: int


class Entity(NamedTuple):
    """Words of one type, such as a person's name.

    Attributes:
      text: `source[start:end]`.
      type: of the entity, "PER" for B-PER.
      probability: the mean over its words.
      start, end: characters of the source.
    """

    text: str
    type: str
    probability: float
    start: int
    end: int


class TaggedText(NamedTuple):
    """The answer for one text.

    Attributes:
      words: all of them, see `bert_tf.text.words`.
      entities: what the tags mark; () for a model of other tags.
    """

    words: tuple[TaggedWord, ...]
    entities: tuple[Entity, ...]


class WordTagger:
    """A tagger of a training, called on plain strings. It answers as run_classifier.py predicts.

    Attributes:
      labels: the tags, in the order of the outputs.
    """

    def __init__(self, directory: ModelDirectory) -> None:
        metadata = directory.metadata
        task = registry.of_model(metadata)
        assert isinstance(task, Tagging), "`loading.load` has looked at the kind"
        self.labels = metadata.labels
        self._task, self._max_seq_length = task, metadata.max_seq_length
        self._tokenizer = WordPieceTokenizer(directory.vocabulary, metadata.do_lower_case)
        model = directory.build_model()
        signature = {
            feature.name: tf.TensorSpec([None, None], feature.dtype)
            for feature in features.ENCODER_INPUTS
        }
        self._probabilities = tf.function(
            lambda batch: tf.nn.softmax(model(batch, training=False)["logits"]),
            input_signature=[signature],
            autograph=False,
        )

    def __call__(self, inputs: texts.Texts, batch_size: int = _BATCH_SIZE) -> Any:
        """Tags texts.

        Args:
          inputs: a string or a list of strings. All of a text is tagged, however long it is.
          batch_size: rows that are computed together.

        Returns:
          a list of `TaggedText`, or one for one string.

        Raises:
          ValueError: pairs of texts were given.
        """
        given = texts.read(inputs)
        if given.second is not None:
            raise ValueError("This model takes single texts.")
        sources = [texts.decoded(text) for text in given.first]
        examples = [TokenExample("", tuple(words.of(source))) for source in sources]
        rows = self._task.encode(examples, self._tokenizer, self._max_seq_length)
        labels = rows.labels[features.TOKEN_LABEL_IDS.name]
        found: list[np.ndarray] = [np.empty(0)] * len(rows)
        for indices in batching.prediction_batches(rows, batch_size):
            probabilities = self._probabilities(rows.without_labels().batch(indices)).numpy()
            for index, of_row in zip(indices.tolist(), probabilities, strict=True):
                found[index] = of_row[: len(labels[index])][labels[index] >= 0]
        by_word = np.concatenate(found)  # [N C]
        ends = np.cumsum([len(example.words) for example in examples])[:-1]
        answers = [
            self._answer(source, of_words)
            for source, of_words in zip(sources, np.split(by_word, ends), strict=True)
        ]
        return answers[0] if given.is_one else answers

    def _answer(self, source: str, probabilities: np.ndarray) -> TaggedText:
        """Args: probabilities: [N C], of the words of the source."""
        tags = [self.labels[index] for index in probabilities.argmax(axis=1)]
        tagged = [
            TaggedWord(source[start:end], tag, float(probability), start, end)
            for (start, end), tag, probability in zip(
                words.split(source), tags, probabilities.max(axis=1, initial=0), strict=True
            )
        ]
        found = entities(source, tagged) if self._task.are_entities else ()
        return TaggedText(tuple(tagged), tuple(found))


def entities(source: str, tagged: Sequence[TaggedWord]) -> list[Entity]:
    """The entities that the tags of a text's words mark."""
    found = []
    for kind, first, end in iob.entities([word.tag for word in tagged]):
        of_entity = tagged[first:end]
        start, stop = of_entity[0].start, of_entity[-1].end
        probability = float(np.mean([word.probability for word in of_entity]))
        found.append(Entity(source[start:stop], kind, probability, start, stop))
    return found
