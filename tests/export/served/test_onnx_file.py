"""ONNX files, run by the evaluator of the standard, against the models they are written from."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="pip install '.[runtimes]'")
from onnx.reference import ReferenceEvaluator  # noqa: E402

from bert_tf.config import BertConfig  # noqa: E402
from bert_tf.errors import InputError  # noqa: E402
from bert_tf.modeling import models  # noqa: E402
from bert_tf.modeling.encoder import Encoder  # noqa: E402
from export.served import onnx_file  # noqa: E402

LENGTHS = (7, 1, 5)


def config(hidden_act="gelu_erf", **changes):
    return BertConfig(
        vocab_size=29,
        hidden_size=21,
        num_attention_heads=3,
        num_hidden_layers=2,
        intermediate_size=37,
        max_position_embeddings=11,
        hidden_act=hidden_act,
        **changes,
    )


def initialized(model):
    rng = np.random.default_rng(11)
    for variable in model.variables:
        variable.assign(rng.normal(0.1, 0.3, variable.shape))
    return model


def batch():
    rng = np.random.default_rng(13)
    mask = (np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]).astype(np.int32)
    return {
        "input_word_ids": rng.integers(0, 29, mask.shape).astype(np.int32) * mask,
        "input_mask": mask,
        "input_type_ids": rng.integers(0, 2, mask.shape).astype(np.int32) * mask,
    }


def run(model, dtype="float32"):
    evaluator = ReferenceEvaluator(onnx.load_from_string(onnx_file.convert(model, dtype)))
    return dict(zip(evaluator.output_names, evaluator.run(None, batch()), strict=True))


MODELS = {
    "encoder": lambda: Encoder(config()),
    "classifier": lambda: models.ClassifierModel(config(), 5),
    "tanh form of GELU": lambda: models.ClassifierModel(config("gelu"), 5),
    "relu": lambda: models.ClassifierModel(config("relu"), 5),
    "spans": lambda: models.SpanModel(config()),
    "tags": lambda: models.TokenClassifierModel(config(), 5),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_file_gives_what_its_model_gives(name):
    model = initialized(MODELS[name]())
    want, got = model(batch(), training=False), run(model)
    assert got.keys() == {key for key, value in want.items() if not isinstance(value, list)}
    for key, given in got.items():
        # float32 sums of at most 37 products, in another order, through two layers.
        np.testing.assert_allclose(given, want[key], 2e-5, 2e-5, err_msg=key)


# Relative to the largest logit, as in test_forms.py; int8 rounds what is multiplied as well.
@pytest.mark.parametrize(("dtype", "tolerance"), [("float16", 0.01), ("int8", 0.25)])
def test_other_dtypes_give_nearly_the_same(dtype, tolerance):
    model = initialized(models.ClassifierModel(config(), 5))
    want = np.asarray(model(batch())["logits"])
    largest = np.abs(run(model, dtype)["logits"] - want).max()
    assert 0 < largest < tolerance * np.abs(want).max()


def test_models_that_cannot_be_written():
    with pytest.raises(InputError, match="PretrainingModel cannot be written"):
        onnx_file.convert(models.PretrainingModel(config()), "float32")
    with pytest.raises(InputError, match="Encoder cannot be written"):
        onnx_file.convert(Encoder(config(is_causal=True)), "float32")
