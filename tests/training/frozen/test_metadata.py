import dataclasses

import pytest

from bert_tf import options
from bert_tf.checkpoints.model_directory import ModelMetadata
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.training.frozen import metadata

TAGS = ModelMetadata(
    kind="tag", task="conll-2003", do_lower_case=False, max_seq_length=17, labels=("O", "B-PER")
)
CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=3,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)


def given(**flags):
    values = {"output_dir": "out", "init_checkpoint": "x", "do_train": True}
    return options.TextClassification(**values | flags)


def test_the_flags_say_what_the_model_is():
    found = metadata.with_frozen_layers(TAGS, given(feature_based="last", lstm_units=5), CONFIG)
    assert found == dataclasses.replace(TAGS, feature_based="last", lstm_units=5)
    assert metadata.with_frozen_layers(TAGS, given(), CONFIG) == TAGS


def test_the_model_in_the_directory_says_what_it_is(monkeypatch):
    there = dataclasses.replace(TAGS, feature_based="weighted_all", lstm_units=11)
    monkeypatch.setattr(metadata.model_directory, "read_metadata", {"out": there}.get)
    predicting = given(do_train=False, do_predict=True)
    assert metadata.with_frozen_layers(TAGS, predicting, CONFIG) == there
    elsewhere = dataclasses.replace(predicting, output_dir="nowhere")
    assert metadata.with_frozen_layers(TAGS, elsewhere, CONFIG) == TAGS


def test_what_is_refused():
    texts = dataclasses.replace(TAGS, kind="classify", task="rte")
    with pytest.raises(InputError, match="last is for tasks that tag words, and rte is of kind"):
        metadata.with_frozen_layers(texts, given(feature_based="last"), CONFIG)
    with pytest.raises(InputError, match="4 layers are wanted; the encoder has 3"):
        metadata.with_frozen_layers(TAGS, given(feature_based="concat_last_four"), CONFIG)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"lstm_units": 5}, "--lstm_units=5 needs --feature_based"),
        ({"feature_based": "last", "lstm_units": 0}, "lstm_units=0 must be above 0"),
        ({"feature_based": "last", "freeze_layers": 0}, "and --freeze_layers exclude each other"),
        ({"feature_based": "last", "length_buckets": "8"}, "and --length_buckets exclude"),
        (
            {
                "feature_based": "last",
                "init_checkpoint": None,
                "bert_config_file": "x",
                "vocab_file": "x",
            },
            "reads an encoder that is not trained. Give its weights",
        ),
    ],
)
def test_flags_that_exclude_each_other(flags, message):
    with pytest.raises(InputError, match=message):
        given(**flags)
