"""The parts of the estimate against sizes by hand and against what a traced step keeps."""

import dataclasses

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling import models
from bert_tf.training import memory, objectives
from bert_tf.training.memory import Settings

B, T, P, V, H, A, L, I = 11, 53, 7, 211, 51, 3, 2, 199  # noqa: E741
# By hand, from the shapes of section 3 of the paper and of the released heads.
NUM_WEIGHTS = (V + 59 + 2) * H + 2 * H  # embeddings
NUM_WEIGHTS += L * (4 * (H * H + H) + H * I + I + I * H + H + 4 * H) + H * H + H
NUM_WEIGHTS += H * H + H + 2 * H + V + 2 * H + 2


def config(**changes):
    sizes = {
        "vocab_size": V,
        "hidden_size": H,
        "num_hidden_layers": L,
        "num_attention_heads": A,
        "intermediate_size": I,
        "max_position_embeddings": 59,
    }
    return BertConfig(**(sizes | changes))


def estimate(settings=None, num_pieces=1, **changes):
    return memory.estimate(config(**changes), settings or Settings(), B, T, P, num_pieces)


def test_weights_and_moments_are_float32_whatever_the_layers_compute_in():
    for dtype in ("float32", "bfloat16", "float16"):
        found = estimate(Settings(dtype=dtype))
        assert (found.weights, found.moments) == (4 * NUM_WEIGHTS, 8 * NUM_WEIGHTS)


def test_sums_of_gradients_are_kept_only_between_pieces():
    assert estimate().sums == 0
    assert estimate(num_pieces=2).sums == estimate(num_pieces=5).sums == 4 * NUM_WEIGHTS


def test_layers_of_another_type_need_copies_of_the_factors():
    kernels = L * (4 * H * H + 2 * H * I) + 2 * H * H + V * H
    assert estimate().copies == 0
    assert estimate(Settings(dtype="bfloat16")).copies == 2 * kernels


def test_the_total_is_the_most_at_any_time():
    sizes = dataclasses.asdict(estimate())
    kept = sizes["weights"] + sizes["moments"]
    for layers, most in ((10**9, 10**9 + sizes["heads"]), (0, sizes["update"])):
        found = memory.Memory(**(sizes | {"layers": layers}))
        assert found.total == kept + max(most, sizes["update"])


def source(tensor, through=("Reshape", "Identity", "Squeeze", "ExpandDims")):
    """The tensor whose memory a reshaped one shares."""
    while tensor.op.type in through:
        tensor = tensor.op.inputs[0]
    return tensor


def is_weight(tensor):
    return source(tensor, ("Cast", "Transpose", "Identity")).op.type == "ReadVariableOp"


def needed(tensors):
    """Every operation that these tensors come from."""
    found, open_ones = set(), [tensor.op for tensor in tensors]
    while open_ones:
        operation = open_ones.pop()
        if operation not in found:
            found.add(operation)
            open_ones += [tensor.op for tensor in operation.inputs]
    return found


def kept_bytes(model_config, policy):
    """Bytes of the float arrays that the forward pass makes and the backward pass reads."""
    keras.config.set_dtype_policy(policy)
    try:
        model = models.PretrainingModel(model_config)
    finally:
        keras.config.set_dtype_policy("float32")
    rng = np.random.default_rng(3)
    batch = {
        "input_word_ids": tf.constant(rng.integers(0, V, (B, T)), tf.int32),
        "input_mask": tf.ones((B, T), tf.int32),
        "input_type_ids": tf.zeros((B, T), tf.int32),
        "masked_lm_positions": tf.constant(rng.integers(0, T, (B, P)), tf.int32),
        "masked_lm_ids": tf.constant(rng.integers(0, V, (B, P)), tf.int32),
        "masked_lm_weights": tf.ones((B, P)),
        "next_sentence_labels": tf.zeros(B, tf.int32),
    }
    variables = [variable.value for variable in model.trainable_variables]

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            measures = objectives.PRETRAINING.measure(model(batch, training=True), batch)
            loss = tf.add_n([measures[name][0] for name in objectives.PRETRAINING.losses])
        tf.no_op(name="backward_starts")
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, variables)]

    graph = step.get_concrete_function().graph
    operations = graph.get_operations()
    start = next(i for i, op in enumerate(operations) if op.name == "backward_starts")
    forward, used = set(operations[:start]), needed(graph.outputs)
    read = {source(x).ref() for op in operations[start:] if op in used for x in op.inputs}
    kept = [ref.deref() for ref in read if ref.deref().op in forward]
    return sum(
        tensor.dtype.size * int(np.prod(tensor.shape.as_list()))
        for tensor in kept
        if tensor.dtype.is_floating and tensor.op.type != "Const" and not is_weight(tensor)
    )


@pytest.mark.parametrize(
    ("policy", "dtype", "changes"),
    [
        ("float32", "float32", {}),
        ("float32", "float32", {"hidden_act": "gelu_erf"}),
        ("float32", "float32", {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}),
        ("mixed_bfloat16", "bfloat16", {}),
    ],
)
def test_layers_and_heads_are_what_a_traced_step_keeps(policy, dtype, changes):
    found = estimate(Settings(dtype=dtype), **changes)
    # The gradient of the logits, one of the three arrays of their size, is made backward.
    expected = found.layers + found.heads - 4 * B * P * V
    assert kept_bytes(config(**changes), policy) == pytest.approx(expected, rel=0.05)


def test_recomputation_keeps_an_array_of_each_layer_and_all_of_one():
    plain, recomputing = estimate().layers, estimate(Settings(recompute=True)).layers
    one = estimate(num_hidden_layers=3).layers - plain
    assert plain - recomputing == (L - 1) * one - L * 4 * B * T * H


def test_less_is_kept_when_compiled():
    for dtype in ("float32", "bfloat16"):
        graph = estimate(Settings(dtype=dtype)).layers
        assert estimate(Settings(dtype=dtype, is_compiled=True)).layers < 0.8 * graph


@pytest.mark.parametrize("rows", [3, 7, 64, 131])
def test_the_largest_batch_just_fits(rows):
    sizes = (config(), Settings())
    limit = memory.estimate(*sizes, rows, T, P).total
    assert memory.largest_batch(*sizes, T, P, limit) == rows
    assert memory.largest_batch(*sizes, T, P, limit - 1) == rows - 1


def test_nothing_fits_where_the_weights_do_not():
    assert memory.largest_batch(config(), Settings(), T, P, 4 * NUM_WEIGHTS) == 0
