import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.modeling import dropout
from bert_tf.modeling.encoder import Encoder
from tests.modeling import harness

INPUTS = ("input_word_ids", "input_mask", "input_type_ids")


@pytest.fixture(scope="module")
def encoder():
    return harness.randomize(Encoder(harness.config()))


def test_names_and_shapes_of_the_outputs(encoder):
    outputs = encoder(harness.batch())
    sizes = (harness.B, harness.T, harness.H)
    assert set(outputs) == {"sequence_output", "pooled_output", "encoder_outputs"}
    assert [tuple(layer.shape) for layer in outputs["encoder_outputs"]] == [sizes] * harness.L
    assert tuple(outputs["pooled_output"].shape) == (harness.B, harness.H)
    np.testing.assert_array_equal(outputs["sequence_output"], outputs["encoder_outputs"][-1])


def test_the_pooler_reads_the_first_token(encoder):
    outputs = encoder(harness.batch())
    kernel, bias = np.asarray(encoder.pooler.kernel.value), np.asarray(encoder.pooler.bias.value)
    expected = np.tanh(np.array(outputs["sequence_output"])[:, 0] @ kernel + bias)
    np.testing.assert_allclose(outputs["pooled_output"], expected, rtol=0, atol=1e-5)


def test_an_answer_does_not_depend_on_neighbours_or_padding(encoder):
    batch = harness.batch()
    whole = encoder(batch)["sequence_output"]
    for row, length in enumerate((13, 11, 7, 2, 2)):
        alone = encoder({name: batch[name][row : row + 1, :length] for name in INPUTS})
        np.testing.assert_allclose(
            alone["sequence_output"][0], whole[row, :length], rtol=0, atol=1e-5
        )


@pytest.mark.parametrize("compiled", [False, True])
def test_training_in_a_graph_is_that_of_eager_mode(encoder, compiled):
    batch = {name: tf.constant(harness.batch()[name]) for name in INPUTS}

    def call(batch, seed):
        with dropout.step_seed(seed):
            return encoder(batch, training=True)["sequence_output"]

    seed = tf.constant([1, 2])
    open_shapes = {name: tf.TensorSpec([None, None], tf.int32) for name in INPUTS}
    signature = None if compiled else [open_shapes, tf.TensorSpec([2], tf.int32)]
    graph = tf.function(call, jit_compile=compiled, input_signature=signature, autograph=False)
    np.testing.assert_allclose(graph(batch, seed), call(batch, seed), rtol=0, atol=1e-5)


def test_no_two_layers_drop_the_same_positions(encoder):
    def masks(layer):
        with dropout.step_seed([1, 2]):
            return np.array(layer(np.ones((31, 37), np.float32), training=True)).tobytes()

    layers = [encoder.embeddings.dropout]
    for block in encoder.blocks:
        layers += [block.attention.dropout, block.attention_dropout, block.output_dropout]
    assert len({masks(layer) for layer in layers}) == len(layers)


@pytest.fixture(scope="module")
def causal():
    return harness.randomize(Encoder(harness.config(is_causal=True)))


