"""What the tests of layers and models share: sizes that no axis can be mistaken by, and inputs."""

import numpy as np

from bert_tf.config import BertConfig

B, T, P, V, A, D, L, I, C = 5, 13, 3, 101, 3, 7, 2, 37, 11  # noqa: E741  the letters of shapes.AXES
H = A * D
LENGTHS = (13, 11, 7, 2, 1)
POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")


def config(**changes):
    """A small encoder; dropout is on, as it is by default."""
    values = {
        "vocab_size": V,
        "hidden_size": H,
        "num_hidden_layers": L,
        "num_attention_heads": A,
        "intermediate_size": I,
        "max_position_embeddings": 17,
    }
    return BertConfig(**(values | changes))


def mask():
    """int32 [B T] of `LENGTHS` real tokens."""
    return (np.arange(T) < np.array(LENGTHS)[:, None]).astype(np.int32)


def batch(seed=0):
    """Encoder inputs and the features of pre-training."""
    rng = np.random.default_rng(seed)
    return {
        "input_word_ids": rng.integers(0, V, (B, T), dtype=np.int32),
        "input_mask": mask(),
        "input_type_ids": rng.integers(0, 2, (B, T), dtype=np.int32),
        "masked_lm_positions": rng.integers(0, T, (B, P), dtype=np.int32),
        "masked_lm_ids": rng.integers(0, V, (B, P), dtype=np.int32),
        "masked_lm_weights": np.array([[1, 1, 0]] * B, np.float32),
        "next_sentence_labels": rng.integers(0, 2, B, dtype=np.int32),
    }


def packed_ids():
    """int32 [B T]: texts packed into the rows of `LENGTHS`, from 1; 0 at padding."""
    texts = [(5, 7, 1), (11,), (2, 3, 2), (1, 1), (1,)]
    rows = [[i + 1 for i, size in enumerate(row) for _ in range(size)] for row in texts]
    return np.array([row + [0] * (T - len(row)) for row in rows], np.int32)


def randomize(layer, seed=1):
    """Gives every variable values far from the initial ones; returns the layer."""
    rng = np.random.default_rng(seed)
    for variable in layer.variables:
        centre = 1.0 if variable.path.endswith("gamma") else 0.0
        variable.assign(rng.normal(centre, 0.2, variable.shape))
    return layer


def hidden(seed=2):
    """float32 [B*T H]."""
    return np.random.default_rng(seed).normal(size=(B * T, H)).astype(np.float32)
