"""The BERT encoder, from the inside out: embeddings, self-attention, block, encoder with pooler."""

import math
from collections.abc import Callable, Mapping
from typing import Any

import keras
from keras import ops

from bert_tf import features, shapes
from bert_tf.config import BertConfig
from bert_tf.modeling import Tensor, dropout, fused, layer


@layer.serializable
class Embeddings(layer.ConfigLayer):
    """Sum of three embeddings, then LayerNorm and dropout (BERT section 3, figure 2).

    Call arguments:
      word_ids:  int [B T]
      type_ids:  int [B T], 0 for the first text, 1 for the second.
      positions: int [B T], the position of each token; None: its position in the row, from 0.
    Returns:
      float [B T H]
    """

    def __init__(self, config: BertConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.layer_norm = self.new_layer_norm()
        self.dropout = self.new_dropout(self.config.hidden_dropout_prob, salt=0)

    def build(self, input_shape: None = None) -> None:
        self.word = self._new_table("word", self.config.vocab_size)
        self.position = self._new_table("position", self.config.max_position_embeddings)
        self.type = self._new_table("type", self.config.type_vocab_size)
        self.layer_norm.build((None, None, self.config.hidden_size))

    def _new_table(self, name: str, size: int) -> keras.Variable:
        return self.add_weight(
            name=name,
            shape=(size, self.config.hidden_size),
            initializer=self.new_initializer(),
            autocast=False,  # the rows looked up are cast, not the whole table
        )

    def call(
        self,
        word_ids: Tensor,
        type_ids: Tensor,
        positions: Tensor | None = None,
        training: bool = False,
    ) -> Tensor:
        shapes.check("word_ids", word_ids, "B T")
        shapes.check("type_ids", type_ids, "B T")
        self._check_length(word_ids.shape[1])
        word_vectors = ops.take(self.word, word_ids, axis=0)  # [B T H]
        if positions is None:
            position_vectors = self.position[: ops.shape(word_ids)[1]]  # [T H]
        else:
            position_vectors = ops.take(self.position, positions, axis=0)  # [B T H]
        one_hot = ops.one_hot(type_ids, self.config.type_vocab_size, dtype=self.type.dtype)
        type_vectors = ops.matmul(one_hot, self.type)  # [B T H]
        summed = ops.cast(word_vectors + position_vectors + type_vectors, self.compute_dtype)
        return self.dropout(self.layer_norm(summed), training=training)  # [B T H]

    def _check_length(self, length: int | None) -> None:
        limit = self.config.max_position_embeddings
        if length is not None and length > limit:
            raise ValueError(
                f"word_ids has {length} tokens a row; the maximum is "
                f"max_position_embeddings={limit}."
            )


def visibility(
    input_mask: Tensor, sequence_ids: Tensor | None = None, is_causal: bool = False
) -> Tensor:
    """Which tokens (S) each token (T) attends to.

    Args:
      input_mask: int [B S], 1 where a token is real.
      sequence_ids: int [B T], which of the texts packed into its row a token belongs to. It
        attends to that text only.
      is_causal: whether a token attends to itself and earlier tokens only.

    Returns:
      bool [B T S], or [B 1 S] where it is the same for every token.
    """
    shapes.check("input_mask", input_mask, "B S")
    visible = ops.cast(input_mask, "bool")[:, None, :]  # [B 1 S]
    if sequence_ids is not None:
        shapes.check("sequence_ids", sequence_ids, "B T")
        visible = ops.logical_and(visible, _in_same_text(sequence_ids))  # [B T S]
    if is_causal:
        visible = ops.logical_and(visible, _not_later(ops.shape(input_mask)[1]))  # [B T S]
    return visible


def positions_in_text(sequence_ids: Tensor) -> Tensor:
    """The position of each token in its text, from 0: int32 [B T] from int [B T]."""
    earlier = ops.logical_and(
        _in_same_text(sequence_ids), _not_later(ops.shape(sequence_ids)[1])
    )  # [B T S]
    return ops.sum(ops.cast(earlier, "int32"), axis=-1) - 1


def _in_same_text(sequence_ids: Tensor) -> Tensor:
    """Bool [B T S], true where both tokens belong to one text."""
    return ops.equal(sequence_ids[:, :, None], sequence_ids[:, None, :])


def _not_later(num_tokens: int | Tensor) -> Tensor:
    """Bool [T S], true where s <= t."""
    positions = ops.arange(num_tokens, dtype="int32")
    return positions[None, :] <= positions[:, None]


@layer.serializable
class SelfAttention(layer.ConfigLayer):
    """Multi-head self-attention (BERT section 3; Vaswani et al. 2017, section 3.2.2).

    Query, key and value are one matrix product. Queries at padding produce values too, which no
    loss reads. The softmax is float32 whatever the dtype policy.

    Args:
      salt: of the dropout of the attention probabilities.

    Call arguments:
      hidden:  float [B*T H]; rows are laid end to end so that every product is of two matrices.
      visible: bool [B T S] or [B 1 S], see `visibility`; S is the length of a row.
      queries: int [B T] or None: the rows of `hidden` that attend, if not all.
    Returns:
      float [B*T H], projected; the caller adds dropout, residual and LayerNorm.
    """

    def __init__(self, config: BertConfig, salt: int, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.salt = salt
        self.qkv = self.new_dense(3 * self.config.hidden_size, "qkv")
        self.output_dense = self.new_dense(self.config.hidden_size, "output")
        self.dropout = self.new_dropout(self.config.attention_probs_dropout_prob, salt)

    def build(self, input_shape: None = None) -> None:
        self.qkv.build((None, self.config.hidden_size))
        self.output_dense.build((None, self.config.hidden_size))

    def call(
        self,
        hidden: Tensor,
        visible: Tensor,
        queries: Tensor | None = None,
        training: bool = False,
    ) -> Tensor:
        shapes.check("visible", visible, "B T S")
        num_tokens = ops.shape(visible)[2]
        if queries is None:
            query, key, value = self._heads(self.qkv(hidden), num_tokens, 3)  # [B A T D] each
        else:
            query, key, value = self._heads_for_queries(hidden, num_tokens, queries)

        query = query * (1.0 / math.sqrt(self.config.size_per_head))
        scores = ops.cast(ops.matmul(query, ops.transpose(key, (0, 1, 3, 2))), "float32")
        scores = scores + ops.where(visible, 0.0, layer.MASKED)[:, None]  # [B A T S]
        mask = self.dropout.mask(ops.shape(scores), self.compute_dtype) if training else None
        context = fused.attention(scores, value, mask)  # [B A T D]

        context = ops.transpose(context, (0, 2, 1, 3))  # [B T A D]
        return self.output_dense(ops.reshape(context, (-1, self.config.hidden_size)))  # [B*T H]

    def _heads(self, projected: Tensor, num_tokens: int | Tensor, count: int) -> list[Tensor]:
        """[B*T count*H] as `count` times [B A T D]."""
        sizes = (count, self.config.num_attention_heads, self.config.size_per_head)
        parts = ops.reshape(projected, (-1, num_tokens, *sizes))  # [B T count A D]
        # One transposition; the parts of its result are consecutive in memory.
        return ops.unstack(ops.transpose(parts, (2, 0, 3, 1, 4)), count)

    def _heads_for_queries(
        self, hidden: Tensor, num_tokens: int | Tensor, queries: Tensor
    ) -> list[Tensor]:
        """What `_heads` makes of the product `qkv`, with the query for some rows only."""
        asking = ops.take(hidden, ops.reshape(queries, (-1,)), axis=0)  # [B*T H]
        (q_kernel, kv_kernel), (q_bias, kv_bias) = (
            ops.split(ops.cast(weights, self.compute_dtype), [self.config.hidden_size], axis=-1)
            for weights in (self.qkv.kernel, self.qkv.bias)
        )
        query = self._heads(ops.matmul(asking, q_kernel) + q_bias, ops.shape(queries)[1], 1)
        return query + self._heads(ops.matmul(hidden, kv_kernel) + kv_bias, num_tokens, 2)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "salt": self.salt}


@layer.serializable
class FeedForward(layer.ConfigLayer):
    """Two affine maps with the activation between them (Vaswani et al. 2017, section 3.3).

    Call arguments:
      hidden: float [B*T H]
    Returns:
      float [B*T H]
    """

    def __init__(self, config: BertConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.intermediate = self.new_dense(
            self.config.intermediate_size, "intermediate", self.hidden_activation
        )
        self.output_dense = self.new_dense(self.config.hidden_size, "output")

    def build(self, input_shape: None = None) -> None:
        self.intermediate.build((None, self.config.hidden_size))
        self.output_dense.build((None, self.config.intermediate_size))

    def call(self, hidden: Tensor) -> Tensor:
        return self.output_dense(self.intermediate(hidden))  # [B*T I], [B*T H]


@layer.serializable
class Block(layer.ConfigLayer):
    """Self-attention and feed-forward, each in LayerNorm(x + Dropout(f(x))).

    Args:
      index: of the block, from 0; the salts of its three dropouts follow from it.

    Call arguments:
      hidden:  float [B*T H]
      visible: bool [B T S] or [B 1 S], see `visibility`.
      queries: int [B Q] or None: the rows of `hidden` whose output is wanted, if not all. Then
        `visible` is theirs, [B Q S] or [B 1 S].
    Returns:
      float [B*T H], or [B*Q H] with `queries`.
    """

    def __init__(self, config: BertConfig, index: int, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.index = index
        salt = 3 * index + 1
        rate = self.config.hidden_dropout_prob
        self.attention = self.new(SelfAttention, salt, name="attention")
        self.attention_dropout = self.new_dropout(rate, salt + 1, "attention_dropout")
        self.attention_layer_norm = self.new_layer_norm("attention_layer_norm")
        self.feed_forward = self.new(FeedForward, name="feed_forward")
        self.output_dropout = self.new_dropout(rate, salt + 2, "output_dropout")
        self.output_layer_norm = self.new_layer_norm("output_layer_norm")

    def build(self, input_shape: None = None) -> None:
        self.attention.build()
        self.attention_layer_norm.build((None, self.config.hidden_size))
        self.feed_forward.build()
        self.output_layer_norm.build((None, self.config.hidden_size))

    def call(
        self,
        hidden: Tensor,
        visible: Tensor,
        queries: Tensor | None = None,
        training: bool = False,
    ) -> Tensor:
        attended = self.attention(hidden, visible, queries, training=training)
        if queries is not None:
            hidden = ops.take(hidden, ops.reshape(queries, (-1,)), axis=0)  # [B*Q H]
        attended = self.attention_dropout(attended, training=training)
        hidden = self.attention_layer_norm(hidden + attended)  # [B*T H]
        output = self.output_dropout(self.feed_forward(hidden), training=training)
        return self.output_layer_norm(hidden + output)  # [B*T H]

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "index": self.index}


@layer.serializable
class Encoder(layer.ConfigLayer):
    """Embeddings, L blocks and the pooler (BERT section 3). The constructor makes all variables.

    Variable paths start with `encoder/`, alone or inside a model.

    The pooler reads the first token. With a causal config that token sees only itself, so the
    pooler reads the last real token.

    Attributes:
      recompute: bool, False at first. In training, the inside of each block is not kept for the
        backward pass but computed a second time there. The gradients are the same and a step
        takes a third more time; each block keeps one [B*T H] in memory.
      remat: takes a function of one tensor and returns the same function, which keeps only its
        argument for the backward pass; `keras.remat` at first.

    Call arguments:
      batch: dict with `input_word_ids`, `input_mask`, `input_type_ids`, int [B T]. With
        `sequence_ids`, int [B T] from 1, 0 at padding, a row holds several texts: each attends
        only to itself, and its positions start from 0.
      positions: int [B P], or None. With them the last block computes only these and the token
        that the pooler reads: the same numbers for less work.
    Returns:
      dict with the names of TF Hub's encoders: `sequence_output` float [B T H],
      `pooled_output` float [B H], `encoder_outputs` list of L float [B T H]. With `positions`
      the first is [B P H], and the list ends before the last block.
    """

    def __init__(self, config: BertConfig, name: str = "encoder", **kwargs: Any) -> None:
        super().__init__(config, name=name, **kwargs)
        self.recompute = False
        self.remat: Callable[[Callable], Callable] = keras.remat
        self.embeddings = self.new(Embeddings, name="embeddings")
        # One attribute each: TensorFlow saves what attributes lead to and does not look into lists.
        for index in range(self.config.num_hidden_layers):
            setattr(self, f"layer_{index}", self.new(Block, index, name=f"layer_{index}"))
        self.pooler = self.new_dense(self.config.hidden_size, "pooler", ops.tanh)
        self.build()

    @property
    def blocks(self) -> list[Block]:
        """The L blocks, first to last."""
        return [getattr(self, f"layer_{i}") for i in range(self.config.num_hidden_layers)]

    def build(self, input_shape: None = None) -> None:
        self.embeddings.build()
        for block in self.blocks:
            block.build()
        self.pooler.build((None, self.config.hidden_size))

    def call(
        self,
        batch: Mapping[str, Tensor],
        positions: Tensor | None = None,
        training: bool = False,
    ) -> dict[str, Any]:
        input_mask = batch[features.MASK.name]
        sequence_ids = batch.get(features.SEQUENCE_IDS.name)
        visible = visibility(input_mask, sequence_ids, self.config.is_causal)  # [B T S] or [B 1 S]
        hidden = self._embedded(batch, sequence_ids, training)  # [B*T H]
        pooled = self._pooled_rows(input_mask)  # [B 1]

        *blocks, last_block = self.blocks
        outputs = []
        for block in blocks:
            hidden = self._apply(block, hidden, visible, training=training)
            outputs.append(self._in_rows(hidden, input_mask))  # [B T H]
        if positions is None:
            hidden = self._apply(last_block, hidden, visible, training=training)
            sequence_output = self._in_rows(hidden, input_mask)  # [B T H]
            outputs.append(sequence_output)
            pooled_token = ops.take(hidden, pooled[:, 0], axis=0)  # [B H]
        else:
            shapes.check("positions", positions, "B P")
            queries = ops.cast(positions, "int32") + _first_rows(input_mask)
            queries = ops.concatenate([pooled, queries], axis=1)  # [B Q], Q is 1+P
            visible = _of_queries(visible, queries)  # [B Q S] or [B 1 S]
            hidden = self._apply(last_block, hidden, visible, queries, training=training)
            hidden = self._in_rows(hidden, queries)  # [B Q H]
            sequence_output, pooled_token = hidden[:, 1:], hidden[:, 0]
        return {
            "sequence_output": sequence_output,
            "pooled_output": self.pooler(pooled_token),  # [B H]
            "encoder_outputs": outputs,
        }

    def _embedded(
        self, batch: Mapping[str, Tensor], sequence_ids: Tensor | None, training: bool
    ) -> Tensor:
        """The embeddings, [B*T H]."""
        word_ids, type_ids = batch[features.WORD_IDS.name], batch[features.TYPE_IDS.name]
        positions = None if sequence_ids is None else positions_in_text(sequence_ids)  # [B T]
        hidden = self.embeddings(word_ids, type_ids, positions, training=training)  # [B T H]
        return ops.reshape(hidden, (-1, self.config.hidden_size))

    def _apply(self, block: Block, hidden: Tensor, *others: Tensor, training: bool) -> Tensor:
        if not (training and self.recompute):
            return block(hidden, *others, training=training)
        again = dropout.repeatable(lambda hidden: block(hidden, *others, training=True))
        return self.remat(again)(hidden)

    def _in_rows(self, hidden: Tensor, alike: Tensor) -> Tensor:
        """[B*T H] as [B T H]; T is that of `alike`, [B T]."""
        return ops.reshape(hidden, (-1, ops.shape(alike)[1], self.config.hidden_size))

    def _pooled_rows(self, input_mask: Tensor) -> Tensor:
        """int32 [B 1], rows of [B*T H]: the tokens that the pooler reads."""
        if not self.config.is_causal:
            return _first_rows(input_mask)
        lengths = ops.sum(ops.cast(input_mask, "int32"), axis=1, keepdims=True)
        return _first_rows(input_mask) + ops.maximum(lengths - 1, 0)


def _first_rows(input_mask: Tensor) -> Tensor:
    """int32 [B 1], rows of [B*T H]: the first tokens."""
    batch_size, num_tokens = ops.shape(input_mask)
    return ops.arange(batch_size, dtype="int32")[:, None] * num_tokens


def _of_queries(visible: Tensor, queries: Tensor) -> Tensor:
    """Which tokens the `queries`, int [B Q], rows of [B*T H], attend to: [B Q S] or [B 1 S]."""
    if visible.shape[1] == 1:
        return visible
    _, num_queries = ops.shape(queries)
    num_tokens = ops.shape(visible)[2]
    flat = ops.reshape(visible, (-1, num_tokens))  # [B*T S]
    flat = ops.take(flat, ops.reshape(queries, (-1,)), axis=0)  # [B*Q S]
    return ops.reshape(flat, (-1, num_queries, num_tokens))
