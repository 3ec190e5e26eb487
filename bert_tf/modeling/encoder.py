"""The BERT encoder with its pooler."""

import keras
from keras import ops

from bert_tf import features, shapes
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
      remat: callable from a function of one tensor to the same function, which keeps nothing but
        its argument for the backward pass; `keras.remat` at first.

    Call arguments:
      batch: dict with `input_word_ids`, `input_mask`, `input_type_ids`, int [B T]. With
        `sequence_ids`, int [B T] from 1, 0 at padding, a row holds several texts: each sees
        itself only, and its positions start from 0.
      positions: int [B P], or None. With them the last layer computes these and the token that
        the pooler reads, and nothing else: the same numbers for less work.
    Returns:
      dict with the names of TF Hub's encoders: `sequence_output` float [B T H],
      `pooled_output` float [B H], `encoder_outputs` list of L float [B T H]. With `positions`
      the first is [B P H], of these, and the list ends before the last layer.
    """

    def __init__(self, config, name="encoder", **kwargs):
        super().__init__(config, name=name, **kwargs)
        self.recompute = False
        self.remat = keras.remat
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

    def call(self, batch, positions=None, training=False):
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
        hidden = ops.reshape(hidden, (-1, self.config.hidden_size))  # [B*T H]

        pooled = self._pooled_rows(input_mask)  # [B 1]
        queries = None  # of the last layer
        if positions is not None:
            shapes.check("positions", positions, "B P")
            queries = ops.cast(positions, "int32") + _first_rows(input_mask)
            queries = ops.concatenate([pooled, queries], axis=1)  # [B Q], Q is 1+P

        *blocks, last_block = self.blocks
        outputs = []
        for block in blocks:
            hidden = self._through(block, hidden, input_mask, visible, training=training)
            outputs.append(self._in_rows(hidden, input_mask))  # [B T H]
        hidden = self._through(last_block, hidden, input_mask, visible, queries, training=training)
        if queries is None:
            outputs.append(self._in_rows(hidden, input_mask))  # [B T H]
            sequence_output = outputs[-1]
            pooled_token = ops.take(hidden, pooled[:, 0], axis=0)  # [B H]
        else:
            hidden = self._in_rows(hidden, queries)  # [B Q H]
            sequence_output, pooled_token = hidden[:, 1:], hidden[:, 0]
        return {
            "sequence_output": sequence_output,
            "pooled_output": self.pooler(pooled_token),  # [B H]
            "encoder_outputs": outputs,
        }

    def _through(self, block, *args, training):
        """What `block` makes of its arguments."""
        if not (training and self.recompute):
            return block(*args, training=training)
        hidden, *others = args
        again = dropout.repeatable(lambda hidden: block(hidden, *others, training=True))
        return self.remat(again)(hidden)

    def _in_rows(self, hidden, alike):
        """[B*T H] as [B T H]; T is that of `alike`, [B T]."""
        return ops.reshape(hidden, (-1, ops.shape(alike)[1], self.config.hidden_size))

    def _pooled_rows(self, input_mask):
        """int32 [B 1], rows of [B*T H]: the tokens that the pooler reads."""
        if not self.config.is_causal:
            return _first_rows(input_mask)
        lengths = ops.sum(ops.cast(input_mask, "int32"), axis=1, keepdims=True)
        return _first_rows(input_mask) + ops.maximum(lengths - 1, 0)


def _first_rows(input_mask):
    """int32 [B 1], rows of [B*T H]: the first tokens."""
    batch_size, num_tokens = ops.shape(input_mask)
    return ops.arange(batch_size, dtype="int32")[:, None] * num_tokens
