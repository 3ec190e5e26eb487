"""The BERT encoder with its pooler."""

import keras
from keras import ops

from bert_tf import features
from bert_tf.modeling import attention, dropout, layer
from bert_tf.modeling.embeddings import Embeddings
from bert_tf.modeling.transformer import Block


class Encoder(layer.ConfigLayer):
    """Embeddings, L blocks and the pooler (BERT section 3). All variables exist once made.

    Variable paths start with `encoder/` whether it stands alone or inside a model.

    The pooler reads the first token. Where the config is causal that one has seen nothing but
    itself, and the pooler reads the last real token.

    Attributes:
      recompute: bool, False at first. In training, the inside of each block is not kept for the
        backward pass but computed once more there: the same gradients, a third more time, and
        of each block one [B*T H] in memory.

    Call arguments:
      batch: dict with `input_word_ids`, `input_mask`, `input_type_ids`, int [B T]. With
        `sequence_ids`, int [B T] from 1, 0 at padding, a row holds several texts: each sees
        itself only, and its positions start from 0.
    Returns:
      dict with the names of TF Hub's encoders: `sequence_output` float [B T H],
      `pooled_output` float [B H], `encoder_outputs` list of L float [B T H].
    """

    def __init__(self, config, name="encoder", **kwargs):
        super().__init__(config, name=name, **kwargs)
        self.recompute = False
        self.embeddings = self.new(Embeddings, name="embeddings")
        # One attribute each: TensorFlow, which saves what it can reach, does not see into lists.
        for index in range(self.config.num_hidden_layers):
            setattr(self, f"layer_{index}", self.new(Block, index, name=f"layer_{index}"))
        self.pooler = self.new_dense(self.config.hidden_size, "pooler", ops.tanh)
        self.build()

    @property
    def blocks(self):
        """The L blocks, first to last."""
        return [getattr(self, f"layer_{i}") for i in range(self.config.num_hidden_layers)]

    def build(self, input_shape=None):
        self.embeddings.build()
        for block in self.blocks:
            block.build()
        self.pooler.build((None, self.config.hidden_size))

    def call(self, batch, training=False):
        word_ids = batch[features.WORD_IDS.name]
        input_mask = batch[features.MASK.name]
        sequence_ids = batch.get(features.SEQUENCE_IDS.name)
        places = visible = None
        if sequence_ids is not None:
            places = attention.places_in_sequence(sequence_ids)  # [B T]
        if sequence_ids is not None or self.config.is_causal:
            visible = attention.visible(input_mask, sequence_ids, self.config.is_causal)  # [B T S]
        type_ids = batch[features.TYPE_IDS.name]
        hidden = self.embeddings(word_ids, type_ids, places, training=training)  # [B T H]
        hidden_shape = (-1, ops.shape(word_ids)[1], self.config.hidden_size)

        hidden = ops.reshape(hidden, (-1, self.config.hidden_size))  # [B*T H]
        outputs = []
        for block in self.blocks:
            if training and self.recompute:
                hidden = _recomputed(block, hidden, input_mask, visible)
            else:
                hidden = block(hidden, input_mask, visible, training=training)
            outputs.append(ops.reshape(hidden, hidden_shape))  # [B T H]
        return {
            "sequence_output": outputs[-1],
            "pooled_output": self._pooled(outputs[-1], input_mask),  # [B H]
            "encoder_outputs": outputs,
        }

    def _pooled(self, sequence_output, input_mask):
        if not self.config.is_causal:
            return self.pooler(sequence_output[:, 0])
        batch_size, num_tokens, hidden_size = ops.shape(sequence_output)
        lasts = ops.maximum(ops.sum(ops.cast(input_mask, "int32"), axis=1) - 1, 0)  # [B]
        places = lasts + ops.arange(batch_size, dtype="int32") * num_tokens
        return self.pooler(ops.take(ops.reshape(sequence_output, (-1, hidden_size)), places, 0))


def _recomputed(block, hidden, input_mask, visible):
    """`block` in training; what it computes inside is computed again in the backward pass."""

    def call(hidden):
        return block(hidden, input_mask, visible, training=True)

    return keras.remat(dropout.repeatable(call))(hidden)
