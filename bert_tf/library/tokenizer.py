"""The tokenizer as a Keras layer: texts in, the encoder's inputs out."""

import os
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from bert_tf import features, files
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.examples.rows import Rows, encoder_inputs
from bert_tf.library import presets, texts
from bert_tf.library.texts import Column, Texts
from bert_tf.text import vocab, wordpiece

_PADDINGS = ("longest", "max_length")
_SHORTEST = 5  # [CLS] a [SEP] b [SEP]

Arrays = dict[str, np.ndarray]
Tensors = dict[str, tf.Tensor]


@keras.saving.register_keras_serializable(package="bert_tf")
class Tokenizer(keras.layers.Layer):
    """Texts, or pairs of texts, to padded wordpiece ids.

    Strings, lists and NumPy arrays give NumPy arrays. Tensors give tensors, in the graph, so a
    tokenizer works in `tf.data.Dataset.map` and in a functional `keras.Model`. The ids are the
    same. One string gives one row [T]; a list gives [B T].

    Args:
      vocabulary: the tokens in the order of their ids, or the path of a vocab.txt.
      do_lower_case: whether to lower-case texts and strip accents; None: as the vocabulary asks.
      max_seq_length: tokens of a row, special tokens included; longer texts are cut.
      padding: "longest": to the longest row of the batch; "max_length": to `max_seq_length`, for
        shapes that never change.

    Call arguments:
      inputs: string [B], [B 1] or []; or a tuple of these, (first texts, second texts).
      pairs: the second texts, if `inputs` are the first ones.
    Returns:
      dict with `input_word_ids`, `input_mask`, `input_type_ids`, int32 [B T], or [T] for one text.

    Raises:
      InputError: the vocabulary is not BERT's, or its casing contradicts `do_lower_case`.
    """

    def __init__(
        self,
        vocabulary: Sequence[str] | str | os.PathLike[str],
        do_lower_case: bool | None = None,
        max_seq_length: int = 512,
        padding: str = "longest",
        name: str = "tokenizer",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.supports_jit = False  # XLA has no strings
        self.vocabulary = _read_vocabulary(vocabulary)
        if do_lower_case is None:
            do_lower_case = not self.vocabulary.is_cased
        vocab.check_casing(self.vocabulary, do_lower_case, "vocabulary")
        if padding not in _PADDINGS:
            raise InputError(f"padding={padding!r}; wanted one of: {', '.join(_PADDINGS)}.")
        if max_seq_length < _SHORTEST:
            raise InputError(f"max_seq_length={max_seq_length} must be at least {_SHORTEST}.")
        self.do_lower_case = do_lower_case
        self.max_seq_length = max_seq_length
        self.padding = padding
        self._wordpieces = wordpiece.WordPieceTokenizer(self.vocabulary, do_lower_case)
        self._graph: Any = None
        self.built = True

    @classmethod
    def from_preset(
        cls,
        preset: str | os.PathLike[str],
        *,
        max_seq_length: int | None = None,
        **kwargs: Any,
    ) -> "Tokenizer":
        """Makes the tokenizer of a model.

        Args:
          preset: a name such as "bert-base-uncased"; a directory or checkpoint of any format; the
            --output_dir of a training; or the path of a vocab.txt.
          max_seq_length: None: as in the training here, or else as many as the model has positions.
          **kwargs: other arguments of the class.

        Raises:
          InputError: there is no such model, or it has no vocabulary.
        """
        if str(preset).endswith(".txt"):
            length = 512 if max_seq_length is None else max_seq_length
            return cls(os.fspath(preset), max_seq_length=length, **kwargs)
        return cls.of(presets.open_preset(preset), max_seq_length=max_seq_length, **kwargs)

    @classmethod
    def of(
        cls, source: presets.Source, *, max_seq_length: int | None = None, **kwargs: Any
    ) -> "Tokenizer":
        """Makes the tokenizer of an opened preset; see `from_preset`."""
        vocabulary = source.vocabulary
        return cls(
            vocabulary.tokens,
            **{"do_lower_case": source.do_lower_case(vocabulary)} | kwargs,
            max_seq_length=source.max_seq_length if max_seq_length is None else max_seq_length,
        )

    def __call__(self, inputs: Any, pairs: Any = None, **kwargs: Any) -> Any:
        """See the class."""
        if texts.are_plain(inputs):
            return self._arrays(inputs, pairs)
        if pairs is not None:
            inputs = (inputs, pairs)
        return super().__call__(inputs, **kwargs)

    def call(self, inputs: Any) -> Tensors:
        first, second = _tensors(inputs)
        is_one = first.shape.rank == 0
        columns = [tf.reshape(column, [-1]) for column in (first, second) if column is not None]
        rows = self._rows(*columns)
        length = tf.maximum(tf.reduce_max(rows.lengths), 2)
        if self.padding == "max_length":
            length = tf.constant(self.max_seq_length)
        batch = rows.batch(tf.range(tf.size(columns[0])), length)
        width = self.max_seq_length if self.padding == "max_length" else None
        batch = {
            name: tf.ensure_shape(ids, [1 if is_one else first.shape[0], width])
            for name, ids in batch.items()
        }
        return {name: ids[0] for name, ids in batch.items()} if is_one else batch

    def compute_output_spec(self, inputs: Any) -> dict[str, keras.KerasTensor]:
        """The shapes and types of the outputs."""
        first = keras.tree.flatten(inputs)[0]
        width = self.max_seq_length if self.padding == "max_length" else None
        return {
            feature.name: keras.KerasTensor((first.shape[0], width), dtype=feature.dtype)
            for feature in features.ENCODER_INPUTS
        }

    def pack(self, given: texts.Given) -> Rows:
        """Rows of the model for texts in memory, not padded."""
        encoded = [map(self._wordpieces.encode, column) for column in given.columns]
        packed = [
            packing.pack(first, second[0] if second else None, self.vocabulary, self.max_seq_length)
            for first, *second in zip(*encoded, strict=True)
        ]
        return Rows([row[0] for row in packed], [row[1] for row in packed], {})

    def wordpieces(self, text: str) -> list[str]:
        """The wordpieces of one text, without special tokens."""
        return self._wordpieces.tokens(self._wordpieces.encode(text))

    @property
    def in_python(self) -> wordpiece.WordPieceTokenizer:
        """The tokenizer behind it, which can give character offsets."""
        return self._wordpieces

    def _arrays(self, inputs: Texts, pairs: Column | None) -> Arrays:
        given = texts.read(inputs, pairs)
        rows = self.pack(given)
        length = self.max_seq_length if self.padding == "max_length" else None
        batch = encoder_inputs(rows.word_ids, rows.type_ids, length)
        return {name: ids[0] for name, ids in batch.items()} if given.is_one else batch

    def _rows(self, first: tf.Tensor, second: tf.Tensor | None = None) -> Any:
        # Loaded here: `tensorflow_text` takes a second, and only tensors need it.
        from bert_tf.text import graph, graph_packing

        if self._graph is None:
            with tf.init_scope():  # its tables outlive the graph that is being traced
                self._graph = graph.GraphTokenizer(self.vocabulary, self.do_lower_case)
        ids_a = self._graph(first)
        ids_b = None if second is None else self._graph(second)
        return graph_packing.TextRows(ids_a, ids_b, self.vocabulary, self.max_seq_length)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class, the whole vocabulary included."""
        return {
            **super().get_config(),
            "vocabulary": list(self.vocabulary.tokens),
            "do_lower_case": self.do_lower_case,
            "max_seq_length": self.max_seq_length,
            "padding": self.padding,
        }


def _read_vocabulary(vocabulary: Sequence[str] | str | os.PathLike[str]) -> vocab.Vocabulary:
    if isinstance(vocabulary, str | os.PathLike):
        files.require_file(vocabulary, "vocabulary")
        return vocab.from_file(vocabulary, "vocabulary")
    return vocab.Vocabulary(vocabulary)


def _tensors(inputs: Any) -> tuple[tf.Tensor, tf.Tensor | None]:
    """First and second texts as tensors, checked."""
    columns = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    if len(columns) not in (1, 2):
        raise ValueError(f"{len(columns)} tensors were given; wanted texts, or a pair of texts.")
    for number, column in enumerate(columns):
        if column.dtype != tf.string:
            advice = ""
            if number:
                advice = (
                    " The second argument holds second texts. For a data set of (text, label): "
                    "`.map(lambda text, label: (tokenizer(text), label))`."
                )
            raise TypeError(f"The tokenizer got {column.dtype.name}; strings were wanted.{advice}")
        if column.shape.rank not in (0, 1) and column.shape[1:] != (1,):
            raise ValueError(f"Texts have the shape {column.shape}; wanted [B] or [B 1].")
    return (*columns, None)[:2]
