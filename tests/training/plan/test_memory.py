"""The parts of the estimate against sizes by hand and against what a traced step keeps."""

import concurrent.futures
import dataclasses
import multiprocessing

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling import models
from bert_tf.training.plan import memory
from bert_tf.training.plan.memory import Settings
from bert_tf.training.step import objectives

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


def estimate(settings=None, num_micro_batches=1, **changes):
    return memory.estimate(config(**changes), settings or Settings(), B, T, P, num_micro_batches)


def test_weights_and_moments_are_float32_whatever_the_layers_compute_in():
    for dtype in ("float32", "bfloat16", "float16"):
        found = estimate(Settings(dtype=dtype))
        assert (found.weights, found.moments) == (4 * NUM_WEIGHTS, 8 * NUM_WEIGHTS)


def test_sums_of_gradients_are_kept_only_between_micro_batches():
    assert estimate().sums == 0
    assert (
        estimate(num_micro_batches=2).sums == estimate(num_micro_batches=5).sums == 4 * NUM_WEIGHTS
    )


def test_layers_of_another_type_need_copies_of_the_factors():
    kernels = L * (4 * H * H + 2 * H * I) + 2 * H * H + V * H
    assert estimate().copies == 0
    assert estimate(Settings(dtype="bfloat16")).copies == 2 * kernels


def test_the_total_is_the_most_at_any_time():
    sizes = dataclasses.asdict(estimate())
    kept = sizes["weights"] + sizes["moments"]
    table = sizes["table"]
    for layers, heads, inside, most in (
        (10**9, 7, 5, 10**9 + 7 + table),
        (10**9, 5, 7, 10**9 + 7 + table),
        (0, 0, 0, sizes["update"]),
    ):
        changes = {"layers": layers, "heads": heads, "inside": inside}
        assert memory.Memory(**(sizes | changes)).total == kept + most


def source(tensor, through=("Reshape", "Identity", "Squeeze", "ExpandDims")):
    """The tensor whose memory a reshaped one shares."""
    while tensor.op.type in through:
        tensor = tensor.op.inputs[0]
    return tensor


def factor(tensor, operation):
    """What an operation reads; TensorFlow transposes the factors of a product inside of it."""
    is_inside = "MatMul" in operation.type and tensor.op.type == "Transpose"
    return tensor.op.inputs[0] if is_inside else tensor


def is_weight(tensor):
    return source(tensor, ("Cast", "Transpose", "Identity")).op.type == "ReadVariableOp"


def reached(starts, neighbours):
    """`starts` and every operation that they lead to."""
    found, open_ones = set(), list(starts)
    while open_ones:
        operation = open_ones.pop()
        if operation not in found:
            found.add(operation)
            open_ones += neighbours(operation)
    return found


def before(operation):
    return [tensor.op for tensor in operation.inputs]


def after(operation):
    return [consumer for tensor in operation.outputs for consumer in tensor.consumers()]


@pytest.fixture(scope="module")
def elsewhere():
    """A process in which no test has asked for deterministic operations, whose graphs differ."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
        yield executor


def kept_bytes(model_config, policy):
    """Bytes of the float arrays that lie ready when the backward pass starts."""
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

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            measures = objectives.PRETRAINING["mlm_nsp"].measure(model(batch, training=True), batch)
            loss = tf.add_n(
                [measures[name][0] for name in objectives.PRETRAINING["mlm_nsp"].losses]
            )
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, variables)]

    graph = step.get_concrete_function().graph
    used = reached([tensor.op for tensor in graph.outputs], before)
    losses = [op for op in used if op.type == "Softmax" and op.outputs[0].shape.rank == 2]
    assert len(losses) == 2
    # What does not follow from the losses runs as soon as it can, factors of gradients included.
    late = (reached(losses, after) - set(losses)) & used
    read = {source(factor(tensor, op)).ref() for op in late for tensor in op.inputs}
    kept = [ref.deref() for ref in read if ref.deref().op not in late]
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
def test_layers_and_heads_are_what_a_traced_step_keeps(elsewhere, policy, dtype, changes):
    found = estimate(Settings(dtype=dtype), **changes)
    kept = elsewhere.submit(kept_bytes, config(**changes), policy).result()
    assert kept == pytest.approx(found.layers + found.heads, rel=0.05)


def test_recomputation_keeps_an_array_of_each_layer_and_the_inside_of_one():
    plain, again = estimate(), estimate(Settings(recompute=True))
    one = estimate(num_hidden_layers=L + 1).layers - plain.layers
    assert plain.inside == 0
    embeddings = again.layers - L * 4 * B * T * H
    assert embeddings + one < plain.layers < embeddings + 2 * one  # the last layer is smaller
    assert again.inside == one + 5 * 4 * B * T * I


def test_recomputation_pays():
    for settings in (Settings(), Settings(is_compiled=True)):
        plain = memory.estimate(config(num_hidden_layers=4), settings, 64, T, P)
        settings = dataclasses.replace(settings, recompute=True)
        assert memory.estimate(config(num_hidden_layers=4), settings, 64, T, P).total < plain.total


def test_less_is_kept_when_compiled():
    for dtype in ("float32", "bfloat16"):
        graph = estimate(Settings(dtype=dtype)).layers
        assert estimate(Settings(dtype=dtype, is_compiled=True)).layers < 0.9 * graph


@pytest.mark.parametrize("rows", [3, 7, 64, 131])
def test_the_largest_batch_just_fits(rows):
    sizes = (config(), Settings())
    limit = memory.estimate(*sizes, rows, T, P).total
    assert memory.largest_batch(*sizes, T, P, limit) == rows
    assert memory.largest_batch(*sizes, T, P, limit - 1) == rows - 1


def test_nothing_fits_where_the_weights_do_not():
    assert memory.largest_batch(config(), Settings(), T, P, 4 * NUM_WEIGHTS) == 0
