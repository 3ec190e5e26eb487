"""BERT written from the papers in NumPy, one row and one head at a time, in float64.

Devlin et al. 2018 (sections 3 and 3.1) for the architecture, Vaswani et al. 2017 (sections 3.1
to 3.3) for the layers, Ba et al. 2016 for the normalization, Hendrycks and Gimpel 2016 for GELU.
Weights are a dict under the names of the released checkpoints.
"""

import math

import numpy as np

EPSILON = 1e-12


def encode(
    weights,
    num_layers,
    num_heads,
    activation,
    word_ids,
    mask,
    type_ids,
    is_causal=False,
    sequence_ids=None,
):
    """One row: ([L+1] list of [T H] with the embeddings first, pooled [H]).

    With `sequence_ids` the row holds several texts. None attends to another, and the positions of
    each start from 0. With `is_causal` no token attends to a later one, and the pooled token is
    the last.
    """
    get = {name: array.astype(np.float64) for name, array in weights.items()}
    tables = "bert/embeddings/"
    pooled_position = np.flatnonzero(mask)[-1] if is_causal else 0
    positions = range(len(word_ids))
    if sequence_ids is not None:
        positions = [list(sequence_ids[:t]).count(sequence_ids[t]) for t in positions]
        mask = [(sequence_ids == text) * mask for text in sequence_ids]
    if is_causal:
        mask = np.tril(np.broadcast_to(mask, (len(word_ids), len(word_ids))))
    hidden = np.stack(
        [
            get[tables + "word_embeddings"][word]
            + get[tables + "position_embeddings"][position]
            + get[tables + "token_type_embeddings"][kind]
            for position, word, kind in zip(positions, word_ids, type_ids, strict=True)
        ]
    )
    outputs = [layer_norm(get, "bert/embeddings", hidden)]
    for index in range(num_layers):
        outputs.append(
            block(get, f"bert/encoder/layer_{index}", num_heads, activation, outputs[-1], mask)
        )
    pooled = np.tanh(affine(get, "bert/pooler/dense", outputs[-1][pooled_position]))
    return outputs, pooled


def block(get, scope, num_heads, activation, hidden, mask):
    """One layer for one row: [T H] to [T H]."""
    query, key, value = (
        affine(get, f"{scope}/attention/self/{part}", hidden) for part in ("query", "key", "value")
    )
    size = hidden.shape[1] // num_heads
    heads = [slice(head * size, (head + 1) * size) for head in range(num_heads)]
    attended = np.hstack([attention(query[:, h], key[:, h], value[:, h], mask) for h in heads])
    projected = affine(get, f"{scope}/attention/output/dense", attended)
    hidden = layer_norm(get, f"{scope}/attention/output", hidden + projected)
    inner = activation(affine(get, f"{scope}/intermediate/dense", hidden))
    return layer_norm(get, f"{scope}/output", hidden + affine(get, f"{scope}/output/dense", inner))


def attention(query, key, value, mask):
    """Scaled dot-product attention of one head to the positions in `mask`, [S] or [T S]: [T D]."""
    result = np.zeros_like(query)
    for t, vector in enumerate(query):
        seen = np.flatnonzero(mask[t] if np.ndim(mask) == 2 else mask)
        if len(seen):
            scores = np.array([vector @ key[s] for s in seen]) / math.sqrt(len(vector))
            shares = np.exp(scores - scores.max())
            result[t] = (shares / shares.sum()) @ value[seen]
    return result


def masked_lm(weights, activation, hidden, positions):
    """Logits [P V] of one row [T H]."""
    get = {name: array.astype(np.float64) for name, array in weights.items()}
    scope = "cls/predictions/transform"
    changed = activation(affine(get, f"{scope}/dense", hidden[positions]))
    changed = layer_norm(get, scope, changed)
    return changed @ get["bert/embeddings/word_embeddings"].T + get["cls/predictions/output_bias"]


def next_sentence(weights, pooled):
    """Logits [2] of one row."""
    kernel, bias = (weights[f"cls/seq_relationship/output_{part}"] for part in ("weights", "bias"))
    return np.array([row @ pooled for row in kernel]) + bias


def affine(get, scope, x):
    return x @ get[f"{scope}/kernel"] + get[f"{scope}/bias"]


def layer_norm(get, scope, x):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    normal = (x - mean) / np.sqrt(variance + EPSILON)
    return normal * get[f"{scope}/LayerNorm/gamma"] + get[f"{scope}/LayerNorm/beta"]


def gelu_erf(x):
    return x * np.vectorize(lambda v: 0.5 * (1 + math.erf(v / math.sqrt(2))))(x)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
