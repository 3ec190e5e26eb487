"""The one table of features: name in records, name in models, axes, type.

Record writer, record reader and export signatures all read this table. Record names are the
released ones, which every BERT TFRecord has; model names are those of TF Hub.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Feature:
    """One row.

    Attributes:
      name: name in models, batches and SavedModel signatures (TF Hub's).
      record_name: name in the TFRecord files of the released scripts.
      axes: axis letters with the batch axis, see `shapes.AXES`.
      dtype: type in a batch; records hold int64 or float32.
    """

    name: str
    record_name: str
    axes: str
    dtype: str = "int32"

    @property
    def accepted_record_names(self) -> tuple[str, ...]:
        """Names under which a record may hold it: the released one, then Model Garden's."""
        return tuple(dict.fromkeys((self.record_name, self.name)))

    @property
    def token_axis(self) -> int:
        """The axis T counted from the end, -1 being the last one."""
        return self.axes.split().index("T") - len(self.axes.split())


WORD_IDS = Feature("input_word_ids", "input_ids", "B T")
MASK = Feature("input_mask", "input_mask", "B T")
TYPE_IDS = Feature("input_type_ids", "segment_ids", "B T")
MASKED_LM_POSITIONS = Feature("masked_lm_positions", "masked_lm_positions", "B P")
MASKED_LM_IDS = Feature("masked_lm_ids", "masked_lm_ids", "B P")
MASKED_LM_WEIGHTS = Feature("masked_lm_weights", "masked_lm_weights", "B P", "float32")
NEXT_SENTENCE_LABELS = Feature("next_sentence_labels", "next_sentence_labels", "B")
# Not a released feature: which of the texts packed into one row a token belongs to, from 1.
SEQUENCE_IDS = Feature("sequence_ids", "sequence_ids", "B T")
LABEL_IDS = Feature("label_ids", "label_ids", "B")
LABEL_VALUES = Feature("label_values", "label_values", "B", "float32")
# Of tagging, the tag of each token; -1 where there is none.
TOKEN_LABEL_IDS = Feature("token_label_ids", "token_label_ids", "B T")
# Of several labels for a row: 1 for each that holds.
LABEL_VECTORS = Feature("label_vectors", "label_vectors", "B C", "float32")
# The logits of a teacher: of each class, or of each choice.
TEACHER_LOGITS = Feature("teacher_logits", "teacher_logits", "B C", "float32")
# Of tagging; 0 for tokens without a label.
TEACHER_TOKEN_LOGITS = Feature("teacher_token_logits", "teacher_token_logits", "B C T", "float32")
# What the loss of each row is multiplied by; 0 for a row that only fills a batch.
EXAMPLE_WEIGHTS = Feature("example_weights", "example_weights", "B", "float32")
# Of a model on frozen layers: their vectors, so that the encoder need not run.
LAYER_VECTORS = Feature("layer_vectors", "layer_vectors", "B T L H", "float32")
START_POSITIONS = Feature("start_positions", "start_positions", "B")
END_POSITIONS = Feature("end_positions", "end_positions", "B")

# In batches for training, next to the features: int32 [B], the position of each row in the global
# batch. Dropout masks belong to it.
ROW_NUMBERS = "row_numbers"
# In batches of static shape: an int32 scalar for each micro-batch, the index of its length among
# the lengths that micro-batches may have.
LENGTH_BUCKET = "length_bucket"

ENCODER_INPUTS = (WORD_IDS, MASK, TYPE_IDS)
# Those with an axis T, by name.
PER_TOKEN = {
    feature.name: feature
    for feature in (*ENCODER_INPUTS, SEQUENCE_IDS, TOKEN_LABEL_IDS, TEACHER_TOKEN_LOGITS)
    + (LAYER_VECTORS,)
}
MASKED_LM = (MASKED_LM_POSITIONS, MASKED_LM_IDS, MASKED_LM_WEIGHTS)
PRETRAINING = (*ENCODER_INPUTS, *MASKED_LM, NEXT_SENTENCE_LABELS)
