"""Presets written by hand with h5py, under names that keras-hub was seen to write."""

import dataclasses
import json
import pathlib
import re

import h5py
import numpy as np
import pytest

from bert_tf.checkpoints import open_checkpoint, reading
from bert_tf.checkpoints.formats.keras_hub import KerasHub
from bert_tf.errors import InputError
from bert_tf.modeling import models
from tests.checkpoints import samples
from tests.modeling import harness

FORMAT = KerasHub()

WRITTEN = ("encoder", "pretrain", "classify", "regress", "choice")
LAYER = "layers/transformer_encoder/"
QUERY = f"{LAYER}_self_attention_layer/query_dense/vars/0"


def sample(kind, folder, **changes):
    return samples.state_dict(kind, folder, without=("next_sentence",), **changes)


def write(kind, folder, **changes):
    """(directory of a preset that we wrote, `StateDict` of it)."""
    given = sample(kind, folder / "source")
    given = dataclasses.replace(given, **changes)
    target = folder / "preset"
    target.mkdir()
    FORMAT.write(given, str(target))
    return target, given


@pytest.fixture
def preset(tmp_path):
    """Directory of a classifier as keras-hub would have written it: without what we add."""
    directory, _ = write("classify", tmp_path)
    (directory / "metadata.json").unlink()
    return directory


def edit_json(path, change):
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


@pytest.mark.parametrize("kind", WRITTEN)
def test_what_is_written_is_read_again_bit_for_bit(kind, tmp_path):
    directory, given = write(kind, tmp_path)
    again, report = reading.read(open_checkpoint(directory))
    samples.assert_equal_arrays(again.arrays, given.arrays)
    assert again.config == given.config and again.do_lower_case is True
    assert pathlib.Path(again.vocab_file).read_bytes() == (
        pathlib.Path(given.vocab_file).read_bytes()
    )
    assert not report.skipped and not report.not_weights


def test_arrays_lie_where_and_as_keras_hub_has_them(tmp_path):
    directory, given = write("classify", tmp_path)
    h, a, d = harness.H, harness.A, harness.D
    qkv = given.arrays["encoder/layer_0/attention/qkv/kernel"]
    with h5py.File(directory / "model.weights.h5") as file:
        assert file[QUERY].dtype == np.float32
        np.testing.assert_array_equal(file[QUERY], qkv[:, :h].reshape(h, a, d))
        output = file[f"{LAYER}_self_attention_layer/output_dense/vars/0"]
        ours = given.arrays["encoder/layer_0/attention/output/kernel"]
        np.testing.assert_array_equal(output, ours.reshape(a, d, h))
    with h5py.File(directory / "task.weights.h5") as file:
        np.testing.assert_array_equal(
            file["layers/dense/vars/0"], given.arrays["classifier/kernel"]
        )


@pytest.mark.parametrize(
    ("kind", "task", "values"),
    [
        ("pretrain", "BertMaskedLM", {}),
        ("classify", "BertTextClassifier", {"num_classes": harness.C, "activation": "linear"}),
        ("regress", "BertTextClassifier", {"num_classes": 1}),
    ],
)
def test_descriptions_that_from_preset_follows(kind, task, values, tmp_path):
    directory, _ = write(kind, tmp_path)
    config = json.loads((directory / "config.json").read_text())
    assert config["registered_name"] == "keras_hub>BertBackbone"
    assert config["config"]["num_heads"] == harness.A
    described = json.loads((directory / "task.json").read_text())
    assert described["registered_name"] == f"keras_hub>{task}"
    assert described["config"]["backbone"] == config
    assert values.items() <= described["config"].items()
    tokenizer = json.loads((directory / "tokenizer.json").read_text())["config"]
    assert tokenizer["lowercase"] is True and tokenizer["strip_accents"] is True
    assert (directory / "assets/tokenizer/vocabulary.txt").is_file()


def test_an_encoder_has_no_task_and_without_a_vocabulary_no_tokenizer(tmp_path):
    directory, _ = write("encoder", tmp_path, vocab_file=None)
    held = {path.name for path in directory.iterdir()}
    assert held == {"config.json", "metadata.json", "model.weights.h5"}


