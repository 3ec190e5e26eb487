"""An exported model of one or two texts: a label, several labels, or a number."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from bert_tf.examples import packing
from bert_tf.examples.rows import Rows
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.text_task import TextTask
from bert_tf.text.graph_packing import PackedRows, TextRows, most_ids
from bert_tf.text.graph_text_windows import TextWindows
from export.kinds import checks, chunks, embedding, tf_examples
from export.kinds.module import IDS_SIGNATURE, Answers, Row, Served, ServingModule, Signature


class TextModule(ServingModule):
    """A model of one or two texts: `model(["a text"])` or `model(["a"], ["b"])`.

    A classifier has the attribute `labels`, a variable: string [C]. A model of long texts answers a
    text from all its windows; its ids signature answers each window.
    """

    def __init__(self, served: Served) -> None:
        metadata = served.directory.metadata
        task = registry.of_model(metadata)
        assert isinstance(task, TextTask), "the table has no other kinds here"
        self._task = task
        names = ("text",) if metadata.num_texts == 1 else ("text_a", "text_b")
        super().__init__(served, dict.fromkeys(names, 1))
        if task.is_labelled:
            # A saved object keeps variables, assets and functions; constants are lost.
            self.labels = tf.Variable(metadata.labels, trainable=False)

    def answer(self, *inputs: tf.Tensor) -> Answers:
        rows = self._graph_rows(*inputs)
        logits = self._logits(rows)
        if isinstance(rows, TextWindows):
            assert self._task.windows, "without them there are no such rows"
            logits = rows.pooled(logits, self._task.windows.pooling)
        return self._task.answer(logits)

    def answer_ids(self, batch: dict[str, tf.Tensor]) -> Answers:
        return self._task.answer(self._logits(chunks.IdRows(batch)))

    @property
    def default_signatures(self) -> tuple[str, ...]:
        return *super().default_signatures, self._example_signature

    @property
    def _example_signature(self) -> str:
        return "classify" if self._task.is_labelled else "regress"

    def other_signatures(self) -> dict[str, Callable[[], Signature]]:
        return {
            self._example_signature: self._of_examples,
            **embedding.signatures(self, self._served, self._graph_rows),
        }

    def _graph_rows(self, *inputs: tf.Tensor) -> PackedRows:
        vocabulary, length = self._served.directory.vocabulary, self._served.max_seq_length
        windows = self._task.windows
        if windows is None:
            limit = most_ids(length, len(inputs))
            ids_a, *rest = (self.tokenizer.first_ids(text, limit) for text in inputs)
            return TextRows(ids_a, rest[0] if rest else None, vocabulary, length)
        if len(inputs) == 1:
            limit = windows.max_windows * most_ids(length, num_texts=1)
            ids_a, ids_b = self.tokenizer.first_ids(inputs[0], limit), None
        else:  # the longer text is cut into windows, and which one it is shows at the end
            ids_a, ids_b = map(self.tokenizer, inputs)
        return TextWindows(ids_a, ids_b, vocabulary, length, windows.max_windows, windows.stride)

    def _logits(self, rows: PackedRows | chunks.IdRows) -> tf.Tensor:
        """float32 [B C]."""
        served = self._served
        num_outputs = served.directory.metadata.num_outputs

        def logits(batch: dict[str, tf.Tensor]) -> tf.Tensor:
            return served.model(batch, training=False)["logits"]

        return chunks.compute(rows, logits, num_outputs, served.chunk_rows)

    def _of_examples(self) -> Signature:
        def expected(rows: Sequence[Row]) -> Answers:
            return self._task.answer(tf.constant(self._expected(rows)))

        make = tf_examples.classify if self._task.is_labelled else tf_examples.regress
        return make(self._answer_texts, tuple(self.inputs), expected)

    # The Python path.

    def rows(self, rows: Sequence[Row]) -> Rows:
        vocabulary, length = self._served.directory.vocabulary, self._served.max_seq_length
        packed: list[packing.Packed] = []
        sizes = []
        for row in rows:
            ids_a, *rest = map(self._python_tokenizer.encode, row)
            ids_b = rest[0] if rest else None
            of_row = [packing.pack(ids_a, ids_b, vocabulary, length)]
            if windows := self._task.windows:
                of_row, _ = packing.pack_windows(ids_a, ids_b, vocabulary, length, windows)
            packed += of_row
            sizes.append(len(of_row))
        group_sizes = np.array(sizes) if self._task.windows else None
        return Rows([each[0] for each in packed], [each[1] for each in packed], {}, group_sizes)

    def ids_of(self, rows: Sequence[Row]) -> dict[str, np.ndarray]:
        """See `ServingModule.ids_of`: [B T], windows of long texts one by one."""
        given = self.rows(rows)
        flat = Rows(given.word_ids, given.type_ids, {})
        return flat.batch(np.arange(len(flat)))

    def _expected(self, rows: Sequence[Row]) -> np.ndarray:
        """Logits, float32 [B C]."""
        return self._python_logits(super().ids_of(rows))

    def _python_logits(self, batch: Mapping[str, np.ndarray]) -> np.ndarray:
        return np.asarray(self._served.offline(batch)["logits"])

    def text_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        return checks.largest_difference(outputs["logits"], self._expected(rows), rows)

    def ids_difference(self, outputs: Mapping[str, np.ndarray], rows: Sequence[Row]) -> float:
        want = self._python_logits(self.ids_of(rows))
        names = [f"row {number} of signature {IDS_SIGNATURE}" for number in range(len(want))]
        return checks.largest_difference(outputs["logits"], want, names)