def test_a_causal_encoder_pools_the_last_real_token(causal):
    outputs = causal(harness.batch())
    kernel, bias = np.asarray(causal.pooler.kernel.value), np.asarray(causal.pooler.bias.value)
    lasts = np.array(outputs["sequence_output"])[
        np.arange(harness.B), np.array(harness.LENGTHS) - 1
    ]
    expected = np.tanh(lasts @ kernel + bias)
    np.testing.assert_allclose(outputs["pooled_output"], expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("changed", [1, 5, 12])
def test_nothing_flows_back_from_a_later_token(causal, changed):
    batch = harness.batch()
    other = {name: value.copy() for name, value in batch.items()}
    other["input_word_ids"][:, changed] = (batch["input_word_ids"][:, changed] + 7) % harness.V
    other["input_type_ids"][:, changed] = 1 - batch["input_type_ids"][:, changed]
    one, two = (np.array(causal(each)["sequence_output"]) for each in (batch, other))
    np.testing.assert_array_equal(one[:, :changed], two[:, :changed])
    assert np.abs(one[0, changed:] - two[0, changed:]).max(axis=-1).min() > 1e-3


def packed():
    return harness.batch() | {"sequence_ids": harness.packed_ids()}


@pytest.mark.parametrize("is_causal", [False, True])
def test_a_packed_row_is_its_texts_in_rows_of_their_own(encoder, causal, is_causal):
    encoder, batch = causal if is_causal else encoder, packed()
    together = np.array(encoder(batch)["sequence_output"])
    for row, ids in enumerate(batch["sequence_ids"]):
        for text in range(1, ids.max() + 1):
            chosen = ids == text
            alone = {name: np.pad(batch[name][row, chosen], (0, 1))[None] for name in INPUTS}
            found = encoder(alone)["sequence_output"][0, :-1]
            np.testing.assert_allclose(together[row, chosen], found, rtol=0, atol=1e-6)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize("recompute", [False, True])
def test_the_last_layer_at_some_positions_is_that_of_all(is_causal, is_packed, recompute):
    """Outputs and gradients; positions may repeat and may be padding."""
    rates = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    encoder = harness.randomize(Encoder(harness.config(is_causal=is_causal, **rates)))
    encoder.recompute = recompute
    batch = packed() if is_packed else harness.batch()
    positions = np.array([[0, 3, 3], [10, 9, 0], [12, 1, 2], [1, 0, 0], [5, 0, 1]], np.int32)
    found = []
    for some in (None, positions):
        with tf.GradientTape() as tape:
            outputs = encoder(batch, some, training=True)
            sequence_output = outputs["sequence_output"]
            if some is None:
                sequence_output = tf.gather(sequence_output, positions, batch_dims=1)
            loss = tf.reduce_sum(sequence_output**3) + tf.reduce_sum(outputs["pooled_output"])
        gradients = tape.gradient(loss, [v.value for v in encoder.trainable_variables])
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        found.append((sequence_output, outputs["pooled_output"], gradients))
    for ours, theirs in zip(found[1][:2], found[0][:2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
    for ours, theirs in zip(found[1][2], found[0][2], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max() + 1e-5)


def test_without_the_last_layer_the_layers_are_the_same(encoder):
    batch = harness.batch()
    outputs = encoder(batch, batch["masked_lm_positions"])
    whole = encoder(batch)["encoder_outputs"]
    assert len(outputs["encoder_outputs"]) == len(whole) - 1
    np.testing.assert_array_equal(outputs["encoder_outputs"][0], whole[0])


def step(encoder, batch, seed, wrap=lambda function: function):
    """(loss, gradients) of a loss that every output enters; `wrap` gets the forward pass."""

    @wrap
    def forward(batch, seed):
        with dropout.step_seed(seed, rows=3 + tf.range(tf.shape(batch["input_mask"])[0])):
            outputs = encoder(batch, training=True)
        outputs = [*outputs["encoder_outputs"], outputs["pooled_output"]]
        return tf.add_n([tf.reduce_sum(tf.cast(x, "float32") ** 3) for x in outputs])

    with tf.GradientTape() as tape:
        loss = forward(batch, seed)
    found = tape.gradient(loss, [v.value for v in encoder.trainable_variables])
    return loss, [tf.convert_to_tensor(gradient) for gradient in found]


def check_same_step(found, expected, rtol=1e-5):
    np.testing.assert_allclose(found[0], expected[0], rtol=rtol)
    for ours, theirs in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=rtol * np.abs(theirs).max())


# No Python of a step depends on tensors, and AutoGraph takes long to find that out.
as_written = functools.partial(tf.function, autograph=False)

MODES = {
    "eager": lambda step: step,
    "graph": as_written,
    "open": as_written(
        input_signature=[
            {name: tf.TensorSpec([None, None], tf.int32) for name in (*INPUTS, "sequence_ids")},
            tf.TensorSpec([2], tf.int32),
        ]
    ),
    "nested": lambda step: as_written(lambda *args: step(*args, wrap=as_written)),
    "compiled": as_written(jit_compile=True),
}


@functools.cache
def step_in(mode, policy, num_layers, recompute):
    """What `step` gives in one of `MODES`, of the same weights every time."""
    config = harness.config(is_causal=True, num_hidden_layers=num_layers)
    encoder = harness.randomize(Encoder(config, dtype=policy))
    encoder.recompute = recompute
    batch = {name: tf.constant(packed()[name]) for name in (*INPUTS, "sequence_ids")}
    run = MODES[mode](lambda *args, **kwargs: step(encoder, *args, **kwargs))
    return run(batch, tf.constant([1, 2]))


@pytest.mark.parametrize(
    ("mode", "policy"),
    [
        *((mode, "float32") for mode in MODES),
        ("eager", "mixed_bfloat16"),
        ("graph", "mixed_bfloat16"),
    ],
)
def test_recomputation_gives_the_same_gradients(mode, policy):
    """Dropout included: what is computed again draws the masks of the first time."""
    num_layers = 1 if mode == "compiled" else 2
    # In half precision eager mode and graphs round at other places.
    plain_mode = "eager" if policy == "float32" else mode
    expected = step_in(plain_mode, policy, num_layers, recompute=False)
    found = step_in(mode, policy, num_layers, recompute=True)
    check_same_step(found, expected, rtol=1e-5 if policy == "float32" else 0.02)


def test_recomputation_without_a_step_seed_draws_its_masks_once():
    encoder = harness.randomize(Encoder(harness.config()))
    encoder.recompute = True
    table, change = encoder.embeddings.word, 1e-3
    batch = {name: tf.constant(harness.batch()[name]) for name in INPUTS}

    def loss():
        keras.utils.set_random_seed(5)
        return tf.reduce_sum(encoder(batch, training=True)["sequence_output"] ** 3)

    with tf.GradientTape() as tape:
        value = loss()
    gradient = tf.convert_to_tensor(tape.gradient(value, table.value))
    table.assign_add(change * gradient / tf.norm(gradient))
    np.testing.assert_allclose((loss() - value) / change, tf.norm(gradient), rtol=0.05)


def test_recomputation_on_replicas():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        encoder = harness.randomize(Encoder(harness.config()))
    batch = {name: tf.constant(harness.batch()[name]) for name in INPUTS}

    @tf.function(autograph=False)
    def both(seed):
        per_replica = strategy.run(lambda: step(encoder, batch, seed, wrap=as_written))
        return tf.nest.map_structure(strategy.experimental_local_results, per_replica)

    alone = harness.randomize(Encoder(harness.config()))
    expected = step(alone, batch, tf.constant([1, 2]))
    encoder.recompute = True
    loss, gradients = both(tf.constant([1, 2]))
    for replica in (0, 1):
        found = loss[replica], [gradient[replica] for gradient in gradients]
        check_same_step(found, expected)


def test_serialization(encoder):
    copy = Encoder.from_config(encoder.get_config())
    copy.set_weights(encoder.get_weights())
    batch = harness.batch()
    np.testing.assert_array_equal(copy(batch)["sequence_output"], encoder(batch)["sequence_output"])


def test_tensorflow_reaches_every_variable(encoder, tmp_path):
    """tf.train.Checkpoint and SavedModels hold what attributes lead to; lists do not count."""
    path = tf.train.Checkpoint(encoder=encoder).save(str(tmp_path / "ckpt"))
    values = {key for key, _ in tf.train.list_variables(path) if key.startswith("encoder")}
    sizes = [shape for key, shape in tf.train.list_variables(path) if key in values]
    assert sorted(sizes) == sorted(list(v.shape) for v in encoder.variables)


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "expected"),
    [(12, 768, 12, 109_482_240), (24, 1024, 16, 335_141_888)],
)
def test_number_of_parameters(layers, hidden, heads, expected):
    """BASE and LARGE with the uncased vocabulary: 110M and 340M in the paper (section 3).

    One layer is made and the others are counted, since 24 of them take 1.3 GB.
    """
    config = BertConfig(
        vocab_size=30522,
        hidden_size=hidden,
        num_hidden_layers=1,
        num_attention_heads=heads,
        intermediate_size=4 * hidden,
    )
    encoder = Encoder(config)
    others = (layers - 1) * encoder.blocks[0].count_params()
    assert encoder.count_params() + others == expected