@pytest.mark.parametrize("kind", ["span", "tag"])
def test_a_head_that_keras_hub_lacks_is_refused(kind, tmp_path):
    head = {"span": "span", "tag": "classifier"}[kind]
    with pytest.raises(InputError, match=rf"kind '{kind}'.*--skip='{head}/\.\*'"):
        FORMAT.write(sample(kind, tmp_path / "source"), str(tmp_path))


def test_next_sentence_prediction_is_refused(tmp_path):
    given = samples.state_dict("pretrain", tmp_path / "source")
    with pytest.raises(InputError, match="next_sentence/bias(.|\n)*--skip"):
        FORMAT.write(given, str(tmp_path))


@pytest.mark.parametrize(
    ("change", "said"),
    [({"hidden_act": "relu"}, "'relu'; keras-hub"), ({"is_causal": True}, "both sides")],
)
def test_an_encoder_that_keras_hub_cannot_compute_is_refused(change, said, tmp_path):
    given = sample("encoder", tmp_path / "source", config=harness.config(**change))
    with pytest.raises(InputError, match=said):
        FORMAT.write(given, str(tmp_path))


def test_the_config_that_keras_hub_cannot_say_is_remembered_until_it_saves(tmp_path):
    config = harness.config(hidden_act="gelu_erf", layer_norm_eps=1e-5)
    directory, _ = write("encoder", tmp_path, config=config)
    assert open_checkpoint(directory).config == config
    (directory / "metadata.json").write_text('{"keras_hub_version": "0.32.0"}')
    assert open_checkpoint(directory).config == harness.config()


@pytest.mark.parametrize("name", ["", "model.weights.h5", "task.weights.h5"])
def test_a_preset_is_found_by_its_directory_or_a_file(name, preset):
    assert FORMAT.find(str(preset / name)).rstrip("/") == str(preset)


def test_a_preset_is_found_by_a_shard(tmp_path):
    for name in ("model_00000.weights.h5", "model_0.weights.h5"):
        (tmp_path / name).touch()
    assert FORMAT.find(str(tmp_path / "model_00000.weights.h5")) == str(tmp_path)
    assert FORMAT.find(str(tmp_path / "model_0.weights.h5")) is None
    assert FORMAT.find(str(tmp_path / "model_00001.weights.h5")) is None


def test_layout_of_keras_2(preset):
    """Layers under the attribute of the model, projections under private names."""
    wanted, _ = reading.read(open_checkpoint(preset))
    with h5py.File(preset / "model.weights.h5", "a") as file:
        for part in ("query", "key", "value", "output"):
            for index in ("", "_1"):
                attention = f"layers/transformer_encoder{index}/_self_attention_layer"
                file.move(f"{attention}/{part}_dense", f"{attention}/_{part}_dense")
        file.move("layers", "_layer_checkpoint_dependencies")
    state_dict, _ = reading.read(open_checkpoint(preset))
    samples.assert_equal_arrays(state_dict.arrays, wanted.arrays)


def test_what_training_leaves_is_counted_and_not_read(preset):
    with h5py.File(preset / "task.weights.h5", "a") as file:
        file["optimizer/vars/0"] = np.int64(7)
        file["optimizer/vars/1"] = np.float32(1e-3)
    _, report = reading.read(open_checkpoint(preset))
    assert report.not_weights == ("task/optimizer/vars/0", "task/optimizer/vars/1")


def test_bfloat16_is_widened_exactly(preset):
    """1.5 is 0x3FC0 and -2 is 0xC000 in bfloat16, which HDF5 holds as two opaque bytes."""
    bits = np.array([0x3FC0, 0xC000], np.uint16)
    path = "layers/dense/vars/1"
    with h5py.File(preset / "model.weights.h5", "a") as file:
        del file[path]
        file[path] = np.resize(bits, harness.H).view("V2")
        file[path].attrs["dtype"] = "bfloat16"
    state_dict, _ = reading.read(open_checkpoint(preset))
    wanted = np.resize(np.array([1.5, -2.0], np.float32), harness.H)
    np.testing.assert_array_equal(state_dict.arrays["encoder/pooler/bias"], wanted)


