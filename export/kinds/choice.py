"""An exported model that picks one of several texts."""

from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_tf import features
from bert_tf.examples import packing
from bert_tf.examples.rows import Rows
from bert_tf.modeling import layer
from bert_tf.text.graph_packing import PackedRows, TextRows, most_ids
from export.kinds import checks, chunks
from export.kinds.module import Answers, Row, Served, ServingModule


class ChoiceModule(ServingModule):
    """A model of a context and several choices: `model(["a context"], [["one", "another"]])`.

    Rows with fewer choices than others are filled up with empty strings: an empty choice is none.

    - `choice`: int32 [B], the number of the best one from 0; -1 where there is none.
    - `probabilities`: float32 [B W], 0 where there is no choice.
    - `logits`: float32 [B W], very negative where there is no choice.

    The ids signature takes int32 [B W T]; a choice whose mask is 0 everywhere is none.
    """

    def __init__(self, served: Served) -> None:
        super().__init__(served, {"context": 1, "choices": 2})

    def answer(self, *inputs: tf.Tensor) -> Answers:
        context, choices = inputs
        exists = choices != ""
        which = tf.where(exists)  # [N 2]
        served = self._served
        limit = most_ids(served.max_seq_length, num_texts=2)
        rows = TextRows(
            tf.gather(self.tokenizer.first_ids(context, limit), which[:, 0]),
            self.tokenizer.first_ids(tf.gather_nd(choices, which), limit),
            served.directory.vocabulary,
            served.max_seq_length,
        )
        return self._answers(rows, exists)

    def answer_ids(self, batch: dict[str, tf.Tensor]) -> Answers:
        exists = tf.reduce_any(batch[features.MASK.name] > 0, axis=-1)
        which = tf.where(exists)
        rows = {name: tf.gather_nd(values, which) for name, values in batch.items()}
        return self._answers(chunks.IdRows(rows), exists)

    def _answers(self, rows: PackedRows | chunks.IdRows, exists: tf.Tensor) -> Answers:
        """Args: rows: of the choices that exist; exists: bool [B W]."""
        model = self._served.model

        def logits_of(batch: dict[str, tf.Tensor]) -> tf.Tensor:
            """Each choice is a row [B' T]: choices are computed by length, not by question."""
            alone = {name: values[:, tf.newaxis] for name, values in batch.items()}
            return model(alone, training=False)["logits"]  # [B' 1]

        flat = chunks.compute(rows, logits_of, 1, self._served.chunk_rows)[:, 0]
        shape = tf.shape(exists)
        logits = tf.tensor_scatter_nd_update(tf.fill(shape, layer.MASKED), tf.where(exists), flat)
        has_choice = tf.reduce_any(exists, axis=1)
        # One more, so that there is something to compare where no row has a choice.
        best = tf.argmax(tf.pad(logits, [[0, 0], [0, 1]], constant_values=-np.inf), axis=1)
        probabilities = tf.where(exists, tf.nn.softmax(logits), 0.0)
        return {
            "choice": tf.where(has_choice, tf.cast(best, tf.int32), -1),
            "probabilities": probabilities,
            "logits": logits,
        }

    @property
    def ids_axes(self) -> int:
        return 3

    # The Python path.

    def check_rows(self) -> list[Row]:
        plain, empty, accents, chinese, long, one_word, short, other = checks.TEXTS
        return [
            (plain, (chinese, accents, short)),
            (empty, (long, short, plain)),
            (one_word, (other, plain, "")),
            (long, (long, one_word, chinese)),
        ]

    def warm_up_rows(self, count: int) -> list[Row]:
        return [(text, (text, choice)) for text, choice in super().warm_up_rows(count)]

    def rows(self, rows: Sequence[Row]) -> Rows:
        packed, sizes = [], []
        for context, choices in rows:
            ids = self._python_tokenizer.encode(context)
            given = [choice for choice in choices if choice]
            packed += [
                packing.pack(
                    ids,
                    self._python_tokenizer.encode(choice),
                    self._served.directory.vocabulary,
                    self._served.max_seq_length,
                )
                for choice in given
            ]
            sizes.append(len(given))
        return Rows([each[0] for each in packed], [each[1] for each in packed], {}, np.array(sizes))

    def text_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        want = np.asarray(self._served.offline(self.ids_of(rows))["logits"])
        return checks.largest_difference(outputs["logits"], want, rows)

    def ids_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        return self.text_difference(outputs, rows)
