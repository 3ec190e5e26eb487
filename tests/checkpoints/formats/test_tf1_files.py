import dataclasses
import json
import pathlib

import numpy as np
import pytest

from bert_tf.checkpoints import state_dict as contents_lib
from bert_tf.checkpoints.formats import tf1_files as lib
from bert_tf.checkpoints.formats import tf1_names
from bert_tf.checkpoints.formats.checkpoint import Checkpoint, describe
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from tests.checkpoints import samples
from tests.modeling import harness

TINY = pathlib.Path(__file__).parents[2] / "data" / "tiny-tf1"
NAMES = pathlib.Path(__file__).parents[2] / "data" / "released_names"


def write(given, folder):
    folder.mkdir()
    lib.write(given, str(folder))
    return folder


def test_the_files_are_those_of_a_released_checkpoint(tmp_path):
    given = samples.contents("pretrain", tmp_path / "given")
    folder = write(given, tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == [
        "bert_config.json",
        "bert_model.ckpt.data-00000-of-00001",
        "bert_model.ckpt.index",
        "vocab.txt",
    ]
    found = lib.open(lib.find(str(folder)))
    assert found.shapes["cls/seq_relationship/output_weights"] == (2, harness.H)
    assert found.shapes["bert/encoder/layer_0/attention/self/key/kernel"] == (harness.H,) * 2
    assert found.kind is None and found.do_lower_case is None


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("classify", {"output_weights": (harness.C, harness.H), "output_bias": (harness.C,)}),
        ("span", {"cls/squad/output_weights": (2, harness.H), "cls/squad/output_bias": (2,)}),
    ],
)
def test_task_heads(kind, names, tmp_path):
    folder = write(samples.contents(kind, tmp_path / "given"), tmp_path / "out")
    shapes = lib.open(lib.find(str(folder))).shapes
    assert {name: shape for name, shape in shapes.items() if not name.startswith("bert/")} == names


def test_a_conversion_tells_what_the_format_cannot(tmp_path):
    given = samples.contents("tag", tmp_path / "given")
    folder = write(given, tmp_path / "out")
    describe(str(folder), given)
    found = lib.open(lib.find(str(folder)))
    assert (found.kind, found.labels) == ("tag", samples.LABELS)
    assert (found.do_lower_case, found.num_texts) == (True, 1)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"kind": "tag", "labels": 3}'])
def test_a_damaged_description_of_a_conversion(text, tmp_path):
    folder = write(samples.contents("tag", tmp_path / "given"), tmp_path / "out")
    (folder / "conversion.json").write_text(text)
    with pytest.raises(InputError, match="conversion.json"):
        lib.open(lib.find(str(folder)))


def test_notes_say_what_the_released_code_computes_otherwise(tmp_path):
    given = samples.contents("encoder", tmp_path)
    assert lib.notes(given) == []
    config = dataclasses.replace(
        given.config, hidden_act="gelu_erf", layer_norm_eps=1e-5, is_causal=True
    )
    notes = " ".join(lib.notes(dataclasses.replace(given, config=config)))
    for part in ("gelu_erf", "layer_norm_eps is 1e-05", "left to right"):
        assert part in notes


def test_an_architecture_that_keeps_its_weights_in_the_same_format(tmp_path):
    lib.write_tensors(
        {"electra/embeddings/word_embeddings": [[1.0]]}, str(tmp_path / "bert_model.ckpt")
    )
    with pytest.raises(InputError, match="another architecture, ELECTRA"):
        lib.open(str(tmp_path / "bert_model.ckpt"))


@pytest.mark.parametrize(
    ("name", "vocab_size", "kind", "not_weights"),
    [
        ("chinese_L-12_H-768_A-12", 21128, "pretrain", ()),
        ("multi_cased_squad", 119547, "span", ("global_step",)),
    ],
)
def test_every_name_and_shape_of_real_checkpoints(name, vocab_size, kind, not_weights):
    """BERT-Base as released, with both heads, and fine-tuned by the released run_squad.py."""
    shapes = {n: tuple(s) for n, s in json.loads((NAMES / f"{name}.json").read_text()).items()}
    config = BertConfig(vocab_size=vocab_size)
    zeros = {n: np.broadcast_to(np.float32(0), shape) for n, shape in shapes.items()}
    checkpoint = Checkpoint("index", "tf1", config, None, shapes, zeros.get)
    found, report = contents_lib.read(checkpoint)
    assert found.kind == kind and report.not_weights == not_weights
    names = found.to_names(tf1_names)
    assert len(names) == {"pretrain": 206, "span": 201}[kind]
    assert {n: array.shape for n, array in names.items()} == {
        n: shape for n, shape in shapes.items() if n not in not_weights
    }


@pytest.mark.parametrize("end", ["", ".index", ".meta", ".data-00000-of-00001"])
def test_the_name_of_any_of_its_files(end):
    assert lib.find(f"{TINY / lib.PREFIX}{end}") == str(TINY / lib.PREFIX)
    assert lib.find(f"{TINY / lib.PREFIX}s{end}") is None
