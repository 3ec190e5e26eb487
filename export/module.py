"""The signatures of an exported model: texts or ids in, answers out."""

import tensorflow as tf

from bert_tf import features
from bert_tf.text.graph import GraphTokenizer
from export import chunks, inputs

TEXT_SIGNATURE = "serving_default"
IDS_SIGNATURE = "ids"

# Lengths are padded to a multiple of it: each new shape costs the CPU library a few
# milliseconds once, each padded position costs as much as a real one every time.
_LENGTH_MULTIPLE = 4


def text_names(num_texts):
    """Names of the inputs of the text signature."""
    return ("text",) if num_texts == 1 else ("text_a", "text_b")


class ServingModule(tf.Module):
    """A classifier or regressor with its tokenizer, ready for `tf.saved_model.save`.

    Args:
      model: `bert_tf.modeling.models.ClassifierModel`.
      directory: `ModelDirectory` of the model; its metadata says how many texts and which labels.
      labels_file: path of a file with one label a line, or None for a regression.
      max_seq_length: int, special tokens included.
      piece_rows: int, rows computed together.
    """

    def __init__(self, model, directory, labels_file, max_seq_length, piece_rows):
        super().__init__(name="serving")
        self.variables_of_model = [variable.value for variable in model.variables]
        self.tokenizer = GraphTokenizer(directory.vocabulary, directory.metadata.do_lower_case)
        self.vocab_file = tf.saved_model.Asset(directory.vocab_file)
        if labels_file:
            self.labels_file = tf.saved_model.Asset(labels_file)
        self._logits = lambda batch: model(batch, training=False)["logits"]
        self._metadata = directory.metadata
        self._vocabulary = directory.vocabulary
        self._max_seq_length = max_seq_length
        self._piece_rows = piece_rows

    def signatures(self):
        """Dict from signature name to a `tf.function` with named inputs and outputs."""
        names = text_names(self._metadata.num_texts)
        texts = [tf.TensorSpec([None], tf.string, name=name) for name in names]
        ids = [
            tf.TensorSpec([None, None], feature.dtype, name=feature.name)
            for feature in features.ENCODER_INPUTS
        ]
        answer_texts = self._answer_text if len(texts) == 1 else self._answer_pair
        return {
            TEXT_SIGNATURE: tf.function(answer_texts, input_signature=texts),
            IDS_SIGNATURE: tf.function(self._answer_ids, input_signature=ids),
        }

    def _answer_text(self, text):
        return self._answer(self._rows(self.tokenizer(text), None))

    def _answer_pair(self, text_a, text_b):
        return self._answer(self._rows(self.tokenizer(text_a), self.tokenizer(text_b)))

    def _answer_ids(self, input_word_ids, input_mask, input_type_ids):
        tensors = (input_word_ids, input_mask, input_type_ids)
        names = (feature.name for feature in features.ENCODER_INPUTS)
        return self._answer(inputs.IdRows(dict(zip(names, tensors, strict=True))))

    def _rows(self, ids_a, ids_b):
        return inputs.TextRows(ids_a, ids_b, self._vocabulary, self._max_seq_length)

    def _answer(self, rows):
        """The outputs for some rows; every one has a batch dimension."""
        num_outputs = self._metadata.num_outputs
        logits = chunks.compute(
            rows, self._logits, num_outputs, self._piece_rows, _LENGTH_MULTIPLE
        )  # [B C]
        if self._metadata.kind == "regress":
            return {"score": logits[:, 0], "logits": logits}
        return {
            "label": tf.gather(
                tf.constant(self._metadata.labels), tf.argmax(logits, axis=1)
            ),  # [B]
            "probabilities": tf.nn.softmax(logits),  # [B C]
            "logits": logits,
        }
