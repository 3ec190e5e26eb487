"""What a device's memory holds while it trains, part by part.

The estimate counts the arrays that the layers' operations keep for the backward pass, in float32
or in the dtype that layers compute in. XLA keeps fewer, because it recomputes cheap elementwise
operations where they are needed; how many is its choice, so the counts for it are a rule derived
from measurements (`benchmarks/step/training_memory.py`).
"""

import dataclasses

from bert_tf.config import BertConfig
from bert_tf.training.plan import flops

_FLOAT32 = 4
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_MOMENTS = 2  # of AdamW and LAMB

# Arrays in float32 that the gradient of an activation or of LayerNorm needs besides the output.
# TensorFlow computes factors of a gradient as early as possible, so one array replaces several.
_ACTIVATION_ARRAYS = {"gelu": 1, "gelu_erf": 1, "relu": 0, "tanh": 0, "linear": 0}
_NORM_ARRAYS = 3  # centred, twice that, normal


@dataclasses.dataclass(frozen=True)
class Memory:
    """Bytes of a device.

    Attributes:
      weights: float32.
      copies: the factors of products in the dtype that layers compute in, unless float32.
      moments: float32, of the optimizer.
      sums: float32, gradients of the micro-batches so far.
      layers: what embeddings and layers keep for the backward pass.
      heads: what the heads keep for it; freed before the layers' backward pass.
      inside: of one layer while it is recomputed for the backward pass.
      table: float32, gradient of the word embeddings, which is computed first.
      update: float32, gradients before and after clipping; by then the layers' arrays are freed.
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
    def total(self) -> int:
        """The peak."""
        kept = self.weights + self.copies + self.moments + self.sums
        backward = self.layers + self.table + max(self.heads, self.inside)
        return kept + max(backward, self.update)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """What memory depends on besides the sizes of model and batch.

    Attributes:
      dtype: that layers compute in.
      is_compiled: by XLA.
      recompute: the layers' activations are recomputed in the backward pass.
    """

    dtype: str = "float32"
    is_compiled: bool = False
    recompute: bool = False
    has_next_sentence: bool = True


def estimate(
    config: BertConfig,
    settings: Settings,
    num_rows: int,
    num_tokens: int,
    num_predictions: int,
    num_micro_batches: int = 1,
) -> Memory:
    """Memory for training.

    Args:
      num_rows: rows of a micro-batch.
      num_tokens: positions of a row.
      num_predictions: per row.
      num_micro_batches: of the device, per update.
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
        sums=_FLOAT32 * num_weights if num_micro_batches > 1 else 0,
        layers=_embeddings(config, settings, num_rows, num_tokens)
        + (config.num_hidden_layers - 1) * layer
        + last_layer,
        heads=_heads(config, settings, num_rows, num_predictions),
        inside=inside,
        table=_FLOAT32 * config.vocab_size * config.hidden_size,
        update=(1 if settings.is_compiled else 2) * _FLOAT32 * num_weights,
    )


def largest_batch(
    config: BertConfig, settings: Settings, num_tokens: int, num_predictions: int, limit: int
) -> int:
    """Maximum rows of a micro-batch within `limit` bytes; 0 if not even one fits."""

    def fits(num_rows: int) -> bool:
        return estimate(config, settings, num_rows, num_tokens, num_predictions).total <= limit

    if not fits(1):
        return 0
    largest = 1
    while fits(2 * largest):
        largest *= 2
    step = largest
    while step := step // 2:
        largest += step if fits(largest + step) else 0
    return largest


def _layer(
    config: BertConfig, settings: Settings, num_rows: int, num_tokens: int, num_queries: int
) -> int:
    """Bytes that a layer keeps for the backward pass if it computes `num_queries` outputs."""
    size = _BYTES[settings.dtype]
    keys = 2 * size * num_rows * num_tokens * config.hidden_size  # and values
    hidden = num_rows * num_queries * config.hidden_size
    inner = num_rows * num_queries * config.intermediate_size
    scores = num_rows * config.num_attention_heads * num_queries * num_tokens
    if settings.is_compiled:
        arrays = keys + 7 * size * hidden + (2 * size + _FLOAT32) * inner
        return arrays + (_FLOAT32 + size) * scores  # softmax before and after dropout
    masks = 2 if config.hidden_dropout_prob else 0
    # Query, context by head and by token, the two outputs of LayerNorm.
    arrays = keys + (5 + masks) * size * hidden + 2 * _NORM_ARRAYS * _FLOAT32 * hidden
    arrays += size * hidden if num_queries < num_tokens else 0  # the input of those tokens
    arrays += (size + _FLOAT32 * _ACTIVATION_ARRAYS[config.hidden_act]) * inner
    arrays += _FLOAT32 * scores  # softmax
    has_another = config.attention_probs_dropout_prob or size != _FLOAT32
    return arrays + (size * scores if has_another else 0)  # the factors of the values


def _work(config: BertConfig, settings: Settings, num_rows: int, num_tokens: int) -> int:
    """Bytes of the activation function's gradients while a layer is recomputed."""
    arrays = 1 if settings.is_compiled else 5
    return arrays * _FLOAT32 * num_rows * num_tokens * config.intermediate_size


def _inputs(config: BertConfig, settings: Settings, num_rows: int, num_tokens: int) -> int:
    """Bytes that a recomputed layer keeps: its input; XLA keeps another array."""
    arrays = 2 if settings.is_compiled else 1
    return arrays * _BYTES[settings.dtype] * num_rows * num_tokens * config.hidden_size


def _embeddings(config: BertConfig, settings: Settings, num_rows: int, num_tokens: int) -> int:
    size = _BYTES[settings.dtype]
    hidden = num_rows * num_tokens * config.hidden_size
    if settings.is_compiled:
        return 2 * size * hidden
    masks = 1 if config.hidden_dropout_prob else 0
    return (1 + masks) * size * hidden + _NORM_ARRAYS * _FLOAT32 * hidden


def _heads(config: BertConfig, settings: Settings, num_rows: int, num_predictions: int) -> int:
    """Bytes of the masked LM head; those of the others are negligible."""
    size = _BYTES[settings.dtype]
    hidden = num_rows * num_predictions * config.hidden_size
    arrays = (_NORM_ARRAYS + _ACTIVATION_ARRAYS[config.hidden_act]) * _FLOAT32 + 2 * size
    logits = num_rows * num_predictions * config.vocab_size
    return arrays * hidden + _FLOAT32 * logits  # softmax minus the labels


def _num_product_weights(config: BertConfig) -> int:
    """Weights that are factors of products, as the word embeddings are in the masked LM head."""
    hidden = config.hidden_size
    layer = 4 * hidden**2 + 2 * hidden * config.intermediate_size
    return config.num_hidden_layers * layer + 2 * hidden**2 + config.vocab_size * hidden
