"""What a device's memory holds while it trains, part by part.

Counted are the arrays that the layers' operations leave for the backward pass, in float32 or in
the type that layers compute in. Compiled by XLA fewer are left, since it computes cheap
elementwise operations anew where they are needed; how many fewer is its choice, and what is
counted then is a rule made from measurements (`benchmarks/training_memory.py`).
"""

import dataclasses

from bert_tf.training.plan import flops

_FLOAT32 = 4
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_MOMENTS = 2  # of AdamW and LAMB

# Arrays in float32 that the gradient of an activation or of LayerNorm needs beside the output.
# TensorFlow computes factors of a gradient as soon as it can: one array stands for several.
_ACTIVATION_ARRAYS = {"gelu": 1, "gelu_erf": 1, "relu": 0, "tanh": 0, "linear": 0}
_NORM_ARRAYS = 3  # centred, twice that, normal


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes of a device.

    Attributes:
      weights: float32.
      copies: the weights of products in the type that layers compute in, if that is another.
      moments: float32, of the optimizer.
      sums: float32, gradients of earlier pieces of the batch.
      layers: what embeddings and layers leave for the backward pass.
      heads: what the heads leave for it; gone when the layers' turn comes.
      inside: of one layer while it is computed anew for the backward pass.
      table: float32, gradient of the word embeddings, the first that there is.
      update: float32, gradients and what clipping makes of them; when these are complete, the
        layers' arrays are gone.
    """

    weights: int
    copies: int
    moments: int
    sums: int
    layers: int
    heads: int
    inside: int
    table: int
    update: int

    @property
    def total(self):
        """The most at any time."""
        kept = self.weights + self.copies + self.moments + self.sums
        backward = self.layers + self.table + max(self.heads, self.inside)
        return kept + max(backward, self.update)


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
    layer, inside = _layer(config, settings, num_rows, num_tokens, num_tokens), 0
    # The pooler reads one token, the masked LM those that it predicts.
    queries = min(num_tokens, 1 + num_predictions)
    last_layer = _layer(config, settings, num_rows, num_tokens, queries)
    if settings.recompute:
        inside = layer + _work(config, settings, num_rows, num_tokens)
        layer = last_layer = _inputs(config, settings, num_rows, num_tokens)
    return Memory(
        weights=_FLOAT32 * num_weights,
        copies=0 if size == _FLOAT32 else size * _num_product_weights(config),
        moments=_MOMENTS * _FLOAT32 * num_weights,
        sums=_FLOAT32 * num_weights if num_pieces > 1 else 0,
        layers=_embeddings(config, settings, num_rows, num_tokens)
        + (config.num_hidden_layers - 1) * layer
        + last_layer,
        heads=_heads(config, settings, num_rows, num_predictions),
        inside=inside,
        table=_FLOAT32 * config.vocab_size * config.hidden_size,
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


def _layer(config, settings, num_rows, num_tokens, num_queries):
    """Bytes that a layer leaves for the backward pass that computes some tokens' output."""
    size = _BYTES[settings.dtype]
    keys = 2 * size * num_rows * num_tokens * config.hidden_size  # and values
    hidden = num_rows * num_queries * config.hidden_size
    inner = num_rows * num_queries * config.intermediate_size
    scores = num_rows * config.num_attention_heads * num_queries * num_tokens
    if settings.is_compiled:
        arrays = keys + 7 * size * hidden + (2 * size + _FLOAT32) * inner
        return arrays + (_FLOAT32 + size) * scores  # softmax and what dropout leaves of it
    masks = 2 if config.hidden_dropout_prob else 0
    # Query, context by heads and by tokens, the two outputs of LayerNorm.
    arrays = keys + (5 + masks) * size * hidden + 2 * _NORM_ARRAYS * _FLOAT32 * hidden
    arrays += size * hidden if num_queries < num_tokens else 0  # the input of those tokens
    arrays += (size + _FLOAT32 * _ACTIVATION_ARRAYS[config.hidden_act]) * inner
    arrays += _FLOAT32 * scores  # softmax
    has_another = config.attention_probs_dropout_prob or size != _FLOAT32
    return arrays + (size * scores if has_another else 0)  # the factors of the values


def _work(config, settings, num_rows, num_tokens):
    """Bytes that gradients need while a layer is computed anew; arrays of the activation."""
    arrays = 1 if settings.is_compiled else 5
    return arrays * _FLOAT32 * num_rows * num_tokens * config.intermediate_size


def _inputs(config, settings, num_rows, num_tokens):
    """Bytes that a layer leaves that is computed anew: its input; XLA keeps another array."""
    arrays = 2 if settings.is_compiled else 1
    return arrays * _BYTES[settings.dtype] * num_rows * num_tokens * config.hidden_size


def _embeddings(config, settings, num_rows, num_tokens):
    size = _BYTES[settings.dtype]
    hidden = num_rows * num_tokens * config.hidden_size
    if settings.is_compiled:
        return 2 * size * hidden
    masks = 1 if config.hidden_dropout_prob else 0
    return (1 + masks) * size * hidden + _NORM_ARRAYS * _FLOAT32 * hidden


def _heads(config, settings, num_rows, num_predictions):
    """Bytes of the masked LM head; the few of the others are left out."""
    size = _BYTES[settings.dtype]
    hidden = num_rows * num_predictions * config.hidden_size
    arrays = (_NORM_ARRAYS + _ACTIVATION_ARRAYS[config.hidden_act]) * _FLOAT32 + 2 * size
    logits = num_rows * num_predictions * config.vocab_size
    return arrays * hidden + _FLOAT32 * logits  # softmax less the labels


def _num_product_weights(config):
    """Weights that are factors of products; the word embeddings are one in the masked LM head."""
    hidden = config.hidden_size
    layer = 4 * hidden**2 + 2 * hidden * config.intermediate_size
    return config.num_hidden_layers * layer + 2 * hidden**2 + config.vocab_size * hidden
