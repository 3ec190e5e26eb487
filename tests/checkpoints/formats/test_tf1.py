import dataclasses
import json
import pathlib
import re

import numpy as np
import pytest

from bert_tf.checkpoints import reading
from bert_tf.checkpoints.formats import tf1
from bert_tf.checkpoints.formats.base import Checkpoint, write_conversion
from bert_tf.checkpoints.formats.tf1 import TensorFlow1
from bert_tf.checkpoints.model_directory import WEIGHTS_PREFIX
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.modeling import models
from tests.checkpoints import samples
from tests.modeling import harness

FORMAT = TensorFlow1()

TINY = pathlib.Path(__file__).parents[2] / "data" / "tiny-tf1"
NAMES = pathlib.Path(__file__).parents[2] / "data" / "released_names"


def write(given, folder):
    folder.mkdir()
    FORMAT.write(given, str(folder))
    return folder


def test_the_files_are_those_of_a_released_checkpoint(tmp_path):
    given = samples.state_dict("pretrain", tmp_path / "given")
    folder = write(given, tmp_path / "out")
    assert sorted(path.name for path in folder.iterdir()) == [
        "bert_config.json",
        "bert_model.ckpt.data-00000-of-00001",
        "bert_model.ckpt.index",
        "vocab.txt",
    ]
    checkpoint = FORMAT.open(FORMAT.find(str(folder)))
    assert checkpoint.shapes["cls/seq_relationship/output_weights"] == (2, harness.H)
    assert checkpoint.shapes["bert/encoder/layer_0/attention/self/key/kernel"] == (harness.H,) * 2
    assert checkpoint.kind is None and checkpoint.do_lower_case is None


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("classify", {"output_weights": (harness.C, harness.H), "output_bias": (harness.C,)}),
        ("span", {"cls/squad/output_weights": (2, harness.H), "cls/squad/output_bias": (2,)}),
    ],
)
def test_task_heads(kind, names, tmp_path):
    folder = write(samples.state_dict(kind, tmp_path / "given"), tmp_path / "out")
    shapes = FORMAT.open(FORMAT.find(str(folder))).shapes
    assert {name: shape for name, shape in shapes.items() if not name.startswith("bert/")} == names


def test_a_conversion_tells_what_the_format_cannot(tmp_path):
    given = samples.state_dict("tag", tmp_path / "given")
    folder = write(given, tmp_path / "out")
    write_conversion(str(folder), given)
    checkpoint = FORMAT.open(FORMAT.find(str(folder)))
    assert (checkpoint.kind, checkpoint.labels) == ("tag", samples.LABELS)
    assert (checkpoint.do_lower_case, checkpoint.num_texts) == (True, 1)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"kind": "tag", "labels": 3}'])
def test_a_damaged_description_of_a_conversion(text, tmp_path):
    folder = write(samples.state_dict("tag", tmp_path / "given"), tmp_path / "out")
    (folder / "conversion.json").write_text(text)
    with pytest.raises(InputError, match="conversion.json"):
        FORMAT.open(FORMAT.find(str(folder)))


def test_notes_say_what_the_released_code_computes_otherwise(tmp_path):
    given = samples.state_dict("encoder", tmp_path)
    assert FORMAT.notes(given) == []
    config = dataclasses.replace(
        given.config, hidden_act="gelu_erf", layer_norm_eps=1e-5, is_causal=True
    )
    notes = " ".join(FORMAT.notes(dataclasses.replace(given, config=config)))
    for part in ("gelu_erf", "layer_norm_eps is 1e-05", "left to right"):
        assert part in notes


def test_an_architecture_that_keeps_its_weights_in_the_same_format(tmp_path):
    tf1.write_tensors(
        {"electra/embeddings/word_embeddings": [[1.0]]}, str(tmp_path / "bert_model.ckpt")
    )
    with pytest.raises(InputError, match="another architecture, ELECTRA"):
        FORMAT.open(str(tmp_path / "bert_model.ckpt"))


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
    checkpoint = Checkpoint(
        path="index", format=FORMAT, shapes=shapes, read_array=zeros.get, config=config
    )
    state_dict, report = reading.read(checkpoint)
    assert state_dict.kind == kind and report.not_weights == not_weights
    names = FORMAT.arrays(state_dict)
    assert len(names) == {"pretrain": 206, "span": 201}[kind]
    assert {n: array.shape for n, array in names.items()} == {
        n: shape for n, shape in shapes.items() if n not in not_weights
    }


@pytest.mark.parametrize("end", ["", ".index", ".meta", ".data-00000-of-00001"])
def test_the_name_of_any_of_its_files(end):
    assert FORMAT.find(f"{TINY / WEIGHTS_PREFIX}{end}") == str(TINY / WEIGHTS_PREFIX)
    assert FORMAT.find(f"{TINY / WEIGHTS_PREFIX}s{end}") is None


LAYER = "bert/encoder/layer_{}/"


def layers(number):
    return harness.config(num_hidden_layers=number)


def names(table, tops):
    """Names in a file, of the rows whose variables start with one of `tops`."""
    return [name for row in table for name in row.names if row.path.startswith(tops)]


def test_base_has_206_names_with_both_pretraining_heads():
    """5 of the embeddings, 16 a layer, 2 of the pooler, 5 of masked LM, 2 of next sentence."""
    held = names(FORMAT.rows(layers(12)), ("encoder", "masked_lm", "next_sentence"))
    assert len(held) == len(set(held)) == 206 == 5 + 16 * 12 + 2 + 5 + 2


def test_a_layer_has_the_16_names_of_the_released_code():
    wanted = [f"attention/self/{p}/{k}" for p in ("query", "key", "value") for k in ("kernel",)]
    wanted += [f"attention/self/{p}/bias" for p in ("query", "key", "value")]
    for scope in ("attention/output/dense", "intermediate/dense", "output/dense"):
        wanted += [f"{scope}/kernel", f"{scope}/bias"]
    for scope in ("attention/output/LayerNorm", "output/LayerNorm"):
        wanted += [f"{scope}/gamma", f"{scope}/beta"]
    held = names(FORMAT.rows(layers(3)), "encoder/layer_2/")
    assert sorted(held) == sorted(LAYER.format(2) + name for name in wanted)


def test_names_of_task_heads():
    table = FORMAT.rows(layers(1))
    assert names(table, "classifier") == ["output_weights", "output_bias"]
    assert names(table, "span") == ["cls/squad/output_weights", "cls/squad/output_bias"]


@pytest.mark.parametrize(
    "model",
    [models.PretrainingModel, models.SpanModel, lambda c: models.ClassifierModel(c, 3)],
)
def test_every_variable_of_every_model_has_one_row(model):
    paths = [row.path for row in FORMAT.rows(harness.config())]
    assert len(set(paths)) == len(paths)
    assert {variable.path for variable in model(harness.config()).variables} <= set(paths)


@pytest.mark.parametrize(
    "name",
    [
        "global_step",
        "bert/embeddings/word_embeddings/adam_m",
        "cls/predictions/output_bias/adam_v",
        "output_weights/lamb_m",
        "bert/pooler/dense/kernel/Adam",
        "bert/pooler/dense/kernel/Adam_1",
        "beta1_power",
        "loss_scale",
        "good_steps",
    ],
)
def test_optimizer_state_is_not_weights(name):
    assert any(re.fullmatch(pattern, name) for pattern in FORMAT.not_weights)


def test_weights_are_not_optimizer_state():
    for name in names(FORMAT.rows(layers(2)), ""):
        assert not any(re.fullmatch(pattern, name) for pattern in FORMAT.not_weights)
