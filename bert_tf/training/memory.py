"""What a device's memory holds while it trains, part by part.

Counted are the arrays that the layers' own operations leave for the backward pass, in float32
or in the type that layers compute in. Compiled by XLA fewer are left, since it computes cheap
elementwise operations anew where they are needed; how many fewer is its choice, and what is
counted then is a rule made from measurements (`benchmarks/training_memory.py`).
"""

import dataclasses

from bert_tf.training import flops

_FLOAT32 = 4
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_MOMENTS = 2  # of AdamW and LAMB

# Arrays of the intermediate size in float32 that the gradient of an activation reads.
_ACTIVATION_ARRAYS = {"gelu": 4, "gelu_erf": 2, "relu": 1, "tanh": 1, "linear": 0}
_NORM_ARRAYS = 2  # float32, of the hidden size: centred and normal
_LOGIT_ARRAYS = 3  # float32: logits, softmax, gradient


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes of a device.

    Attributes:
      weights: float32.
      copies: the weights of products in the type that layers compute in, if that is another.
      moments: float32, of the optimizer.
      sums: float32, gradients of earlier pieces of the batch.
      layers: what embeddings and layers leave for the backward pass.
      heads: the same of pooler and heads, with the arrays over the vocabulary.
      update: float32, gradients and what clipping makes of them; when these are complete, the
        layers' arrays are gone.
    """

    weights: int
    copies: int
    moments: int
    sums: int
    layers: int
    heads: int
    update: int

    @property
    def total(self):
        """The most at any time."""
        kept = self.weights + self.copies + self.moments + self.sums
        return kept + max(self.layers + self.heads, self.update)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides how much a model of a size needs.

    Attributes:
      dtype: "float32", "bfloat16" or "float16", of the layers.
      is_compiled: bool, by XLA.
      recompute: bool, the layers' insides are computed anew in the backward pass.
      has_next_sentence: bool.
    """

    dtype: str = "float32"
    is_compiled: bool = False
    recompute: bool = False
    has_next_sentence: bool = True


def estimate(config, settings, num_rows, num_tokens, num_predictions, num_pieces=1):
    """`Memory` for training on pieces of a batch.

    Args:
      config: `BertConfig`.
      settings: `Settings`.
      num_rows: int, rows of a piece.
      num_tokens: int, positions of a row.
      num_predictions: int, of a row.
      num_pieces: int, pieces that the device adds up before an update.
    """
    num_weights = sum(flops.parameters(config, settings.has_next_sentence).values())
    size = _BYTES[settings.dtype]
    layer = _layer(config, settings, num_rows, num_tokens)
    inputs = size * num_rows * num_tokens * config.hidden_size
    if settings.recompute:  # every layer's input, and the inside of one
        layers = config.num_hidden_layers * inputs + layer
    else:
        layers = config.num_hidden_layers * layer
    return Memory(
        weights=_FLOAT32 * num_weights,
        copies=0 if size == _FLOAT32 else size * _num_product_weights(config),
        moments=_MOMENTS * _FLOAT32 * num_weights,
        sums=_FLOAT32 * num_weights if num_pieces > 1 else 0,
        layers=_embeddings(config, settings, num_rows, num_tokens) + layers,
        heads=_heads(config, settings, num_rows, num_predictions),
        update=(1 if settings.is_compiled else 2) * _FLOAT32 * num_weights,
    )


def largest_batch(config, settings, num_tokens, num_predictions, limit):
    """The most rows of a piece with which a device stays within `limit` bytes; 0 if none do."""

    def fits(num_rows):
        return estimate(config, settings, num_rows, num_tokens, num_predictions).total <= limit

    if not fits(1):
        return 0
    most = 1
    while fits(2 * most):
        most *= 2
    step = most
    while step := step // 2:
        most += step if fits(most + step) else 0
    return most


def _layer(config, settings, num_rows, num_tokens):
    """Bytes that one layer leaves for the backward pass."""
    size = _BYTES[settings.dtype]
    hidden = num_rows * num_tokens * config.hidden_size
    inner = num_rows * num_tokens * config.intermediate_size
    scores = num_rows * config.num_attention_heads * num_tokens**2
    if settings.is_compiled:
        # Two inputs and outputs of LayerNorm, query, key, value, context; before and after the
        # activation; softmax and what dropout leaves of it.
        return 8 * size * hidden + 2 * size * inner + (_FLOAT32 + size) * scores
    masks = 2 if config.hidden_dropout_prob else 0
    # Query, key, value, context, the two outputs of LayerNorm.
    arrays = (6 + masks) * size * hidden + 2 * _NORM_ARRAYS * _FLOAT32 * hidden
    arrays += (size + _FLOAT32 * _ACTIVATION_ARRAYS[config.hidden_act]) * inner
    arrays += _FLOAT32 * scores  # softmax
    if config.attention_probs_dropout_prob:
        return arrays + 2 * size * scores  # mask and product
    return arrays + (size * scores if size != _FLOAT32 else 0)


def _embeddings(config, settings, num_rows, num_tokens):
    size = _BYTES[settings.dtype]
    hidden = num_rows * num_tokens * config.hidden_size
    if settings.is_compiled:
        return 2 * size * hidden
    masks = 1 if config.hidden_dropout_prob else 0
    return (1 + masks) * size * hidden + _NORM_ARRAYS * _FLOAT32 * hidden


def _heads(config, settings, num_rows, num_predictions):
    """Bytes of the heads; the pooler's few are left out."""
    size = _BYTES[settings.dtype]
    hidden = num_rows * num_predictions * config.hidden_size
    logits = num_rows * num_predictions * config.vocab_size
    arrays = (_NORM_ARRAYS + _ACTIVATION_ARRAYS[config.hidden_act]) * _FLOAT32 + 3 * size
    return arrays * hidden + _LOGIT_ARRAYS * _FLOAT32 * logits


def _num_product_weights(config):
    """Weights that are factors of products; the word embeddings are one in the masked LM head."""
    hidden = config.hidden_size
    layer = 4 * hidden**2 + 2 * hidden * config.intermediate_size
    return config.num_hidden_layers * layer + 2 * hidden**2 + config.vocab_size * hidden
