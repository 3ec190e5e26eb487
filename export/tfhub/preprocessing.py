"""The preprocessing model of TensorFlow Hub's text API: texts to the inputs of an encoder.

The contract is that of the models `bert_en_uncased_preprocess` and others there, which Model
Garden's export_tfhub writes: the names, the shapes and what a call takes. The ids are those of our
own tokenizer. All operations are in every TensorFlow Serving image since 2.15.
"""

from collections.abc import Sequence

import tensorflow as tf

from bert_tf.text import graph_offsets
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.graph_packing import TextRows, most_ids
from bert_tf.text.vocab import Vocabulary

_MOST_SEGMENTS = 2
_RAGGED_RANKS = (1, 2)  # [B (T)], and [B (words) (wordpieces)] as `tokenize` gives
# UTF-8 has another byte for a character from each of these on.
_LONGER_FROM = (0x80, 0x800, 0x10000)


class Preprocessor(tf.Module):
    """Texts to rows: `preprocessor(texts)`.

    Called with string [B], and optionally with `seq_length`, int32 [], and `training`, which
    changes nothing. Gives int32 [B seq_length] each: `input_word_ids`, `input_mask` and
    `input_type_ids`.

    Args:
      tokenizer: makes the ids.
      vocab_file: path of its vocabulary, which the SavedModel gets a copy of.
      default_seq_length: tokens of a row, special tokens included, where a call does not say it.
      has_offsets: whether there is a `tokenize_with_offsets`.

    Attributes:
      tokenize: a `Tokenize`.
      tokenize_with_offsets: a `TokenizeWithOffsets`, with `has_offsets`.
      bert_pack_inputs: a `BertPackInputs`.
      vocab_file: the asset.
    """

    def __init__(
        self,
        tokenizer: GraphTokenizer,
        vocab_file: str,
        default_seq_length: int,
        has_offsets: bool = False,
    ) -> None:
        super().__init__(name="preprocessor")
        self.vocab_file = tf.saved_model.Asset(vocab_file)
        self.tokenize = Tokenize(tokenizer)
        self.bert_pack_inputs = BertPackInputs(tokenizer.vocabulary, default_seq_length)
        if has_offsets:
            self.tokenize_with_offsets = TokenizeWithOffsets(tokenizer)
        self._default_seq_length = default_seq_length

        def rows(sentences: tf.Tensor, seq_length: tf.Tensor) -> dict[str, tf.Tensor]:
            ids = _first_ids(tokenizer, sentences, seq_length, default_seq_length)
            return packed([ids], seq_length, tokenizer.vocabulary)

        # Traced once for both values of `training`.
        specs = [_SENTENCES, _SEQ_LENGTH]
        rows_function = tf.function(rows, input_signature=specs, autograph=False)

        def call(
            sentences: tf.Tensor, seq_length: tf.Tensor = default_seq_length, training: bool = False
        ) -> dict[str, tf.Tensor]:
            return rows_function(sentences, seq_length)

        self.__call__ = tf.function(call, autograph=False)
        for training in (False, True):
            self.__call__.get_concrete_function(
                _SENTENCES, seq_length=_SEQ_LENGTH, training=training
            )

    def signatures(self) -> dict[str, tf.types.experimental.PolymorphicFunction]:
        """The signature for servers: `sentences` to rows of the default length."""

        def serve(sentences: tf.Tensor) -> dict[str, tf.Tensor]:
            return self.__call__(sentences, seq_length=tf.constant(self._default_seq_length))

        specs = [_SENTENCES]
        return {"serving_default": tf.function(serve, input_signature=specs, autograph=False)}


class Tokenize(tf.Module):
    """Texts, string [B], to the ids of their wordpieces: int32 ragged [B (words) (wordpieces)]."""

    def __init__(self, tokenizer: GraphTokenizer) -> None:
        super().__init__(name="tokenize")
        starts_word = _starts_word(tokenizer.vocabulary)

        def call(inputs: tf.Tensor) -> tf.RaggedTensor:
            ids = tokenizer(inputs)
            return _by_word(ids, [ids.flat_values], starts_word)[0]

        special = special_tokens(tokenizer.vocabulary)
        self.__call__ = tf.function(call, input_signature=[_INPUTS], autograph=False)
        self.get_special_tokens_dict = tf.function(
            lambda: {name: tf.constant(value) for name, value in special.items()},
            input_signature=[],
            autograph=False,
        )


class TokenizeWithOffsets(tf.Module):
    """Texts, string [B], to ids and the bytes of the text that each wordpiece comes from.

    Gives (ids, starts, limits), ragged [B (words) (wordpieces)] each: int32, int64, int64. Offsets
    count the bytes of the text as it was given, whatever lower-casing and normal forms do to it.
    """

    def __init__(self, tokenizer: GraphTokenizer) -> None:
        super().__init__(name="tokenize_with_offsets")
        starts_word = _starts_word(tokenizer.vocabulary)

        def call(inputs: tf.Tensor) -> tuple[tf.RaggedTensor, ...]:
            ids, starts, ends = tokenizer.tokens_with_offsets(inputs)
            offsets = _byte_offsets(inputs, starts, ends)
            return tuple(_by_word(ids, [ids.flat_values, *offsets], starts_word))

        self.__call__ = tf.function(call, input_signature=[_INPUTS], autograph=False)


