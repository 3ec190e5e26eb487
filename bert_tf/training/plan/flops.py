"""Parameters and FLOPs of pre-training, counted matrix product by matrix product.

Model FLOPs are those of the matrix products that the forward pass needs, and twice as many for
the backward pass: one product for the gradient of each of the two factors. A product of [m k]
and [k n] has 2 m k n. Elementwise operations, lookups (even if the model looks up types by a
product) and recomputation to save memory do not count. Positions that a causal mask hides count,
because a dense product computes them. The last layer counts at every token, as in published
figures, though most of it is `skipped`.

Model FLOP utilisation (Chowdhery et al. 2022, section 4.1) is model FLOPs divided by what the
hardware could do in the same time.
"""

import dataclasses
from typing import Self

from bert_tf.config import BertConfig

_BACKWARD = 2  # products of the backward pass for each of the forward pass


@dataclasses.dataclass(frozen=True)
class Amount:
    """What the FLOPs of a batch are proportional to.

    Attributes:
      rows: texts or pairs of texts that the pooler reads.
      pairs: (query, key) pairs of attention.
      predictions: positions whose logits over the vocabulary are computed.
    """

    rows: int
    tokens: int
    pairs: int
    predictions: int

    @classmethod
    def padded(cls, num_rows: int, num_tokens: int, num_predictions: int) -> Self:
        """Of `num_rows` rows with `num_tokens` positions and `num_predictions` slots each."""
        return cls(
            rows=num_rows,
            tokens=num_rows * num_tokens,
            pairs=num_rows * num_tokens**2,
            predictions=num_rows * num_predictions,
        )


def parameters(config: BertConfig, has_next_sentence: bool = True) -> dict[str, int]:
    """Number of weights of the pre-training model, by part.

    Args:
      has_next_sentence: whether there is a head for pairs of texts.

    Returns:
      The first three parts are the encoder; the output weights of the masked LM head are the word
      embeddings.
    """
    hidden, inner = config.hidden_size, config.intermediate_size
    norm = 2 * hidden
    rows = config.vocab_size + config.max_position_embeddings + config.type_vocab_size
    attention = _affine(hidden, 3 * hidden) + _affine(hidden, hidden) + norm
    feed_forward = _affine(hidden, inner) + _affine(inner, hidden) + norm
    parts = {
        "embeddings": rows * hidden + norm,
        "layers": config.num_hidden_layers * (attention + feed_forward),
        "pooler": _affine(hidden, hidden),
        "masked LM head": _affine(hidden, hidden) + norm + config.vocab_size,
    }
    if has_next_sentence:
        parts["next sentence head"] = _affine(hidden, 2)
    return parts


def num_encoder_parameters(config: BertConfig) -> int:
    """Weights of embeddings, layers and pooler: the paper's 110M and 340M."""
    parts = parameters(config)
    return parts["embeddings"] + parts["layers"] + parts["pooler"]


def _affine(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def forward(config: BertConfig, amount: Amount, has_next_sentence: bool = True) -> dict[str, int]:
    """Model FLOPs of a forward pass, by part; without a head for pairs nothing needs the pooler."""
    hidden, layers = config.hidden_size, config.num_hidden_layers
    # Query, key, value and output; scores and context, over all heads.
    parts = {
        "attention projections": layers * amount.tokens * 2 * 4 * hidden**2,
        "attention scores": layers * amount.pairs * 2 * 2 * hidden,
        "feed-forward": layers * amount.tokens * 2 * 2 * hidden * config.intermediate_size,
        "masked LM transform": amount.predictions * 2 * hidden**2,
        "masked LM logits": amount.predictions * 2 * hidden * config.vocab_size,
    }
    if has_next_sentence:
        parts["pooler"] = amount.rows * 2 * hidden**2
        parts["next sentence"] = amount.rows * 2 * hidden * 2
    return parts


def training(config: BertConfig, amount: Amount, has_next_sentence: bool = True) -> dict[str, int]:
    """Model FLOPs of a forward and a backward pass; see `forward`."""
    parts = forward(config, amount, has_next_sentence)
    return {name: (1 + _BACKWARD) * flops for name, flops in parts.items()}


def skipped(config: BertConfig, amount: Amount) -> int:
    """FLOPs of `forward` that the encoder leaves out of the last layer.

    Of its outputs only the predicted ones and one per row are read; see
    `modeling.encoder.Encoder`. A model that predicts every token leaves out nothing.
    """
    unread = max(0, amount.tokens - amount.rows - amount.predictions)
    hidden, inner = config.hidden_size, config.intermediate_size
    products = unread * 2 * (2 * hidden**2 + 2 * hidden * inner)  # all but key and value
    return products + amount.pairs * unread // amount.tokens * 2 * 2 * hidden


def recomputed(config: BertConfig, amount: Amount) -> int:
    """FLOPs of recomputing the layers in the backward pass, which are not model FLOPs."""
    parts = forward(config, amount)
    return sum(
        parts[name] for name in ("attention projections", "attention scores", "feed-forward")
    )


def per_token(
    config: BertConfig, num_tokens: int, num_predictions: int, has_next_sentence: bool = True
) -> float:
    """Model FLOPs of training per position of full rows."""
    amount = Amount.padded(1, num_tokens, num_predictions)
    return sum(training(config, amount, has_next_sentence).values()) / num_tokens
