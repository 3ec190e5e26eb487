"""The BERT encoder with its pooler."""

from keras import ops

from bert_tf import features
from bert_tf.modeling import layer
from bert_tf.modeling.embeddings import Embeddings
from bert_tf.modeling.transformer import Block


class Encoder(layer.ConfigLayer):
    """Embeddings, L blocks and the pooler (BERT section 3). All variables exist once made.

    Variable paths start with `encoder/` whether it stands alone or inside a model.

    Call arguments:
      batch: dict with `input_word_ids`, `input_mask`, `input_type_ids`, int [B T].
    Returns:
      dict with the names of TF Hub's encoders: `sequence_output` float [B T H],
      `pooled_output` float [B H], `encoder_outputs` list of L float [B T H].
    """

    def __init__(self, config, name="encoder", **kwargs):
        super().__init__(config, name=name, **kwargs)
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
        hidden = self.embeddings(word_ids, batch[features.TYPE_IDS.name], training=training)
        hidden_shape = (-1, ops.shape(word_ids)[1], self.config.hidden_size)

        hidden = ops.reshape(hidden, (-1, self.config.hidden_size))  # [B*T H]
        outputs = []
        for block in self.blocks:
            hidden = block(hidden, input_mask, training=training)
            outputs.append(ops.reshape(hidden, hidden_shape))  # [B T H]
        return {
            "sequence_output": outputs[-1],
            "pooled_output": self.pooler(outputs[-1][:, 0]),  # [B H]
            "encoder_outputs": outputs,
        }
