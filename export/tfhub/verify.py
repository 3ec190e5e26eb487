"""What was written for TensorFlow Hub, loaded and compared with the Python path."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf import features
from bert_tf.examples import packing
from bert_tf.examples.rows import encoder_inputs
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.kinds import checks
from export.tfhub.encoder import MLM_LOGITS
from export.tfhub.source import SHORTEST, Source

_NUM_TOKENS = 24  # of a row, for the encoder

Inputs = dict[str, npt.NDArray[np.int32]]


def check_preprocessing(path: str, source: Source, seq_length: int) -> None:
    """Compares ids, of single texts and of pairs.

    Args:
      path: of the SavedModel.
      seq_length: tokens of a row where a call does not say it.

    Raises:
      Mismatch: an id differs.
    """
    loaded = tf.saved_model.load(path)
    texts, others = list(checks.TEXTS), list(checks.TEXTS[3:] + checks.TEXTS[:3])
    got = loaded(tf.constant(texts))
    _require_equal(got, _inputs(source, texts, None, seq_length), texts)
    segments = [loaded.tokenize(tf.constant(column)) for column in (texts, others)]
    for length in (seq_length, max(SHORTEST, seq_length // 2)):
        got = loaded.bert_pack_inputs(segments, seq_length=length)
        pairs = [*zip(texts, others, strict=True)]
        _require_equal(got, _inputs(source, texts, others, length), pairs)


def largest_difference(path: str, source: Source, model: Any) -> float:
    """Compares the outputs of the encoder and, if it is there, of the masked LM.

    Args:
      path: of the SavedModel.
      model: what it was made from.

    Returns:
      The largest difference of an output.

    Raises:
      Mismatch: one is larger than float32 rounding explains.
    """
    loaded = tf.saved_model.load(path)
    length = min(_NUM_TOKENS, source.config.max_position_embeddings)
    rows = _inputs(source, checks.TEXTS, None, length)
    batch = {name: tf.constant(column) for name, column in rows.items()}
    encoder = model.encoder if source.has_masked_lm else model
    wanted = encoder(batch, training=False)
    got = loaded(batch, training=False)
    # What comes out at padding is never read, and float32 rounds it more.
    is_real = tf.cast(batch[features.MASK.name], tf.float32)[:, :, tf.newaxis]
    pairs = [
        ("pooled_output", got["pooled_output"], wanted["pooled_output"]),
        ("sequence_output", got["sequence_output"] * is_real, wanted["sequence_output"] * is_real),
    ]
    if source.has_masked_lm:
        positions = {features.MASKED_LM_POSITIONS.name: tf.constant([[0, 1]] * len(checks.TEXTS))}
        logits = model(batch | positions, training=False)["masked_lm_logits"]
        pairs.append((MLM_LOGITS, loaded.mlm(batch | positions)[MLM_LOGITS], logits))
    return max(
        checks.largest_difference(np.asarray(one), np.asarray(other), checks.TEXTS, name)
        for name, one, other in pairs
    )


def _inputs(
    source: Source, texts: Sequence[str], others: Sequence[str] | None, seq_length: int
) -> Inputs:
    """The encoder's inputs as training makes them: int32 [B seq_length] each."""
    tokenizer = WordPieceTokenizer(source.vocabulary, source.do_lower_case)
    seconds: Sequence[str | None] = others or [None] * len(texts)
    rows = [
        packing.pack(
            tokenizer.encode(text),
            None if second is None else tokenizer.encode(second),
            source.vocabulary,
            seq_length,
        )
        for text, second in zip(texts, seconds, strict=True)
    ]
    word_ids, type_ids = zip(*rows, strict=True)
    return encoder_inputs(word_ids, type_ids, seq_length)


def _require_equal(got: dict[str, tf.Tensor], wanted: Inputs, rows: Sequence[Any]) -> None:
    for name, column in wanted.items():
        differs = (np.asarray(got[name]) != column).any(axis=1)
        if differs.any():
            row = int(differs.argmax())
            raise checks.Mismatch(
                f"{name} of the exported graph is {np.asarray(got[name])[row]} for {rows[row]!r}; "
                f"the Python path gives {column[row]}."
            )
