import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf.modeling import dropout, losses, models
from tests.modeling import harness

B, T, P, V, C = harness.B, harness.T, harness.P, harness.V, harness.C

MAKERS = {
    "pretraining": models.PretrainingModel,
    "classification": lambda config, **kw: models.ClassifierModel(config, num_classes=C, **kw),
    "spans": models.SpanModel,
}


def loss(kind, outputs, batch):
    """A float32 scalar that every head of the model contributes to."""
    if kind == "pretraining":
        weights = batch["masked_lm_weights"]
        one = losses.masked_lm(outputs["masked_lm_logits"], batch["masked_lm_ids"], weights)
        two = losses.next_sentence(outputs["next_sentence_logits"], batch["next_sentence_labels"])
        return one[0] / one[1] + two[0] / two[1]
    if kind == "classification":
        total, count = losses.classification(outputs["logits"], batch["next_sentence_labels"])
        return total / count
    ids = 0 * batch["next_sentence_labels"]
    total, count = losses.span(outputs["logits"][:, 0], outputs["logits"][:, 1], ids, ids)
    return total / count


def gradients(model, batch, seed=(1, 2)):
    """(loss, dict from path to dense gradient or None)."""
    with tf.GradientTape() as tape, dropout.step_seed(tf.convert_to_tensor(seed)):
        value = loss(model.name, model(batch, training=True), batch)
    found = tape.gradient(value, [v.value for v in model.trainable_variables])
    paths = [v.path for v in model.trainable_variables]
    return value, {
        path: None if gradient is None else tf.convert_to_tensor(gradient)
        for path, gradient in zip(paths, found, strict=True)
    }


