"""Config files of both families are read to the letter, or refused with the key that does not fit.

The literals are the released files' contents.
"""

import dataclasses
import json

import pytest

from bert_tf import config
from bert_tf.config import BertConfig
from bert_tf.errors import InputError

UNCASED_BASE = {
    "attention_probs_dropout_prob": 0.1,
    "hidden_act": "gelu",
    "hidden_dropout_prob": 0.1,
    "hidden_size": 768,
    "initializer_range": 0.02,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "num_attention_heads": 12,
    "num_hidden_layers": 12,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}

MULTILINGUAL = UNCASED_BASE | {
    "directionality": "bidi",
    "pooler_fc_size": 768,
    "pooler_num_attention_heads": 12,
    "pooler_num_fc_layers": 3,
    "pooler_size_per_head": 128,
    "pooler_type": "first_token_transform",
    "vocab_size": 119547,
}

HUGGING_FACE_BASE = UNCASED_BASE | {
    "architectures": ["BertForMaskedLM"],
    "gradient_checkpointing": False,
    "layer_norm_eps": 1e-12,
    "model_type": "bert",
    "pad_token_id": 0,
    "position_embedding_type": "absolute",
    "transformers_version": "4.6.0.dev0",
    "use_cache": True,
}

# Distinct values everywhere, so that no two fields can be mistaken for each other.
DISTINCT = BertConfig(
    vocab_size=31,
    hidden_size=22,
    num_hidden_layers=3,
    num_attention_heads=11,
    intermediate_size=37,
    hidden_act="relu",
    hidden_dropout_prob=0.2,
    attention_probs_dropout_prob=0.3,
    max_position_embeddings=17,
    type_vocab_size=5,
    initializer_range=0.07,
    layer_norm_eps=1e-5,
    is_causal=True,
)


def read(values):
    return config.from_json(json.dumps(values), "their.json")


def test_defaults_are_the_base_size_of_the_paper():
    assert BertConfig(vocab_size=30522) == read(UNCASED_BASE)
    base = dataclasses.asdict(BertConfig(vocab_size=30522))
    assert base == UNCASED_BASE | {"layer_norm_eps": 1e-12, "is_causal": False}


def test_keys_that_no_released_code_reads_are_left_out():
    assert read(MULTILINGUAL) == BertConfig(vocab_size=119547)


def test_hugging_face_files_name_the_exact_gelu_gelu():
    assert read(HUGGING_FACE_BASE) == BertConfig(vocab_size=30522, hidden_act="gelu_erf")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("gelu", "gelu_erf"), ("gelu_new", "gelu"), ("gelu_pytorch_tanh", "gelu"), ("relu", "relu")],
)
def test_hugging_face_activations(theirs, ours):
    assert read(HUGGING_FACE_BASE | {"hidden_act": theirs}).hidden_act == ours


def test_hugging_face_activation_where_the_key_is_absent():
    values = {key: value for key, value in HUGGING_FACE_BASE.items() if key != "hidden_act"}
    assert read(values).hidden_act == "gelu_erf"


@pytest.mark.parametrize("hidden_act", config.ACTIVATIONS)
@pytest.mark.parametrize("is_causal", [False, True])
def test_what_is_written_for_hugging_face_reads_back(hidden_act, is_causal):
    ours = BertConfig(vocab_size=7, hidden_act=hidden_act, is_causal=is_causal, layer_norm_eps=1e-5)
    values = ours.to_hugging_face()
    assert config.from_json(json.dumps(values)) == ours
    assert values["is_decoder"] is is_causal and values["model_type"] == "bert"


def test_the_two_forms_of_gelu_have_hugging_face_s_names():
    names = {
        act: BertConfig(vocab_size=7, hidden_act=act).to_hugging_face()["hidden_act"]
        for act in ("gelu", "gelu_erf")
    }
    assert names == {"gelu": "gelu_new", "gelu_erf": "gelu"}


def test_what_is_written_reads_back():
    values = dataclasses.asdict(DISTINCT).values()
    assert len({str(value) for value in values}) == len(values)
    assert config.from_json(DISTINCT.to_json()) == DISTINCT


def test_only_a_causal_config_says_so_in_its_file():
    assert "is_causal" not in json.loads(BertConfig(vocab_size=7).to_json())
    assert json.loads(DISTINCT.to_json())["is_causal"] is True


@pytest.mark.parametrize(("value", "is_causal"), [(True, True), (False, False), (None, False)])
def test_a_hugging_face_decoder_is_causal(value, is_causal):
    assert read(HUGGING_FACE_BASE | {"is_decoder": value}).is_causal is is_causal


