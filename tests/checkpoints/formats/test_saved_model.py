import json

import pytest

from bert_tf.checkpoints.formats import saved_model
from bert_tf.errors import InputError
from tests.checkpoints import hub_exports


def graph(folder, **changes):
    return saved_model.Graph(str(hub_exports.saved_model(folder, **changes)[0]))


@pytest.mark.parametrize(
    ("act", "wanted"),
    [("gelu", "gelu"), ("gelu_erf", "gelu_erf"), ("gelu_erfc", "gelu_erf"), ("relu", "relu")],
)
def test_the_activation_is_told_by_constants_and_operations(act, wanted, tmp_path):
    assert graph(tmp_path, act=(act,)).activation() == wanted


@pytest.mark.parametrize(
    ("act", "said"), [((), "neither GELU nor ReLU"), (("gelu", "relu"), "gelu and relu")]
)
def test_an_activation_that_cannot_be_told(act, said, tmp_path):
    with pytest.raises(InputError, match=f"{said} is in it. Put .* bert_config.json"):
        graph(tmp_path, act=act).activation()


@pytest.mark.parametrize(
    ("epsilons", "wanted"), [((1e-12,), 1e-12), ((1e-5, 1e-5), 1e-5), ((), 1e-12)]
)
def test_epsilon_of_layer_norm(epsilons, wanted, tmp_path):
    assert graph(tmp_path, epsilons=epsilons).epsilon() == pytest.approx(wanted)


def test_two_epsilons_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"\['1e-05', '1e-12'\]"):
        graph(tmp_path, epsilons=(1e-12, 1e-5)).epsilon()


def test_a_graph_of_tensorflow_2_does_not_tell_what_shapes_do(tmp_path):
    opened = graph(tmp_path)
    assert opened.num_heads() is None and opened.do_lower_case() is None


def test_a_graph_of_tensorflow_1(tmp_path):
    directory, wanted = hub_exports.module(tmp_path, lower_case=False)
    opened = saved_model.Graph(str(directory))
    assert opened.num_heads() == wanted.config.num_attention_heads
    assert opened.do_lower_case() is False
    assert opened.activation() == "gelu" and opened.epsilon() == pytest.approx(1e-12)


def test_two_vocabularies_are_none(tmp_path):
    directory, _ = hub_exports.module(tmp_path)
    (directory / "assets/other.txt").write_text("a\n")
    assert saved_model.Graph(str(directory)).vocab_file() is None


@pytest.mark.parametrize("name", ["Text>BertEncoder", "TransformerEncoder", "BertEncoderV2"])
def test_what_keras_left_of_the_encoder(name, tmp_path):
    hub_exports.keras_metadata(tmp_path, name, {"attention_dropout": 0.3, "norm_first": False})
    config_left = saved_model.encoder_config(str(tmp_path))
    assert config_left == {"attention_dropout": 0.3, "norm_first": False}


def test_before_tensorflow_2_4_it_is_in_the_graph(tmp_path):
    text = json.dumps({"class_name": "BertEncoder", "config": {"output_dropout": 0.5}})
    (tmp_path / "saved_model.pb").write_bytes(b"\x12\xfe" + text.encode() + b"\x00")
    assert saved_model.encoder_config(str(tmp_path)) == {"output_dropout": 0.5}


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("Text>AlbertEncoder", {}, "is a AlbertEncoder"),
        ("BertEncoder", {"norm_first": True}, "norm_first"),
    ],
)
def test_another_architecture(name, config, said, tmp_path):
    hub_exports.keras_metadata(tmp_path, name, config)
    with pytest.raises(InputError, match=said):
        saved_model.encoder_config(str(tmp_path))


def test_a_block_of_the_encoder_is_not_the_encoder(tmp_path):
    hub_exports.keras_metadata(tmp_path, "TransformerEncoderBlock", {"norm_first": True})
    assert saved_model.encoder_config(str(tmp_path)) == {}


def test_metadata_cut_short(tmp_path):
    hub_exports.keras_metadata(tmp_path, "BertEncoder", {"norm_first": False})
    path = tmp_path / "keras_metadata.pb"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match="keras_metadata.pb is damaged"):
        saved_model.encoder_config(str(tmp_path))