@pytest.fixture(scope="module", params=MAKERS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def model(kind):
    return harness.randomize(MAKERS[kind](harness.config()))


def test_outputs(kind, model):
    shapes = {
        "pretraining": {"masked_lm_logits": (B, P, V), "next_sentence_logits": (B, 2)},
        "classification": {"logits": (B, C)},
        "spans": {"logits": (B, 2, T)},
    }
    outputs = model(harness.batch())
    assert {name: tuple(value.shape) for name, value in outputs.items()} == shapes[kind]


def test_paths_are_those_of_the_table_whatever_was_made_before(kind, model):
    again = MAKERS[kind](harness.config())
    paths = [variable.path for variable in again.variables]
    assert paths == [variable.path for variable in model.variables]
    assert len(set(paths)) == len(paths)
    heads = {"pretraining": "masked_lm next_sentence", "classification": "classifier"}
    tops = {path.split("/")[0] for path in paths}
    assert tops == {"encoder", *heads.get(kind, "span").split()}
    assert {
        "encoder/embeddings/word",
        "encoder/layer_0/attention/qkv/kernel",
        "encoder/layer_1/feed_forward/output/bias",
        "encoder/layer_1/output_layer_norm/gamma",
        "encoder/pooler/kernel",
    } <= set(paths)


def test_every_weight_has_a_gradient(kind, model):
    _, found = gradients(model, harness.batch())
    for path, gradient in found.items():
        if kind == "spans" and path.startswith("encoder/pooler"):
            assert gradient is None  # the span head does not read the pooler
        elif path != "span/bias":  # adding to all logits of a row changes no probability
            assert np.abs(gradient).max() > 0, path


def test_padding_has_no_influence(kind, model):
    batch = harness.batch()
    real = batch["input_mask"].astype(bool)
    other = dict(batch)
    for name, value in (("input_word_ids", 77), ("input_type_ids", 1)):
        other[name] = np.where(real, batch[name], value).astype(np.int32)
    positions = np.minimum(batch["masked_lm_positions"], np.array(harness.LENGTHS)[:, None] - 1)
    batch["masked_lm_positions"] = other["masked_lm_positions"] = positions.astype(np.int32)
    for name, value in model(batch).items():
        np.testing.assert_array_equal(value, model(other)[name])


def check_graph(model, **options):
    """One training step in a graph is that of eager mode."""
    batch = {name: tf.constant(value) for name, value in harness.batch().items()}
    step = tf.function(
        lambda batch, seed: gradients(model, batch, seed), autograph=False, **options
    )
    value, found = step(batch, tf.constant([1, 2]))
    expected_value, expected = gradients(model, batch)
    np.testing.assert_allclose(value, expected_value, rtol=1e-5)
    for path, gradient in found.items():
        if gradient is not None:
            np.testing.assert_allclose(gradient, expected[path], rtol=1e-3, atol=1e-4)


def test_training_in_a_graph_of_open_shapes(model):
    batch = {name: tf.constant(value) for name, value in harness.batch().items()}
    shapes = {n: tf.TensorSpec([None] * v.shape.rank, v.dtype) for n, v in batch.items()}
    check_graph(model, input_signature=[shapes, tf.TensorSpec([2], tf.int32)])


def test_training_compiled():
    model = models.PretrainingModel(harness.config(num_hidden_layers=1))
    check_graph(harness.randomize(model), jit_compile=True)


@pytest.mark.parametrize("policy", harness.POLICIES[1:])
def test_half_precision_is_close_to_float32(kind, policy):
    """Weights near the initial ones, as training has them."""
    exact, half = MAKERS[kind](harness.config()), MAKERS[kind](harness.config(), dtype=policy)
    assert {v.dtype for v in half.variables} == {"float32"}
    half.set_weights(exact.get_weights())
    batch = harness.batch()
    tolerance = {"mixed_bfloat16": 0.03, "mixed_float16": 0.004}[policy]
    for name, value in half(batch).items():
        assert value.dtype == "float32"
        np.testing.assert_allclose(value, exact(batch)[name], rtol=0, atol=tolerance)
    value, found = gradients(half, batch)
    assert np.isfinite(value) and value.dtype == "float32"
    for path, gradient in found.items():
        assert gradient is None or np.isfinite(gradient).all(), path


def test_under_the_global_policy_of_keras(kind):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        model = MAKERS[kind](harness.config())
    finally:
        keras.config.set_dtype_policy(before)
    assert model.encoder.blocks[0].attention.qkv.compute_dtype == "bfloat16"
    assert {value.dtype.name for value in model(harness.batch()).values()} == {"float32"}


def test_mirrored_replicas():
    """Each replica sees its rows; the mean of their gradients is that of the whole batch."""
    config = harness.config(
        num_hidden_layers=1, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
    )
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        model = harness.randomize(models.PretrainingModel(config))
    batch = {name: value[:4] for name, value in harness.batch().items()}
    batch["input_mask"] = np.ones_like(batch["input_mask"])
    halves = [{n: tf.constant(v[s]) for n, v in batch.items()} for s in (slice(2), slice(2, 4))]

    @tf.function(autograph=False)
    def step():
        def replica(batch):
            return [g for g in gradients(model, batch)[1].values() if g is not None]

        per_replica = strategy.experimental_distribute_values_from_function(
            lambda context: halves[context.replica_id_in_sync_group]
        )
        found = strategy.run(replica, args=(per_replica,))
        return [strategy.reduce("MEAN", gradient, axis=None) for gradient in found]

    alone = harness.randomize(models.PretrainingModel(config))
    expected = [g for g in gradients(alone, batch)[1].values() if g is not None]
    for found, wanted in zip(step(), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-4)


def test_without_a_next_sentence_head():
    model = models.PretrainingModel(harness.config(), has_next_sentence=False)
    assert set(model(harness.batch())) == {"masked_lm_logits"}
    assert not any(variable.path.startswith("next_sentence") for variable in model.variables)
    assert not models.PretrainingModel.from_config(model.get_config()).has_next_sentence


def test_without_positions_every_one_is_predicted():
    model = models.PretrainingModel(harness.config(is_causal=True))
    batch = {n: x for n, x in harness.batch().items() if n != "masked_lm_positions"}
    assert tuple(model(batch)["masked_lm_logits"].shape) == (B, T, V)


def test_serialization(kind, model):
    copy = type(model).from_config(model.get_config())
    copy.set_weights(model.get_weights())
    batch = harness.batch()
    for name, value in model(batch).items():
        np.testing.assert_array_equal(copy(batch)[name], value)


def test_a_saved_model_answers_and_can_be_trained_further(tmp_path):
    model = harness.randomize(models.ClassifierModel(harness.config(num_hidden_layers=1), C))
    names = ("input_word_ids", "input_mask", "input_type_ids")
    specs = {name: tf.TensorSpec([None, None], tf.int32) for name in names}
    batch = {name: tf.constant(harness.batch()[name]) for name in names}
    module = tf.Module()
    module.weights = [variable.value for variable in model.trainable_variables]
    module.answer = tf.function(
        lambda batch: model(batch)["logits"], input_signature=[specs], autograph=False
    )
    tf.saved_model.save(module, str(tmp_path / "saved"))

    loaded = tf.saved_model.load(str(tmp_path / "saved"))
    found = []
    for answer, weights in ((module.answer, module.weights), (loaded.answer, loaded.weights)):
        with tf.GradientTape() as tape:
            logits = answer(batch)
            total = tf.reduce_sum(tf.nn.log_softmax(logits)[:, 0])
        found.append([logits, *map(tf.convert_to_tensor, tape.gradient(total, list(weights)))])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)


def test_a_label_for_each_token():
    model = harness.randomize(models.TokenClassifierModel(harness.config(), C))
    batch = harness.batch()
    logits = np.asarray(model(batch)["logits"])
    assert logits.shape == (B, T, C)
    hidden = np.asarray(model.encoder(batch)["sequence_output"])
    kernel, bias = (np.asarray(v) for v in (model.classifier.kernel, model.classifier.bias))
    np.testing.assert_allclose(logits, hidden @ kernel + bias, rtol=0, atol=1e-4)