def test_size_per_head():
    assert DISTINCT.size_per_head == 2


def test_a_config_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        DISTINCT.hidden_size = 11


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_sizes": 7}, r"their.json has unknown keys \['hidden_sizes'\]; known: .*vocab_si"),
        ({"hidden_size": 770}, "their.json: hidden_size=770 is not a multiple of .*heads=12"),
        ({"num_hidden_layers": 0}, "num_hidden_layers=0 must be an integer of at least 1"),
        ({"num_hidden_layers": 12.0}, "num_hidden_layers=12.0 must be an integer"),
        ({"num_hidden_layers": True}, "num_hidden_layers=True must be an integer"),
        ({"vocab_size": "30522"}, "vocab_size='30522' must be an integer"),
        ({"hidden_dropout_prob": 1.0}, r"hidden_dropout_prob=1.0 must be in \[0, 1\)"),
        ({"attention_probs_dropout_prob": -0.1}, "attention_probs_dropout_prob=-0.1 must be in"),
        ({"hidden_dropout_prob": True}, "hidden_dropout_prob=True must be a number"),
        ({"initializer_range": None}, "initializer_range=None must be a number"),
        ({"initializer_range": 0}, "initializer_range=0 must be above 0"),
        ({"layer_norm_eps": -1e-12}, "layer_norm_eps=-1e-12 must be above 0"),
        ({"layer_norm_eps": float("nan")}, "layer_norm_eps=nan must be above 0"),
        ({"is_causal": "yes"}, "is_causal='yes' must be true or false"),
        ({"is_causal": None}, "is_causal=None must be true or false"),
        ({"hidden_act": "swish"}, "hidden_act='swish' is unknown; known: gelu, gelu_erf"),
        ({"hidden_act": ["gelu"]}, "hidden_act=.'gelu'. is unknown"),
    ],
)
def test_wrong_values_of_a_google_file(changes, message):
    with pytest.raises(InputError, match=message):
        read(UNCASED_BASE | changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model_type": "roberta"}, "their.json: model_type='roberta' is not BERT.*wanted 'bert'"),
        ({"position_embedding_type": "relative_key"}, "position_embedding_type='relative_key'"),
        ({"is_decoder": 1}, "is_causal=1 must be true or false"),
        ({"is_decoder": True, "add_cross_attention": True}, "add_cross_attention=True"),
        ({"pad_token_id": 1}, "pad_token_id=1 is not BERT .*; wanted 0"),
        ({"tie_word_embeddings": False}, "tie_word_embeddings=False"),
        ({"pruned_heads": {"1": [2]}}, "pruned_heads="),
        ({"hidden_act": "silu"}, "hidden_act='silu' is unknown; known: gelu, gelu_new"),
        ({"hidden_act": ["gelu"]}, "hidden_act=.'gelu'. is unknown"),
        ({"rotary_dim": 7}, r"unknown keys \['rotary_dim'\]"),
    ],
)
def test_wrong_values_of_a_hugging_face_file(changes, message):
    with pytest.raises(InputError, match=message):
        read(HUGGING_FACE_BASE | changes)


def test_a_hugging_face_key_in_a_google_file_is_unknown():
    with pytest.raises(InputError, match="use_cache"):
        read(UNCASED_BASE | {"use_cache": True})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "their.json is not JSON"),
        ("[1]", "their.json is a JSON list; an object was wanted"),
        ("{}", "their.json has no vocab_size"),
    ],
)
def test_text_that_is_no_config(text, message):
    with pytest.raises(InputError, match=message):
        config.from_json(text, "their.json")


def test_a_file_is_named_in_its_errors(tmp_path):
    path = tmp_path / "bert_config.json"
    with pytest.raises(InputError, match=f"--bert_config_file={path} does not exist"):
        config.from_file(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=f"{path} is not UTF-8"):
        config.from_file(path)
    path.write_text(json.dumps(UNCASED_BASE))
    assert config.from_file(path) == BertConfig(vocab_size=30522)


@pytest.mark.parametrize("size", [None, 768])
def test_keys_of_tf_model_garden(size):
    """`to_json_string` of its `BertConfig`."""
    values = UNCASED_BASE | {"backward_compatible": True, "embedding_size": size}
    assert read(values) == read(UNCASED_BASE)


def test_factorized_embeddings_are_refused():
    with pytest.raises(InputError, match=r"their.json: embedding_size=128 is not BERT .*ALBERT's"):
        read(UNCASED_BASE | {"embedding_size": 128})