class BertPackInputs(tf.Module):
    """Ids of one or two texts to rows: `bert_pack_inputs([ids_a, ids_b], seq_length=64)`.

    The ids are int32 ragged [B (T)] or [B (words) (wordpieces)]. Gives what `Preprocessor` gives.
    """

    def __init__(self, vocabulary: Vocabulary, default_seq_length: int) -> None:
        super().__init__(name="bert_pack_inputs")

        def call(
            inputs: list[tf.RaggedTensor], seq_length: tf.Tensor = default_seq_length
        ) -> dict[str, tf.Tensor]:
            return packed(inputs, seq_length, vocabulary)

        self.__call__ = tf.function(call, autograph=False)
        for ragged_rank in _RAGGED_RANKS:
            spec = tf.RaggedTensorSpec([None] * (ragged_rank + 1), tf.int32)
            for num_segments in range(1, _MOST_SEGMENTS + 1):
                self.__call__.get_concrete_function([spec] * num_segments, seq_length=_SEQ_LENGTH)


def _first_ids(
    tokenizer: GraphTokenizer, texts: tf.Tensor, seq_length: tf.Tensor, most: int
) -> tf.RaggedTensor:
    """Ids of texts: no more of a text is read than rows of up to `most` tokens need."""
    return tf.cond(
        seq_length <= most,
        lambda: tokenizer.first_ids(texts, most_ids(most, num_texts=1)),
        lambda: tokenizer(texts),
    )


def packed(
    segments: Sequence[tf.RaggedTensor], seq_length: tf.Tensor | int, vocabulary: Vocabulary
) -> dict[str, tf.Tensor]:
    """Rows of ids, truncated to prefixes of about equal length.

    The same as tf-text's RoundRobinTrimmer, which needs an operation that images before 2.20 lack:
    of two texts each keeps half of the room, the first the odd token, or all that the other one
    leaves.

    Args:
      segments: int32 ragged, one or two, of B texts.
      seq_length: int32 [], tokens of a row, special tokens included. A row that has no room for its
        special tokens is cut.

    Returns:
      int32 [B seq_length] each: `input_word_ids`, `input_mask`, `input_type_ids`.
    """
    flat = [ids.merge_dims(1, -1) if ids.ragged_rank > 1 else ids for ids in segments]
    num_special = 1 + len(flat)
    rows = TextRows(
        flat[0],
        flat[1] if len(flat) > 1 else None,
        vocabulary,
        tf.maximum(seq_length, num_special),
    )
    return rows.batch(tf.range(flat[0].nrows(tf.int32)), tf.convert_to_tensor(seq_length))


def special_tokens(vocabulary: Vocabulary) -> dict[str, int]:
    """What `get_special_tokens_dict` of TensorFlow Hub's contract gives."""
    return {
        "vocab_size": len(vocabulary),
        "start_of_sequence_id": vocabulary.cls_id,
        "end_of_segment_id": vocabulary.sep_id,
        "padding_id": vocabulary.pad_id,
        "mask_id": vocabulary.mask_id,
    }


def _starts_word(vocabulary: Vocabulary) -> list[bool]:
    """Bool [V]: whether a token is the first of a word. A word that is not known is one [UNK]."""
    return [not continues for continues in vocabulary.continuations]


def _by_word(
    ids: tf.RaggedTensor, columns: Sequence[tf.Tensor], starts_word: Sequence[bool]
) -> list[tf.RaggedTensor]:
    """Values of wordpieces by text and word.

    Args:
      ids: int32 ragged [B (T)].
      columns: [N ...], a value for each of the ids.

    Returns:
      For each column a ragged [B (words) (wordpieces)].
    """
    is_first = tf.gather(tf.constant(starts_word), ids.flat_values)
    first = tf.where(is_first)[:, 0]
    wordpiece_splits = tf.concat([first, ids.row_splits[-1:]], axis=0)
    words_before = tf.concat([[0], tf.cumsum(tf.cast(is_first, tf.int64))], axis=0)
    word_splits = tf.gather(words_before, ids.row_splits)
    return [
        tf.RaggedTensor.from_nested_row_splits(
            column, [word_splits, wordpiece_splits], validate=False
        )
        for column in columns
    ]


def _byte_offsets(
    texts: tf.Tensor, starts: tf.RaggedTensor, ends: tf.RaggedTensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """First byte of spans of characters, and the byte after their last one: int64 [N] each.

    Args:
      texts: string [B]; bytes that are not UTF-8 are no characters.
      starts, ends: int32 ragged [B (T)], in characters; no span is empty.
    """
    chars, first_bytes = tf.strings.unicode_decode_with_offsets(texts, "UTF-8", errors="ignore")
    splits = tf.cast(starts.row_splits, tf.int32)
    row = graph_offsets.segment_ids(splits, tf.size(starts.flat_values))
    chars_before = tf.gather(tf.cast(chars.row_starts(), tf.int32), row)
    last = chars_before + ends.flat_values - 1
    point = tf.gather(chars.flat_values, last)
    num_bytes = tf.add_n([tf.cast(point >= least, tf.int64) for least in _LONGER_FROM]) + 1
    return (
        tf.gather(first_bytes.flat_values, chars_before + starts.flat_values),
        tf.gather(first_bytes.flat_values, last) + num_bytes,
    )


_SENTENCES = tf.TensorSpec([None], tf.string, name="sentences")
_INPUTS = tf.TensorSpec([None], tf.string, name="inputs")
_SEQ_LENGTH = tf.TensorSpec([], tf.int32, name="seq_length")
