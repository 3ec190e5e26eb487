"""Token ids to vectors: word, position and type embeddings, summed and normalised."""

from keras import ops

from bert_tf import shapes
from bert_tf.modeling import layer


class Embeddings(layer.ConfigLayer):
    """Sum of three embeddings, then LayerNorm and dropout (BERT section 3, figure 2).

    Call arguments:
      word_ids: int [B T]
      type_ids: int [B T], 0 for the first text, 1 for the second.
      places:   int [B T], which position each token has; without it those of the row, from 0.
    Returns:
      float [B T H]
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.layer_norm = self.new_layer_norm()
        self.dropout = self.new_dropout(self.config.hidden_dropout_prob, salt=0)

    def build(self, input_shape=None):
        sizes = {
            "word": self.config.vocab_size,
            "position": self.config.max_position_embeddings,
            "type": self.config.type_vocab_size,
        }
        self.word, self.position, self.type = (
            self.add_weight(
                name=name,
                shape=(size, self.config.hidden_size),
                initializer=self.new_initializer(),
                autocast=False,  # the rows looked up are cast, not the whole table
            )
            for name, size in sizes.items()
        )
        self.layer_norm.build((None, None, self.config.hidden_size))

    def call(self, word_ids, type_ids, places=None, training=False):
        shapes.check("word_ids", word_ids, "B T")
        shapes.check("type_ids", type_ids, "B T")
        self._check_length(word_ids.shape[1])
        one_hot = ops.one_hot(type_ids, self.config.type_vocab_size, dtype=self.type.dtype)
        words = ops.take(self.word, word_ids, axis=0)  # [B T H]
        if places is None:
            positions = self.position[: ops.shape(word_ids)[1]]  # [T H]
        else:
            positions = ops.take(self.position, places, axis=0)  # [B T H]
        types = ops.matmul(one_hot, self.type)  # [B T H]
        summed = ops.cast(words + positions + types, self.compute_dtype)
        return self.dropout(self.layer_norm(summed), training=training)  # [B T H]

    def _check_length(self, length):
        limit = self.config.max_position_embeddings
        if length is not None and length > limit:
            raise ValueError(
                f"word_ids has {length} tokens a row; max_position_embeddings={limit} is the most."
            )
