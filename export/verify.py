"""The exported graph against the Python path: the tokenizer, packing and model of evaluation."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from bert_tf.checkpoints.model_directory import ModelDirectory
from bert_tf.examples import packing
from bert_tf.examples.rows import encoder_inputs
from bert_tf.modeling.models import ClassifierModel
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.module import IDS_SIGNATURE, TEXT_SIGNATURE, text_names

# Largest difference of logits, relative to the largest logit, or to 1 if that is smaller.
_TOLERANCE = 1e-5

# Lengths from 0 to more than fits, and characters that tokenizers disagree about.
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
    """The exported graph gives other answers than the Python path."""


def python_inputs(
    directory: ModelDirectory, max_seq_length: int, rows: Sequence[tuple[str, ...]]
) -> dict[str, npt.NDArray[np.int32]]:
    """The encoder's inputs as training and evaluation make them.

    Args:
      rows: B tuples of one or two texts.

    Returns:
      [B T] each, padded to the longest row.
    """
    tokenizer = WordPieceTokenizer(directory.vocabulary, directory.metadata.do_lower_case)
    packed = []
    for row in rows:
        ids_a, *rest = map(tokenizer.encode, row)
        ids_b = rest[0] if rest else None
        packed.append(packing.pack(ids_a, ids_b, directory.vocabulary, max_seq_length))
    word_ids, type_ids = zip(*packed, strict=True)
    return encoder_inputs(word_ids, type_ids)


def largest_difference(
    path: str, model: ClassifierModel, directory: ModelDirectory, max_seq_length: int
) -> float:
    """Loads the SavedModel at `path` and compares the logits of both its signatures.

    Raises:
      Mismatch: a difference is larger than float32 rounding explains.
    """
    second_texts = _TEXTS[3:] + _TEXTS[:3]
    num_texts = directory.metadata.num_texts
    examples = list(zip(*(_TEXTS, second_texts)[:num_texts], strict=True))
    batch = python_inputs(directory, max_seq_length, examples)
    want = np.asarray(model(batch, training=False)["logits"])
    loaded = tf.saved_model.load(path)
    columns = zip(text_names(num_texts), zip(*examples, strict=True), strict=True)
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
