"""Parameters and FLOPs against the model itself, the paper's totals and counts by hand."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling import models
from bert_tf.training.plan import flops
from bert_tf.training.plan.flops import Amount
from bert_tf.training.step import objectives

B, T, P, V, H, A, L, I = 5, 13, 3, 101, 21, 3, 2, 37  # noqa: E741

BASE = BertConfig(vocab_size=30522)
LARGE = BertConfig(
    vocab_size=30522,
    hidden_size=1024,
    num_hidden_layers=24,
    num_attention_heads=16,
    intermediate_size=4096,
)


def small():
    return BertConfig(
        vocab_size=V,
        hidden_size=H,
        num_hidden_layers=L,
        num_attention_heads=A,
        intermediate_size=I,
        max_position_embeddings=17,
    )


def batch():
    rng = np.random.default_rng(3)
    return {
        "input_word_ids": rng.integers(0, V, (B, T), dtype=np.int32),
        "input_mask": np.ones((B, T), np.int32),
        "input_type_ids": np.zeros((B, T), np.int32),
        "masked_lm_positions": rng.integers(0, T, (B, P), dtype=np.int32),
        "masked_lm_ids": rng.integers(0, V, (B, P), dtype=np.int32),
        "masked_lm_weights": np.ones((B, P), np.float32),
        "next_sentence_labels": np.zeros(B, np.int32),
    }


def test_encoder_parameters_of_the_papers_two_sizes():
    assert flops.num_encoder_parameters(BASE) == 109_482_240
    assert flops.num_encoder_parameters(LARGE) == 335_141_888


def test_parameters_are_those_of_the_model():
    model = models.PretrainingModel(small())
    sizes = {"encoder": 0, "masked_lm": 0, "next_sentence": 0}
    for variable in model.trainable_variables:
        part = next(name for name in variable.path.split("/") if name in sizes)
        sizes[part] += int(np.prod(variable.shape))
    parts = flops.parameters(small())
    assert sizes["encoder"] == flops.num_encoder_parameters(small())
    assert sizes["masked_lm"] == parts["masked LM head"]
    assert sizes["next_sentence"] == parts["next sentence head"]
    assert sum(parts.values()) == sum(sizes.values())


def test_a_model_without_pairs_has_no_head_for_them():
    difference = flops.parameters(small()).items() - flops.parameters(small(), False).items()
    assert dict(difference) == {"next sentence head": 2 * H + 2}


def product_flops(operation):
    """FLOPs of an operation if it is a product of matrices, from its static shapes."""
    if operation.type not in ("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3"):
        return 0
    left = operation.inputs[0].shape.as_list()
    transposed = operation.get_attr("transpose_a" if operation.type == "MatMul" else "adj_x")
    common = left[-2] if transposed else left[-1]
    return 2 * common * int(np.prod(operation.outputs[0].shape.as_list()))


def graph_flops(function):
    """FLOPs of the matrix products of a traced function without functions inside."""
    operations = function.get_concrete_function().graph.get_operations()
    assert [op.type for op in operations if op.type.endswith("PartitionedCall")] == []
    return sum(map(product_flops, operations))


@pytest.fixture(scope="module")
def traced():
    """(forward, training): FLOPs of all products in the model's graphs."""
    model = models.PretrainingModel(small())
    objective = objectives.PRETRAINING["mlm_nsp"]
    variables = [variable.value for variable in model.trainable_variables]
    constants = {name: tf.constant(value) for name, value in batch().items()}

    @tf.function(autograph=False)
    def forward():
        return model(constants, training=True)

    @tf.function(autograph=False)
    def step():
        with tf.GradientTape() as tape:
            measures = objective.measure(model(constants, training=True), constants)
            loss = tf.add_n([measures[name][0] for name in objective.losses])
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, variables)]

    return graph_flops(forward), graph_flops(step)


# Types are looked up by a product of one-hot rows, forward and for the gradient of the table.
TYPE_LOOKUP = 2 * B * T * 2 * H


def test_forward_flops_are_those_of_the_products_in_the_graph(traced):
    counted = flops.forward(small(), Amount.padded(B, T, P))
    left_out = flops.skipped(small(), Amount.padded(B, T, P))
    assert sum(counted.values()) - left_out == traced[0] - TYPE_LOOKUP


def test_training_flops_are_those_of_the_products_in_the_graph(traced):
    counted = flops.training(small(), Amount.padded(B, T, P))
    left_out = 3 * flops.skipped(small(), Amount.padded(B, T, P))
    assert sum(counted.values()) - left_out == traced[1] - 2 * TYPE_LOOKUP


def test_where_every_token_is_predicted_nothing_is_skipped():
    assert flops.skipped(small(), Amount.padded(B, T, T)) == 0


def test_base_at_the_papers_lengths_by_hand():
    # 6 N T + 12 L S H T of the encoder, 6 B P (H^2 + H V) of the head, 6 B (H^2 + 2 H) of pairs.
    for length, slots in ((128, 20), (512, 77)):
        tokens, weights = 256 * length, 12 * 12 * 768**2
        expected = 6 * weights * tokens + 12 * 12 * length * 768 * tokens
        expected += 6 * 256 * slots * (768**2 + 768 * 30522) + 6 * 256 * (768**2 + 2 * 768)
        counted = flops.training(BASE, Amount.padded(256, length, slots))
        assert sum(counted.values()) == expected


def test_nothing_needs_the_pooler_where_no_pair_is_judged():
    amount = Amount.padded(B, T, P)
    parts = flops.training(small(), amount)
    alone = flops.training(small(), amount, has_next_sentence=False)
    assert sum(parts.values()) - sum(alone.values()) == 6 * B * (H * H + 2 * H)


def test_recomputation_is_the_forward_pass_of_the_layers():
    expected = B * L * (T * 2 * (4 * H * H + 2 * H * I) + 4 * T * T * H)
    assert flops.recomputed(small(), Amount.padded(B, T, P)) == expected


def test_per_token_times_tokens_is_the_whole():
    whole = sum(flops.training(small(), Amount.padded(B, T, P), False).values())
    assert flops.per_token(small(), T, P, False) * B * T == pytest.approx(whole, rel=1e-12)
