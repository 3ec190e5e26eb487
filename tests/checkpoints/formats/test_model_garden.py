import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import coverage, open_checkpoint, reading, variables
from bert_tf.checkpoints.formats.model_garden import ModelGarden
from bert_tf.checkpoints.kinds import KINDS
from bert_tf.checkpoints.state_dict import StateDict
from bert_tf.errors import InputError
from tests.checkpoints import garden, samples
from tests.modeling import harness

FORMAT = ModelGarden()

H, A, D = garden.H, garden.A, garden.D


def read(folder, **kwargs):
    return reading.read(open_checkpoint(folder), **kwargs)


def wrapped(head):
    """What a fine-tuned model has: the encoder in it, and a head that goes by two names."""
    return garden.numbered("model/layer_with_weights-0") | head


@pytest.mark.parametrize("layout", [garden.numbered, garden.attributes])
def test_every_array_of_an_encoder_arrives(layout, tmp_path):
    arrays = garden.save(tmp_path, garden.random(layout()))
    state_dict, report = read(tmp_path)
    assert (state_dict.kind, report.not_weights) == (
        "encoder",
        ("_CHECKPOINTABLE_OBJECT_GRAPH", "save_counter"),
    )
    second = [arrays[name] for name in layout() if "weights-5/" in name or "_layers/1/" in name]
    theirs = dict(zip(garden.LAYER, second, strict=True))
    qkv = [theirs[f"_attention_layer/_{part}_dense/kernel"] for part in ("query", "key", "value")]
    biases = [theirs[f"_attention_layer/_{part}_dense/bias"] for part in ("query", "key", "value")]
    wanted = {
        "attention/qkv/kernel": np.concatenate([x.reshape(H, H) for x in qkv], axis=1),
        "attention/qkv/bias": np.concatenate([x.reshape(H) for x in biases]),
        "attention/output/kernel": theirs["_attention_layer/_output_dense/kernel"].reshape(H, H),
        "feed_forward/output/kernel": theirs["_output_dense/kernel"],
        "output_layer_norm/gamma": theirs["_output_layer_norm/gamma"],
    }
    for path, array in wanted.items():
        np.testing.assert_array_equal(state_dict.arrays[f"encoder/layer_1/{path}"], array)
    embeddings = list(arrays.values())[:3]
    for path, array in zip(("word", "position", "type"), embeddings, strict=True):
        np.testing.assert_array_equal(state_dict.arrays[f"encoder/embeddings/{path}"], array)
    assert state_dict.arrays.keys() == {
        p for p in variables.shapes(state_dict.config) if p.startswith("enc")
    }


@pytest.mark.parametrize(
    ("attribute", "head", "kind", "path"),
    [
        ("classifier", garden.dense("out_proj", 11), "classify", "classifier"),
        ("classifier", garden.dense("out_proj", 1), "regress", "classifier"),
        ("classifier", garden.dense("layer_with_weights-0", 11), "classify", "classifier"),
        ("span_labeling", garden.dense("layer_with_weights-0", 2), "span", "span"),
        ("classifier", {"kernel": (H, 11), "bias": (11,)}, "tag", "classifier"),
    ],
)
def test_fine_tuned_models(attribute, head, kind, path, tmp_path):
    head = garden.under("model/layer_with_weights-1", head)
    aliases = [(f"model/{attribute}", "model/layer_with_weights-1")]
    arrays = garden.save(tmp_path, garden.random(wrapped(head)), aliases)
    state_dict, _ = read(tmp_path)
    assert state_dict.kind == kind
    kernel, bias = (arrays[name] for name in head)
    np.testing.assert_array_equal(state_dict.arrays[f"{path}/kernel"], kernel)
    np.testing.assert_array_equal(state_dict.arrays[f"{path}/bias"], bias)


def pretrainer():
    """The names that `checkpoint_items` and `model=` of a `BertPretrainerV2` lead to."""
    shapes = garden.numbered() | garden.under("masked_lm", garden.MASKED_LM)
    shapes |= garden.dense("next_sentence.pooler_dense", H)
    return shapes | garden.dense("model/classification_heads/0/out_proj", 2)


def test_pretraining_takes_the_pooler_that_was_trained(tmp_path):
    arrays = garden.save(tmp_path, garden.random(pretrainer()))
    state_dict, report = read(tmp_path)
    assert state_dict.kind == "pretrain"
    for path, name in {
        "encoder/pooler/kernel": "next_sentence.pooler_dense/kernel",
        "masked_lm/transform/kernel": "masked_lm/dense/kernel",
        "masked_lm/layer_norm/beta": "masked_lm/layer_norm/beta",
        "masked_lm/output_bias": "masked_lm/output_bias/bias",
        "next_sentence/kernel": "model/classification_heads/0/out_proj/kernel",
    }.items():
        np.testing.assert_array_equal(state_dict.arrays[path], arrays[name])
    assert "encoder/layer_with_weights-6/kernel (unused)" in report.not_weights
    assert "The pooler is next_sentence.pooler_dense, which was trained" in report.notes[0]