def test_one_of_several_texts():
    """Three choices of a text each are scored as the three texts alone."""
    model = harness.randomize(models.MultipleChoiceModel(harness.config()))
    names = ("input_word_ids", "input_mask", "input_type_ids")
    rows = {name: harness.batch()[name] for name in names}
    choices = {name: np.stack([x[[0, 1, 2]], x[[3, 4, 0]]]) for name, x in rows.items()}  # [2 3 T]
    logits = np.asarray(model(choices)["logits"])
    pooled = np.asarray(model.encoder(rows)["pooled_output"])
    alone = (pooled @ np.asarray(model.classifier.kernel))[:, 0] + np.asarray(model.classifier.bias)
    wanted = alone[[[0, 1, 2], [3, 4, 0]]]
    np.testing.assert_allclose(logits, wanted, rtol=0, atol=1e-5)


@pytest.mark.parametrize("make", [models.TokenClassifierModel, models.MultipleChoiceModel])
def test_the_later_models_train_and_come_back_from_their_config(make):
    arguments = (C,) if make is models.TokenClassifierModel else ()
    model = harness.randomize(make(harness.config(), *arguments))
    batch = {name: tf.constant(x) for name, x in harness.batch().items()}
    if make is models.MultipleChoiceModel:
        batch = {
            name: batch[name][None] for name in ("input_word_ids", "input_mask", "input_type_ids")
        }

    @tf.function(autograph=False)
    def step(seed):
        with tf.GradientTape() as tape, dropout.step_seed(seed):
            total = tf.reduce_sum(tf.nn.log_softmax(model(batch, training=True)["logits"])[..., 0])
        return tape.gradient(total, [v.value for v in model.trainable_variables])

    found = step(tf.constant([1, 2]))
    for variable, gradient in zip(model.trainable_variables, found, strict=True):
        if gradient is None:
            assert variable.path.startswith("encoder/pooler"), variable.path
    copy = make.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    np.testing.assert_array_equal(copy(batch)["logits"], model(batch)["logits"])


def windows(sizes, seed=3):
    """Inputs [B W T] of texts that have these numbers of windows, of different lengths."""
    rng = np.random.default_rng(seed)
    shape = (len(sizes), max(sizes), T)
    lengths = np.where(
        np.arange(shape[1]) < np.array(sizes)[:, None], rng.integers(3, T, shape[:2]), 0
    )
    return {
        "input_word_ids": rng.integers(0, V, shape, dtype=np.int32),
        "input_mask": (np.arange(T) < lengths[:, :, None]).astype(np.int32),
        "input_type_ids": rng.integers(0, 2, shape, dtype=np.int32),
    }


@pytest.mark.parametrize(("pooling", "pool"), [("mean", np.mean), ("max", np.max)])
def test_logits_of_windows_are_pooled_over_those_that_exist(pooling, pool):
    sizes = (3, 1, 2)
    model = harness.randomize(models.ClassifierModel(harness.config(), C, window_pooling=pooling))
    batch = windows(sizes)
    found = model(batch)["logits"]
    for row, size in enumerate(sizes):
        single = {name: ids[row, :size] for name, ids in batch.items()}
        wanted = pool(np.asarray(model(single)["logits"]), axis=0)
        np.testing.assert_allclose(found[row], wanted, rtol=1e-5, atol=1e-6)


def test_dropout_of_windows_does_not_depend_on_the_other_rows():
    model = harness.randomize(models.ClassifierModel(harness.config(), C))
    batch, seed, numbers = windows((3, 1, 2)), tf.constant([1, 2]), np.array([4, 0, 7], np.int32)
    with dropout.step_seed(seed, tf.constant(numbers)):
        together = np.asarray(model(batch, training=True)["logits"])
    for row, size in ((1, 1), (2, 2)):
        alone = {name: ids[row : row + 1, :size] for name, ids in batch.items()}
        with dropout.step_seed(seed, tf.constant(numbers[row : row + 1])):
            logits = model(alone, training=True)["logits"]
        np.testing.assert_allclose(logits[0], together[row], rtol=1e-5, atol=1e-6)
    assert np.abs(together - np.asarray(model(batch)["logits"])).max() > 1e-2


@pytest.mark.parametrize(
    "make", [MAKERS["classification"], models.MultipleChoiceModel], ids=["windows", "choices"]
)
def test_hidden_states_are_given_on_demand(make):
    model = harness.randomize(make(harness.config()))
    batch = windows((2, 1))
    assert model(batch).keys() == {"logits"}
    model.gives_hidden_states = True
    hidden = np.asarray(model(batch)["sequence_output"])
    assert hidden.shape == (2, 2, T, harness.H)
    single = {name: ids[0] for name, ids in batch.items()}
    wanted = model.encoder(single)["sequence_output"]
    np.testing.assert_allclose(hidden[0], wanted, rtol=1e-5, atol=1e-6)