def shard(directory, num_shards=3):
    """Splits model.weights.h5 as Keras does; the arrays of a layer may be in two files."""
    single = directory / "model.weights.h5"
    weight_map = {}
    with h5py.File(single) as file:
        names = []
        file.visititems(lambda n, i: names.append(n) if isinstance(i, h5py.Dataset) else None)
        for index, name in enumerate(sorted(names)):
            target = f"model_{index * num_shards // len(names):05}.weights.h5"
            with h5py.File(directory / target, "a") as part:
                part[name] = file[name][()]
            files = weight_map.setdefault("/" + name.rsplit("/", 1)[0], [])
            if target not in files:
                files.append(target)
    single.unlink()
    index = {"metadata": {"total_size": 1.0}, "weight_map": weight_map}
    (directory / "model.weights.json").write_text(json.dumps(index))


def test_shards(preset):
    wanted, _ = reading.read(open_checkpoint(preset))
    shard(preset)
    state_dict, _ = reading.read(open_checkpoint(preset))
    samples.assert_equal_arrays(state_dict.arrays, wanted.arrays)
    (preset / "model_00001.weights.h5").unlink()
    with pytest.raises(InputError, match="3 files; missing: model_00001.weights.h5"):
        open_checkpoint(preset)


def test_an_index_of_shards_that_points_elsewhere_is_refused(preset):
    shard(preset)
    index = preset / "model.weights.json"
    edit_json(index, lambda v: v["weight_map"].update({"/layers/dense/vars": "../other.h5"}))
    with pytest.raises(InputError, match=r"files in other directories: \.\./other.h5"):
        open_checkpoint(preset)
    edit_json(index, lambda v: v.pop("weight_map"))
    with pytest.raises(InputError, match="has no weight_map"):
        open_checkpoint(preset)


def cut(preset):
    path = preset / "model.weights.h5"
    path.write_bytes(path.read_bytes()[:-4096])


def link_elsewhere(preset):
    with h5py.File(preset / "model.weights.h5", "a") as file:
        del file["layers/dense/vars/0"]
        file["layers/dense/vars/0"] = h5py.ExternalLink("other.h5", "/x")


def values_elsewhere(preset):
    with h5py.File(preset / "model.weights.h5", "a") as file:
        del file["layers/dense/vars/1"]
        (preset / "raw").write_bytes(bytes(4 * harness.H))
        file.create_dataset(
            "layers/dense/vars/1", (harness.H,), "f4", external=[(str(preset / "raw"), 0, 84)]
        )


def claim_more_than_stored(preset):
    with h5py.File(preset / "model.weights.h5", "a") as file:
        del file["layers/dense/vars/0"]
        file.create_dataset("layers/dense/vars/0", (10**6, 10**6), "f4", chunks=(64, 64))


def lose_a_layer(preset):
    with h5py.File(preset / "model.weights.h5", "a") as file:
        del file["layers/transformer_encoder_1"]


def add_a_layer(preset):
    with h5py.File(preset / "model.weights.h5", "a") as file:
        file["layers/adapter/vars/0"] = np.zeros(3, np.float32)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (cut, "cannot be read as HDF5"),
        (link_elsewhere, "encoder/pooler/kernel"),
        (values_elsewhere, "points to values in another file"),
        (claim_more_than_stored, "declares 4000000000000 bytes and stores 0"),
        (lose_a_layer, "encoder/layer_1/attention/qkv/kernel"),
        (add_a_layer, "model/layers/adapter/vars/0"),
        (lambda preset: (preset / "model.weights.h5").unlink(), "has neither model.weights.h5"),
        (lambda preset: (preset / "config.json").unlink(), "no config.json to say"),
    ],
)
def test_a_damaged_preset(damage, said, preset):
    damage(preset)
    with pytest.raises(InputError, match=said):
        reading.read(open_checkpoint(preset))


def test_the_table_is_used_up(preset):
    """Every name of the table but those of the other head is in the files, and no other."""
    names = {n for row in FORMAT.rows(harness.config()) for n in row.names}
    assert set(open_checkpoint(preset).names) == {n for n in names if "masked_lm_head" not in n}