def test_nothing_is_said_of_two_equal_poolers(tmp_path):
    arrays = garden.random(pretrainer())
    for part in ("kernel", "bias"):
        arrays[f"encoder/layer_with_weights-6/{part}"] = arrays[
            f"next_sentence.pooler_dense/{part}"
        ]
    garden.save(tmp_path, arrays)
    assert read(tmp_path)[1].notes == ()


def test_a_second_head_is_listed_and_can_be_skipped(tmp_path):
    shapes = pretrainer() | garden.dense("model/classification_heads/1/out_proj", 5)
    garden.save(tmp_path, garden.random(shapes))
    with pytest.raises(InputError, match=r"no row .*table \(2\):\s+model/class.*/1/out_proj"):
        read(tmp_path)
    assert read(tmp_path, skip=["model/classification_heads/1/.*"])[0].kind == "pretrain"


@pytest.mark.parametrize("num_layers", [1, 3])
def test_another_number_of_layers_than_the_config_s(num_layers, tmp_path):
    garden.save(tmp_path, garden.random(garden.numbered(num_layers=num_layers)))
    wanted = r"layer_1/attention/qkv" if num_layers == 1 else r"layer_with_weights-6/_attention"
    with pytest.raises(InputError, match=wanted):
        read(tmp_path)


def test_heads_of_another_number_are_refused(tmp_path):
    """[H A D] shows A, which the matrices of TensorFlow 1 do not."""
    shapes = {n: (H, D, A) if s == (H, A, D) else s for n, s in garden.numbered().items()}
    garden.save(tmp_path, garden.random(shapes))
    with pytest.raises(InputError, match="attention/qkv/kernel is"):
        read(tmp_path)


def write(kind, folder):
    given = samples.state_dict(kind, folder / "source")
    (folder / "target").mkdir()
    FORMAT.write(given, folder / "target")
    return given, folder / "target"


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind, tmp_path):
    wanted, target = write(kind, tmp_path)
    checkpoint = open_checkpoint(target)
    state_dict, _ = reading.read(checkpoint, kind=kind)
    assert (checkpoint.format.name, state_dict.kind) == ("model_garden", kind)
    samples.assert_equal_arrays(state_dict.arrays, wanted.arrays)
    assert state_dict.config == wanted.config
    with open(state_dict.vocab_file) as theirs, open(wanted.vocab_file) as ours:
        assert theirs.read() == ours.read()


HEAD_KEYS = {
    "encoder": {},
    "pretrain": {
        **{
            n.replace("s/bias", "s.Sbias"): s
            for n, s in garden.under("masked_lm", garden.MASKED_LM).items()
        },
        **garden.dense("next_sentence..pooler_dense", H),
        **garden.dense("model/classification_heads/0/out_proj", 2),
    },
    "classify": garden.dense("model/layer_with_weights-1/out_proj", harness.C)
    | garden.dense("sentence_prediction..pooler_dense", H),
    "tag": garden.dense("model/layer_with_weights-1", harness.C),
    "span": garden.dense("model/layer_with_weights-1/layer_with_weights-0", 2),
}


@pytest.mark.parametrize("kind", HEAD_KEYS)
def test_the_keys_are_those_that_model_garden_saves(kind, tmp_path):
    """As `tf.train.Checkpoint(model=..., **model.checkpoint_items)` of version 2.20 has them.

    But for the word embeddings of pre-training, which go there by the name of the masked LM head.
    """
    _, target = write(kind, tmp_path)
    assert garden.keys(target) == garden.numbered() | HEAD_KEYS[kind]


@pytest.mark.parametrize("layout", [garden.numbered, garden.attributes])
@pytest.mark.parametrize("root", ["encoder", "model"])
def test_objects_of_either_encoder_are_restored(layout, root, tmp_path):
    """Every variable of the program and every one of the file finds the other."""
    wanted, target = write("encoder", tmp_path)
    program = tf.train.Checkpoint()
    for name, shape in layout(root).items():
        *parents, last = name.split("/")
        setattr(garden.reach(program, parents), last, tf.Variable(tf.zeros(shape)))
    program.restore(str(target / "bert_model.ckpt")).assert_consumed()
    word = garden.reach(program, next(iter(layout(root))).split("/"))
    np.testing.assert_array_equal(word, wanted.arrays["encoder/embeddings/word"])


def test_the_directory_is_enough_of_a_path_for_tensorflow(tmp_path):
    _, target = write("encoder", tmp_path)
    assert tf.train.latest_checkpoint(target) == str(target / "bert_model.ckpt")


