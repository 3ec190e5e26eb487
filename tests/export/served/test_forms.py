"""Forms against the models that they are made of, of prime sizes, at every kind of head."""

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.modeling import models
from bert_tf.modeling.encoder import Encoder
from bert_tf.modeling.ensemble import EnsembleModel
from export.served import forms, weights

LENGTHS = (7, 1, 5)


def config(hidden_act="gelu_erf", **changes):
    return BertConfig(
        vocab_size=29,
        hidden_size=21,
        num_attention_heads=3,
        num_hidden_layers=2,
        intermediate_size=37,
        max_position_embeddings=11,
        initializer_range=0.25,
        hidden_act=hidden_act,
        **changes,
    )


def initialized(model):
    """The model with weights that are all different, vectors too."""
    rng = np.random.default_rng(11)
    for variable in model.variables:
        variable.assign(rng.normal(0.1, 0.3, variable.shape))
    return model


MODELS = {
    "encoder": lambda: Encoder(config()),
    "classifier": lambda: models.ClassifierModel(config(), 5),
    "tanh form of GELU": lambda: models.ClassifierModel(config("gelu"), 5),
    "relu": lambda: models.ClassifierModel(config("relu"), 5),
    "spans": lambda: models.SpanModel(config()),
    "tags": lambda: models.TokenClassifierModel(config(), 5),
    "masked words": lambda: models.PretrainingModel(config()),
    "masked words alone": lambda: models.PretrainingModel(config(), has_next_sentence=False),
    "ensemble": lambda: EnsembleModel(
        [models.ClassifierModel(config(act), 5) for act in ("gelu", "tanh")], "softmax"
    ),
}


def batch():
    rng = np.random.default_rng(13)
    mask = (np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]).astype(np.int32)
    return {
        "input_word_ids": rng.integers(0, 29, mask.shape).astype(np.int32) * mask,
        "input_mask": mask,
        "input_type_ids": rng.integers(0, 2, mask.shape).astype(np.int32) * mask,
    }


def assert_alike(got, want, rtol, atol):
    assert got.keys() == want.keys()
    for name, each in want.items():
        pairs = zip(got[name], each, strict=True) if isinstance(each, list) else [(got[name], each)]
        for given, wanted in pairs:
            np.testing.assert_allclose(given, wanted, rtol, atol, err_msg=name)


@pytest.mark.parametrize("name", MODELS)
def test_a_form_gives_what_its_model_gives(name):
    model = initialized(MODELS[name]())
    want = model(batch(), training=False)
    for is_frozen in (False, True):
        form = forms.of(model, is_frozen=is_frozen)
        assert form is not model and bool(form.variables) is not is_frozen
        # float32 sums of at most 37 products, in another order, through two layers.
        assert_alike(form(batch(), training=False), want, 2e-5, 2e-5)


def test_positions_are_those_that_are_asked_for():
    model = initialized(models.PretrainingModel(config()))
    asked = batch() | {"masked_lm_positions": np.array([[3, 0], [0, 0], [4, 2]], np.int32)}
    assert_alike(forms.of(model)(asked), model(asked), 2e-5, 2e-5)


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_windows_of_a_text_are_pooled(pooling):
    model = initialized(models.ClassifierModel(config(), 5, window_pooling=pooling))
    sequences = {name: np.stack([x, x[::-1]]) for name, x in batch().items()}  # [2 3 T]
    sequences["input_mask"][1, 2] = 0  # a window that does not exist
    assert_alike(forms.of(model)(sequences), model(sequences), 2e-5, 2e-5)


def test_choices_that_do_not_exist_are_never_chosen():
    model = initialized(models.MultipleChoiceModel(config()))
    sequences = {name: np.stack([x, x[::-1]]) for name, x in batch().items()}
    sequences["input_mask"][1, 2] = 0
    got = forms.of(model)(sequences)
    assert got["logits"][1, 2] < -1e8
    assert_alike(got, model(sequences), 2e-5, 2e-5)


def test_the_encoder_of_a_form_is_that_of_the_model():
    model = initialized(models.ClassifierModel(config(), 5))
    assert_alike(forms.of(model).encoder(batch()), model.encoder(batch()), 2e-5, 2e-5)


def test_the_variables_of_a_form_are_as_many_numbers_as_those_of_the_model():
    model = initialized(models.ClassifierModel(config(), 5))
    form = forms.of(model)
    sizes = [np.prod(variable.value.shape) for variable in form.variables]
    assert sum(sizes) == sum(np.prod(variable.shape) for variable in model.variables)
    assert_alike(form(batch()), model(batch()), 2e-5, 2e-5)


def test_weights_that_do_not_fit_a_graph_stay_variables(monkeypatch):
    model = initialized(models.ClassifierModel(config(), 5))
    num_values = sum(np.prod(variable.shape) for variable in model.variables)
    monkeypatch.setattr(weights, "MAX_CONSTANT_BYTES", 4 * num_values)
    assert not forms.of(model, is_frozen=True).variables
    monkeypatch.setattr(weights, "MAX_CONSTANT_BYTES", 4 * num_values - 1)
    assert forms.of(model, is_frozen=True).variables
    assert not forms.of(model, "bfloat16", is_frozen=True).variables


# Relative to the largest logit: half a unit of the last of 11, 8 and 7 bits, through some twenty
# roundings on the way.
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [("float16", 0.01), ("bfloat16", 0.08), ("int8", 0.16)]
)
@pytest.mark.parametrize("is_frozen", [True, False])
def test_other_dtypes_give_nearly_the_same(dtype, tolerance, is_frozen):
    model = initialized(models.ClassifierModel(config(), 5))
    want = np.asarray(model(batch())["logits"])
    got = forms.of(model, dtype, is_frozen)(batch())["logits"]
    assert got.dtype == tf.float32
    largest = np.abs(np.asarray(got) - want).max()
    assert 0 < largest < tolerance * np.abs(want).max()


def test_other_dtypes_of_masked_words():
    model = initialized(models.PretrainingModel(config()))
    want = np.asarray(model(batch())["masked_lm_logits"])
    for dtype, tolerance in (("float16", 0.01), ("bfloat16", 0.08), ("int8", 0.16)):
        got = np.asarray(forms.of(model, dtype)(batch())["masked_lm_logits"])
        assert 0 < np.abs(got - want).max() < tolerance * np.abs(want).max(), dtype


def test_constants_are_in_a_saved_model_once(tmp_path):
    model = initialized(models.ClassifierModel(config(), 5))
    form = forms.of(model, is_frozen=True)
    specs = [
        tf.TensorSpec([None, None], tf.int32, name=name)
        for name in ("input_word_ids", "input_mask", "input_type_ids")
    ]
    names = [spec.name for spec in specs]

    def logits(*ids):
        return form(dict(zip(names, ids, strict=True)))

    module = tf.Module()
    module.functions = [tf.function(logits, input_signature=specs) for _ in range(3)]
    tf.saved_model.save(
        module, str(tmp_path), {f"signature_{i}": f for i, f in enumerate(module.functions)}
    )
    content = (tmp_path / "saved_model.pb").read_bytes()
    table = np.asarray(model.encoder.embeddings.word).tobytes()
    assert content.count(table) == 1


def test_models_without_a_form_stay_as_they_are():
    model = Encoder(config(is_causal=True))
    assert forms.of(model) is model
    with pytest.raises(InputError, match="--dtype=int8"):
        forms.of(model, "int8")
