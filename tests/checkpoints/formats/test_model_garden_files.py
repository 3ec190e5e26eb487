import numpy as np
import pytest
import tensorflow as tf

from bert_tf.checkpoints import opening, variables
from bert_tf.checkpoints import state_dict as contents_lib
from bert_tf.checkpoints.formats import model_garden_files
from bert_tf.errors import InputError
from tests.checkpoints import garden, samples
from tests.modeling import harness

H, A, D = garden.H, garden.A, garden.D


def read(folder, **kwargs):
    return contents_lib.read(opening.open_checkpoint(folder), **kwargs)


def wrapped(head):
    """What a fine-tuned model has: the encoder in it, and a head that goes by two names."""
    return garden.numbered("model/layer_with_weights-0") | head


@pytest.mark.parametrize("layout", [garden.numbered, garden.attributes])
def test_every_array_of_an_encoder_arrives(layout, tmp_path):
    arrays = garden.save(tmp_path, garden.random(layout()))
    found, report = read(tmp_path)
    assert (found.kind, report.not_weights) == (
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
        np.testing.assert_array_equal(found.arrays[f"encoder/layer_1/{path}"], array)
    embeddings = list(arrays.values())[:3]
    for path, array in zip(("word", "position", "type"), embeddings, strict=True):
        np.testing.assert_array_equal(found.arrays[f"encoder/embeddings/{path}"], array)
    assert found.arrays.keys() == {p for p in variables.shapes(found.config) if p.startswith("enc")}


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
    found, _ = read(tmp_path)
    assert found.kind == kind
    kernel, bias = (arrays[name] for name in head)
    np.testing.assert_array_equal(found.arrays[f"{path}/kernel"], kernel)
    np.testing.assert_array_equal(found.arrays[f"{path}/bias"], bias)


def pretrainer():
    """The names that `checkpoint_items` and `model=` of a `BertPretrainerV2` lead to."""
    shapes = garden.numbered() | garden.under("masked_lm", garden.MASKED_LM)
    shapes |= garden.dense("next_sentence.pooler_dense", H)
    return shapes | garden.dense("model/classification_heads/0/out_proj", 2)


def test_pretraining_takes_the_pooler_that_was_trained(tmp_path):
    arrays = garden.save(tmp_path, garden.random(pretrainer()))
    found, report = read(tmp_path)
    assert found.kind == "pretrain"
    for path, name in {
        "encoder/pooler/kernel": "next_sentence.pooler_dense/kernel",
        "masked_lm/transform/kernel": "masked_lm/dense/kernel",
        "masked_lm/layer_norm/beta": "masked_lm/layer_norm/beta",
        "masked_lm/output_bias": "masked_lm/output_bias/bias",
        "next_sentence/kernel": "model/classification_heads/0/out_proj/kernel",
    }.items():
        np.testing.assert_array_equal(found.arrays[path], arrays[name])
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
    with pytest.raises(InputError, match=r"no row of the table \(2\):\s+model/class.*/1/out_proj"):
        read(tmp_path)
    assert read(tmp_path, skip=["model/classification_heads/1/.*"])[0].kind == "pretrain"


@pytest.mark.parametrize("num_layers", [1, 3])
def test_another_number_of_layers_than_the_config_s(num_layers, tmp_path):
    garden.save(tmp_path, garden.random(garden.numbered(num_layers=num_layers)))
    wanted = r"layer_1/attention/qkv" if num_layers == 1 else r"layer_with_weights-6/_attention"
    with pytest.raises(InputError, match=wanted):
        read(tmp_path)


def test_heads_of_another_number_are_refused(tmp_path):
    """[H A D] tells A, which the matrices of TensorFlow 1 do not."""
    shapes = {n: (H, D, A) if s == (H, A, D) else s for n, s in garden.numbered().items()}
    garden.save(tmp_path, garden.random(shapes))
    with pytest.raises(InputError, match="attention/qkv/kernel is"):
        read(tmp_path)


def write(kind, folder):
    found = samples.contents(kind, folder / "source")
    (folder / "target").mkdir()
    model_garden_files.write(found, folder / "target")
    return found, folder / "target"


@pytest.mark.parametrize("kind", variables.KINDS)
def test_round_trip(kind, tmp_path):
    wanted, target = write(kind, tmp_path)
    checkpoint = opening.open_checkpoint(target)
    found, _ = contents_lib.read(checkpoint, kind=kind)
    assert (checkpoint.format, found.kind) == ("model_garden", kind)
    samples.assert_equal_arrays(found.arrays, wanted.arrays)
    assert found.config == wanted.config
    with open(found.vocab_file) as theirs, open(wanted.vocab_file) as ours:
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
        made = contents_lib.Contents(config=config, arrays={}, kind=kind, source="")
        return " ".join(model_garden_files.notes(made))

    assert notes() == ""
    assert "BertEncoder(inner_activation='gelu')" in notes(hidden_act="gelu_erf")
    assert "Model Garden takes 1e-12" in notes(layer_norm_eps=1e-5)
    assert "left to right" in notes(is_causal=True)
    assert "no multiple choice" in notes("choice")