def test_what_model_garden_computes_otherwise():
    def notes(kind="encoder", **changes):
        config = harness.config(**changes)
        made = StateDict(config=config, arrays={}, kind=kind, source="")
        return " ".join(FORMAT.notes(made))

    assert notes() == ""
    assert "BertEncoder(inner_activation='gelu')" in notes(hidden_act="gelu_erf")
    assert "Model Garden uses 1e-12" in notes(layer_norm_eps=1e-5)
    assert "left to right" in notes(is_causal=True)
    assert "no multiple choice" in notes("choice")


KERNEL = "_transformer_layers/0/_attention_layer/_query_dense/kernel"


def test_the_table_has_every_name_of_an_encoder_and_its_shape():
    """As Model Garden 2.20 saves a `BertEncoderV2`."""
    shapes = {}
    for row in FORMAT.rows(harness.config()):
        if row.path.startswith("encoder/"):
            shape = harness_shape(row.path)
            parts = row.split(np.zeros(shape, np.float32))
            shapes.update(zip(row.names, (part.shape for part in parts), strict=True))
    assert shapes == garden.attributes()


def harness_shape(path):
    """Shape of a variable of our encoder, from the paper's sizes."""
    h, i = harness.H, harness.I
    ends = {
        "word": (harness.V, h),
        "position": (17, h),
        "type": (2, h),
        "qkv/kernel": (h, 3 * h),
        "qkv/bias": (3 * h,),
        "intermediate/kernel": (h, i),
        "intermediate/bias": (i,),
        "feed_forward/output/kernel": (i, h),
        "kernel": (h, h),
    }
    return next((shape for end, shape in ends.items() if path.endswith(f"/{end}")), (h,))


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("layer_with_weights-0/embeddings", "_embedding_layer/embeddings"),
        ("layer_with_weights-1/embeddings", "_position_embedding_layer/embeddings"),
        ("layer_with_weights-1/_position_embeddings", "_position_embedding_layer/embeddings"),
        ("layer_with_weights-2/embeddings", "_type_embedding_layer/embeddings"),
        ("layer_with_weights-3/gamma", "_embedding_norm_layer/gamma"),
        ("layer_with_weights-4/_attention_layer/_query_dense/kernel", KERNEL),
        ("layer_with_weights-15/_output_dense/bias", "_transformer_layers/11/_output_dense/bias"),
        ("layer_with_weights-16/kernel", "_pooler_layer/kernel"),
        ("layer_with_weights-28/bias", "_pooler_layer/bias"),
        (
            "layer_with_weights-5/_attention_output_dense/kernel",
            "_transformer_layers/1/_attention_layer/_output_dense/kernel",
        ),
    ],
)
def test_numbers_of_the_encoder_stand_for_attributes(theirs, ours):
    assert FORMAT.canonical_name(f"encoder/{theirs}") == f"encoder/{ours}"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("masked_lm/output_bias/bias", "masked_lm/bias"),
        ("masked_lm/dense/bias", "masked_lm/dense/bias"),
        ("next_sentence.pooler_dense/kernel", "encoder/_pooler_layer/kernel"),
        ("sentence_prediction.pooler_dense/bias", "encoder/_pooler_layer/bias"),
        ("model/classifier/dense/bias", "encoder/_pooler_layer/bias"),
        ("model/classification_heads/0/dense/kernel", "encoder/_pooler_layer/kernel"),
        (
            "model/classification/layer_with_weights-0/kernel",
            "model/classification_heads/0/out_proj/kernel",
        ),
        ("model/classifier/kernel", "model/classifier/out_proj/kernel"),
        ("model/classifier/layer_with_weights-0/bias", "model/classifier/out_proj/bias"),
        (
            "model/classification_heads/1/out_proj/bias",
            "model/classification_heads/1/out_proj/bias",
        ),
    ],
)
def test_heads_of_all_its_models(theirs, ours):
    assert FORMAT.canonical_name(theirs) == ours


@pytest.mark.parametrize(
    ("name", "is_weight"),
    [
        ("_CHECKPOINTABLE_OBJECT_GRAPH", False),
        ("save_counter", False),
        ("global_step", False),
        ("model/layer_with_weights-1/out_proj/bias/.OPTIMIZER_SLOT/optimizer/m", False),
        ("optimizer/_variables/3", False),
        ("optimizer/iter", False),
        ("keras_api/metrics/0/total", False),
        ("layer-0/.ATTRIBUTES/OBJECT_CONFIG_JSON", False),
        ("encoder/layer_with_weights-6/kernel (unused)", False),
        ("encoder/layer_with_weights-6/kernel", True),
        ("masked_lm/dense/kernel", True),
    ],
)
def test_what_is_no_weight(name, is_weight):
    assert coverage.matches(FORMAT.not_weights, name) != is_weight
