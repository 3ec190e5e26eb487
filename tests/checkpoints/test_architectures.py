import pytest

from bert_tf.checkpoints import architectures
from bert_tf.checkpoints.formats.hugging_face import HuggingFace
from bert_tf.checkpoints.formats.tf1 import TensorFlow1
from bert_tf.errors import InputError
from tests.modeling import harness


@pytest.mark.parametrize(
    ("model_type", "title"),
    [("roberta", "RoBERTa"), ("distilbert", "DistilBERT"), ("albert", "ALBERT")],
)
def test_a_model_type_is_called_by_its_name(model_type, title):
    with pytest.raises(InputError, match=f"c.json is of .* model_type='{model_type}', .* {title};"):
        architectures.check_model_type(model_type, "c.json")


def test_an_unknown_model_type_and_bert():
    with pytest.raises(InputError, match="model_type='llama'; only BERT"):
        architectures.check_model_type("llama", "c.json")
    for model_type in ("bert", None):
        architectures.check_model_type(model_type, "c.json")


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("roberta.encoder.layer.0.output.dense.weight", "RoBERTa"),
        ("lm_head.dense.weight", "RoBERTa"),
        ("distilbert.transformer.layer.0.attention.q_lin.weight", "DistilBERT"),
        ("transformer.layer.0.attention.q_lin.weight", "DistilBERT"),
        ("albert.pooler.weight", "ALBERT"),
        ("bert/encoder/transformer/group_0/inner_group_0/ffn_1/intermediate/dense/bias", "ALBERT"),
        ("electra.embeddings.word_embeddings.weight", "ELECTRA"),
        ("electra/embeddings/word_embeddings", "ELECTRA"),
        ("discriminator_predictions/dense/kernel", "ELECTRA"),
    ],
)
def test_names_of_another_architecture(name, title):
    with pytest.raises(InputError, match=f"another architecture, {title}: 1 of its 2 names"):
        architectures.check_names([name, "bert/pooler/dense/kernel"], "x")


@pytest.mark.parametrize("one", [HuggingFace(), TensorFlow1()])
def test_names_of_bert(one):
    names = [name for row in one.rows(harness.config()) for name in row.names]
    architectures.check_names([*names, *(name.removeprefix("bert.") for name in names)], "x")