def test_skipping_the_head_leaves_the_encoder(preset):
    state_dict, report = reading.read(open_checkpoint(preset), skip=("task/.*",))
    assert state_dict.kind == "encoder"
    assert report.skipped == ("task/layers/dense/vars/0", "task/layers/dense/vars/1")


# What keras-hub 0.32 with Keras 3.15 saved of a backbone of two layers, as h5py lists it.
OUTSIDE = {"reversible_embedding": 1, "position_embedding": 1, "embedding": 1}
OUTSIDE |= {"layer_normalization": 2, "dense": 2}
INSIDE = {f"_self_attention_layer/{part}_dense": 2 for part in ("query", "key", "value", "output")}
INSIDE |= {f"_feedforward_{part}_dense": 2 for part in ("intermediate", "output")}
INSIDE |= {"_self_attention_layer_norm": 2, "_feedforward_layer_norm": 2}
BACKBONE = OUTSIDE | {
    f"{layer}/{part}": number
    for layer in ("transformer_encoder", "transformer_encoder_1")
    for part, number in INSIDE.items()
}
MASKED_LM = {
    "masked_lm_head": 1,
    "masked_lm_head/_intermediate_dense": 2,
    "masked_lm_head/_intermediate_layer_norm": 2,
}
CLASSIFIER = {"dense": 2}


def listed(file, groups):
    return {
        f"{file}/layers/{group}/vars/{number}"
        for group, count in groups.items()
        for number in range(count)
    }


def table(**changes):
    return FORMAT.rows(harness.config(**changes))


def names(tops, **changes):
    """Names of the rows whose variables start with one of `tops`."""
    return {n for row in table(**changes) for n in row.names if row.path.startswith(tops)}


@pytest.mark.parametrize(
    ("top", "wanted"),
    [
        ("encoder", listed("model", BACKBONE)),
        ("masked_lm", listed("task", MASKED_LM)),
        ("classifier", listed("task", CLASSIFIER)),
        (("span", "next_sentence"), set()),
    ],
)
def test_names_are_those_that_keras_hub_saved(top, wanted):
    assert names(top, num_hidden_layers=2) == wanted


@pytest.mark.parametrize(
    "model",
    [
        lambda c: models.PretrainingModel(c, has_next_sentence=False),
        lambda c: models.ClassifierModel(c, 3),
    ],
)
def test_every_variable_that_keras_hub_has_too_has_one_row(model):
    paths = [row.path for row in table()]
    assert len(set(paths)) == len(paths)
    assert {variable.path for variable in model(harness.config()).variables} <= set(paths)


def test_attention_has_an_axis_of_heads():
    h, a, d = harness.H, harness.A, harness.D
    shapes = {
        "attention/qkv/kernel": ((h, 3 * h), (h, a, d)),
        "attention/qkv/bias": ((3 * h,), (a, d)),
        "attention/output/kernel": ((h, h), (a, d, h)),
        "attention/output/bias": ((h,), (h,)),
    }
    rows = {row.path: row for row in table()}
    for path, (ours, theirs) in shapes.items():
        row = rows[f"encoder/layer_0/{path}"]
        assert {part.shape for part in row.split(np.zeros(ours))} == {theirs}


@pytest.mark.parametrize(
    ("older", "today"),
    [
        (
            "model/_layer_checkpoint_dependencies/embedding/vars/0",
            "model/layers/embedding/vars/0",
        ),
        (
            "model/layers/transformer_encoder/_self_attention_layer/_query_dense/vars/1",
            "model/layers/transformer_encoder/_self_attention_layer/query_dense/vars/1",
        ),
        (
            "model/layers/transformer_encoder/_feedforward_output_dense/vars/1",
            "model/layers/transformer_encoder/_feedforward_output_dense/vars/1",
        ),
        ("task/layers/dense/vars/0", "task/layers/dense/vars/0"),
    ],
)
def test_spelling_of_keras_2(older, today):
    assert FORMAT.canonical_name(older) == today


def test_what_training_leaves_is_no_weight():
    def is_weight(name):
        return not any(re.fullmatch(pattern, name) for pattern in FORMAT.not_weights)

    assert not is_weight("task/optimizer/vars/0")
    assert not is_weight("model/layers/dropout/seed_generator/vars/0")
    assert all(is_weight(name) for row in table() for name in row.names)
