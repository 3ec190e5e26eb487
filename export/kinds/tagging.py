"""An exported model that gives each word of a text a tag, and the entities that these mark."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.examples.labelled import TokenExample
from bert_tf.examples.rows import Rows
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.tagging import Tagging
from bert_tf.text import graph_offsets, words
from bert_tf.text.graph_packing import most_ids
from bert_tf.text.graph_word_rows import WordRows
from bert_tf.text.graph_words import TextWords
from export.kinds import checks, chunks, entities, tag_checks
from export.kinds.module import Answers, Row, Served, ServingModule, Signature, function

WORDS_SIGNATURE = "words"
NOWHERE = tag_checks.NOWHERE


class TaggingModule(ServingModule):
    """A model that tags words: `model(["Neil Armstrong landed."])`.

    The text is split into words by the rule of `bert_tf.text.words`; all of them are answered,
    however long the text is. W is the number of words of the text that has most; behind the last
    word of another text strings are empty, scores 0 and positions -1.

    - `words`: string [B W].
    - `starts`, `ends`: int32 [B W], the first character of each word and the one after its last.
      Characters are Unicode code points of the UTF-8 text; bytes that are not UTF-8 do not count.
    - `tags`: string [B W], in IOB2 for a model that was trained on entities.
    - `scores`: float32 [B W], probabilities of these tags.

    A model of entities, whose tags are such as B-PER, also gives what its metric reads off them:

    - `entities`: string [B E], cut out of the text.
    - `entity_types`: string [B E].
    - `entity_starts`, `entity_ends`: int32 [B E], characters.
    - `entity_scores`: float32 [B E], the mean of the scores of the entity's words.

    The signature `words` takes words, string [B W], filled up with empty strings; its answers are
    `tags`, `scores` and entities, whose strings are the words with a space between them and whose
    starts and ends are numbers of words. An empty string is no word wherever it stands.

    The ids signature takes rows of ids: `logits` and `probabilities` float32 [B T C], `tags` string
    [B T], `labels` string [B C]. Logits and probabilities are 0 and tags empty at padding.
    """

    def __init__(self, served: Served) -> None:
        metadata = served.directory.metadata
        task = registry.of_model(metadata)
        assert isinstance(task, Tagging), "the table has no other kinds here"
        self._task = task
        self._reader = entities.Reader(metadata.labels) if task.are_entities else None
        super().__init__(served, {"text": 1})
        # A saved object keeps variables, assets and functions; constants are lost.
        self.labels = tf.Variable(metadata.labels, trainable=False)

    @property
    def default_signatures(self) -> tuple[str, ...]:
        return *super().default_signatures, WORDS_SIGNATURE

    def other_signatures(self) -> dict[str, Callable[[], Signature]]:
        return {WORDS_SIGNATURE: self._of_words}

    def answer(self, *inputs: tf.Tensor) -> Answers:
        (texts,) = inputs
        found = TextWords(texts)
        tagged = self._tag(found.words, found.splits)
        answers = {
            "words": tagged.padded(found.words, ""),
            "starts": tagged.padded(found.starts, NOWHERE),
            "ends": tagged.padded(found.ends, NOWHERE),
            "tags": tagged.padded(self._names(tagged.tags), ""),
            "scores": tagged.padded(tagged.scores, 0.0),
        }
        return answers | self._entities(tagged, found.cut, found.starts, found.ends)

    def answer_words(self, given: tf.Tensor) -> Answers:
        """The outputs of the signature of words, string [B W]."""
        which = tf.where(given != "")  # [N 2]
        number = tf.cast(which[:, 1], tf.int32)
        counts = tf.reduce_sum(tf.cast(given != "", tf.int32), axis=1)
        flat = tf.gather_nd(given, which)
        tagged = self._tag(flat, tf.concat([[0], tf.cumsum(counts)], axis=0))

        def joined(first: tf.Tensor, last: tf.Tensor) -> tf.Tensor:
            of_entity = tf.ragged.range(first, last + 1)
            return tf.strings.reduce_join(
                tf.RaggedTensor.from_row_splits(
                    tf.gather(flat, of_entity.flat_values), of_entity.row_splits
                ),
                axis=1,
                separator=" ",
            )

        def in_place(values: tf.Tensor) -> tf.Tensor:
            filled = tf.zeros(tf.shape(given), values.dtype)
            return tf.tensor_scatter_nd_update(filled, which, values)

        answers = {"tags": in_place(self._names(tagged.tags)), "scores": in_place(tagged.scores)}
        return answers | self._entities(tagged, joined, number, number + 1)

    def answer_ids(self, batch: dict[str, tf.Tensor]) -> Answers:
        rows = chunks.IdRows(batch)

        def padded(batch: dict[str, tf.Tensor], _: tf.Tensor) -> dict[str, tf.Tensor]:
            is_real = batch[features.MASK.name][:, :, tf.newaxis] > 0
            logits = tf.where(is_real, self._logits(batch), 0.0)
            padding = [[0, 0], [0, rows.max_length - tf.shape(logits)[1]], [0, 0]]
            return {"": tf.pad(logits, padding)}

        num_outputs = self._served.directory.metadata.num_outputs
        specs = {"": tf.TensorSpec([None, None, num_outputs], tf.float32)}
        empty = {"": [0, rows.max_length, num_outputs]}
        logits = chunks.compute_each(rows, padded, specs, self._served.chunk_rows, empty)[""]
        is_real = batch[features.MASK.name] > 0
        tags = tf.where(is_real, self._names(tf.argmax(logits, axis=-1)), "")
        labels = tf.broadcast_to(self._task.labels, [tf.shape(is_real)[0], num_outputs])
        return {
            "logits": logits,
            "probabilities": tf.where(is_real[:, :, tf.newaxis], tf.nn.softmax(logits), 0.0),
            "tags": tags,
            "labels": labels,
        }

    def _tag(self, flat: tf.Tensor, splits: tf.Tensor) -> "_Tagged":
        """Tags the words of B texts.

        Args:
          flat: string [N], those of all texts.
          splits: int32 [B + 1]: text i has the words from `splits[i]` to before `splits[i + 1]`.
        """
        served = self._served
        # A word that is longer than a row is cut.
        limit = most_ids(served.max_seq_length, num_texts=1)
        rows = WordRows(
            self.tokenizer.first_ids(flat, limit),
            splits,
            served.directory.vocabulary,
            served.max_seq_length,
            self._task.document_context,
        )

        def best(batch: dict[str, tf.Tensor], _: tf.Tensor) -> dict[str, tf.Tensor]:
            probabilities = tf.nn.softmax(self._logits(batch))
            padding = [[0, 0], [0, rows.max_length - tf.shape(probabilities)[1]]]
            return {
                "tags": tf.pad(tf.argmax(probabilities, axis=-1, output_type=tf.int32), padding),
                "scores": tf.pad(tf.reduce_max(probabilities, axis=-1), padding),
            }

        specs = {
            "tags": tf.TensorSpec([None, None], tf.int32),
            "scores": tf.TensorSpec([None, None], tf.float32),
        }
        of_rows = chunks.compute_each(
            rows, best, specs, served.chunk_rows, dict.fromkeys(specs, [0, rows.max_length])
        )
        at = tf.stack([rows.row, rows.position], axis=1)
        return _Tagged(
            tf.gather_nd(of_rows["tags"], at),
            tf.gather_nd(of_rows["scores"], at),
            graph_offsets.segment_ids(splits, tf.size(flat)),
            tf.size(splits) - 1,
        )

    def _entities(
        self,
        tagged: "_Tagged",
        cut: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
        starts: tf.Tensor,
        ends: tf.Tensor,
    ) -> Answers:
        """The outputs for entities; none for a model of other tags.

        Args:
          cut: from the first and the last word of each entity to its string.
          starts, ends: int32 [N], of the words.
        """
        if self._reader is None:
            return {}
        found = self._reader.read(tagged.tags, tagged.scores, tagged.text)
        text = tf.gather(tagged.text, found.first)
        of_entities = {
            "entities": (cut(found.first, found.last), ""),
            "entity_types": (found.types, ""),
            "entity_starts": (tf.gather(starts, found.first), NOWHERE),
            "entity_ends": (tf.gather(ends, found.last), NOWHERE),
            "entity_scores": (found.scores, 0.0),
        }
        return {
            name: _padded(values, text, tagged.num_texts, filler)
            for name, (values, filler) in of_entities.items()
        }

    def _names(self, tags: tf.Tensor) -> tf.Tensor:
        return tf.gather(tf.constant(self._task.labels), tags)

    def _logits(self, batch: dict[str, tf.Tensor]) -> tf.Tensor:
        """float32 [B T C]."""
        return tf.cast(self._served.model(batch, training=False)["logits"], tf.float32)

    def _of_words(self) -> Signature:
        def feeds(rows: Sequence[Row]) -> dict[str, Any]:
            split = [words.of(text) for (text,) in rows]
            most = max(map(len, split))
            return {"words": [[*each, *[""] * (most - len(each))] for each in split]}

        def difference(outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
            return self._difference(outputs, rows, words_only=True)

        spec = tf.TensorSpec([None, None], tf.string, name="words")
        return Signature(function(self.answer_words, [spec]), feeds, difference)

    # The Python path.

    def check_rows(self) -> list[Row]:
        return [*super().check_rows(), ("Germany's AL-AIN (U.S.) didn't win, 1-0...",)]

    def rows(self, rows: Sequence[Row]) -> Rows:
        examples = [TokenExample("", tuple(words.of(text))) for (text,) in rows]
        return self._task.encode(examples, self._python_tokenizer, self._served.max_seq_length)

    def ids_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        batch = self.ids_of(rows)
        want = self._python_logits(batch) * batch[features.MASK.name][:, :, np.newaxis]
        names = [f"row {number} of all texts" for number in range(len(want))]
        return checks.largest_difference(outputs["logits"], want, names)

    def text_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        """Of probabilities; other words, tags or entities are a mismatch, too."""
        return self._difference(outputs, rows)

    def _python_logits(self, batch: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.asarray(self._served.offline(batch)["logits"])

    def _difference(
        self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row], words_only: bool = False
    ) -> float:
        """See `Signature.difference`; `words_only`: of the signature of words."""
        ids = self.rows(rows)
        logits = self._python_logits(self.ids_of(rows))
        tolerance = checks.TOLERANCE * checks.scale(logits)
        probabilities = tf.nn.softmax(logits).numpy()
        labels = ids.batch(np.arange(len(ids)))[features.TOKEN_LABEL_IDS.name]
        of_words = probabilities[labels >= 0]  # [N C]
        compare = tag_checks.Comparison(self._task, words_only)
        largest, end = 0.0, 0
        for number, (text,) in enumerate(rows):
            start, end = end, end + len(words.split(text))
            given = {name: column[number] for name, column in outputs.items()}
            largest = max(largest, compare(given, text, of_words[start:end]))
        if largest > tolerance:
            raise checks.Mismatch(f"other scores: they differ by {largest:.2g}")
        return largest


class _Tagged(NamedTuple):
    """The words of B texts with their tags.

    Attributes:
      tags: int32 [N].
      scores: float32 [N].
      text: int32 [N], the text of each word.
      num_texts: B.
    """

    tags: tf.Tensor
    scores: tf.Tensor
    text: tf.Tensor
    num_texts: tf.Tensor

    def padded(self, values: tf.Tensor, filler: Any) -> tf.Tensor:
        """Values of words [N] by text, [B W]."""
        return _padded(values, self.text, self.num_texts, filler)


def _padded(values: tf.Tensor, text: tf.Tensor, num_texts: tf.Tensor, filler: Any) -> tf.Tensor:
    counts = tf.math.unsorted_segment_sum(tf.ones_like(text), text, num_texts)
    filler = tf.constant(filler, values.dtype)
    return tf.RaggedTensor.from_row_lengths(values, counts).to_tensor(filler)
