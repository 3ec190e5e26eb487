"""The exported graph against the Python path: the tokenizer, packing and model of evaluation."""

import numpy as np
import tensorflow as tf

from bert_tf.examples import batching, packing
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.module import IDS_SIGNATURE, TEXT_SIGNATURE, text_names

# Largest difference of logits, in units of the largest logit or of 1 where that is smaller.
_TOLERANCE = 1e-5

# Lengths from nothing to more than fits, and characters that tokenizers disagree about.
_TEXTS = (
    "A text like those that the model will see.",
    "",
    "Crème brûlée — straße, ΣΊΣΥΦΟΣ… 2² ﬁne",
    "東京 and 서울\u200b!\x00?",
    "word " * 600,
    "a" * 300,
    "another short one",
    "a text that is a little longer than the others, to make rows of unequal length.",
)


class Mismatch(ValueError):
    """The exported graph answers otherwise than the Python path."""


def python_inputs(directory, max_seq_length, rows):
    """The encoder's inputs as training and evaluation make them.

    Args:
      directory: `ModelDirectory`.
      max_seq_length: int.
      rows: list of B tuples of one or two str.

    Returns:
      dict of int32 [B T], padded to the longest row.
    """
    tokenizer = WordPieceTokenizer(directory.vocabulary, directory.metadata.do_lower_case)
    packed = []
    for row in rows:
        ids_a, ids_b = (*map(tokenizer.encode, row), None)[:2]
        packed.append(packing.pack(ids_a, ids_b, directory.vocabulary, max_seq_length))
    return batching.encoder_inputs(*map(list, zip(*packed, strict=True)))


def largest_difference(path, model, directory, max_seq_length):
    """Loads the SavedModel at `path` and compares the logits of both its signatures.

    Returns:
      float, the largest difference.

    Raises:
      Mismatch: it is above what float32 rounding explains.
    """
    if directory.metadata.num_texts == 1:
        examples = [(text,) for text in _TEXTS]
    else:
        examples = list(zip(_TEXTS, _TEXTS[3:] + _TEXTS[:3], strict=True))
    batch = python_inputs(directory, max_seq_length, examples)
    want = np.asarray(model(batch, training=False)["logits"])
    loaded = tf.saved_model.load(path)
    columns = zip(
        text_names(directory.metadata.num_texts), zip(*examples, strict=True), strict=True
    )
    texts = {name: tf.constant(column) for name, column in columns}
    ids = {name: tf.constant(x) for name, x in batch.items()}
    largest = 0.0
    for signature, feeds in ((TEXT_SIGNATURE, texts), (IDS_SIGNATURE, ids)):
        got = loaded.signatures[signature](**feeds)["logits"].numpy()
        differences = np.abs(got - want).max(axis=1)
        largest = max(largest, float(differences.max()))
        if not differences.max() <= _TOLERANCE * max(1.0, np.abs(want).max()):
            row = int(differences.argmax())
            raise Mismatch(
                f"Signature {signature} of the exported graph gives logits {got[row]} for "
                f"{examples[row]!r}, the Python path {want[row]}."
            )
    return largest
