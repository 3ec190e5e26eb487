import dataclasses
import pathlib

import numpy as np
import pytest
import safetensors.numpy
import tensorflow as tf

from bert_tf import checkpoints
from bert_tf.checkpoints import saving
from bert_tf.checkpoints.formats.hugging_face import HuggingFace
from bert_tf.checkpoints.formats.keras_hub import KerasHub
from bert_tf.errors import InputError
from bert_tf.modeling import models
from bert_tf.modeling.encoder import Encoder
from tests.checkpoints import samples
from tests.modeling import harness

TINY = pathlib.Path(__file__).parent.parent / "data" / "tiny-tf1"
HEADS = (r"cls[/.](predictions|seq_relationship)[/.].*",)


@pytest.fixture(scope="module")
def tiny():
    return checkpoints.open_checkpoint(TINY)


def randomized(make, *args):
    return harness.randomize(make(harness.config(), *args))


def saved(model, folder):
    checkpoints.save(model, folder)
    return checkpoints.open_checkpoint(folder)


def hugging_face(model, folder, change=lambda arrays: None, tops=("",)):
    """Writes `model` under Hugging Face's names; `change` alters the dict of arrays."""
    arrays = {}
    values = {v.path: np.asarray(v.value) for v in model.variables if v.path.startswith(tops)}
    for row in HuggingFace().rows(model.config):
        if row.path in values:
            arrays.update(zip(row.names, row.split(values[row.path]), strict=True))
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    change(arrays)
    folder.mkdir()
    safetensors.numpy.save_file(arrays, folder / "model.safetensors")
    return checkpoints.open_checkpoint(folder)


def assert_equal_weights(one, other):
    assert [v.path for v in one.variables] == [v.path for v in other.variables]
    for a, b in zip(one.variables, other.variables, strict=True):
        np.testing.assert_array_equal(a.value, b.value)


def test_every_value_of_the_released_format_is_in_its_place(tiny):
    model = models.PretrainingModel(tiny.config)
    report = checkpoints.load(model, tiny)
    values = {v.path: np.asarray(v.value) for v in model.variables}
    for ours, theirs in {
        "encoder/embeddings/type": "bert/embeddings/token_type_embeddings",
        "encoder/layer_1/attention/output/kernel": (
            "bert/encoder/layer_1/attention/output/dense/kernel"
        ),
        "encoder/layer_0/feed_forward/output/bias": "bert/encoder/layer_0/output/dense/bias",
        "masked_lm/output_bias": "cls/predictions/output_bias",
    }.items():
        np.testing.assert_array_equal(values[ours], tiny.read(theirs))
    key = tiny.read("bert/encoder/layer_1/attention/self/key/kernel")
    np.testing.assert_array_equal(values["encoder/layer_1/attention/qkv/kernel"][:, 4:8], key)
    weights = tiny.read("cls/seq_relationship/output_weights")
    np.testing.assert_array_equal(values["next_sentence/kernel"], weights.T)
    assert set(report.loaded) == set(values)
    assert len(report.not_weights) == 139 - 46  # two slots for each of 46, and the step
    assert not report.fresh and not report.skipped


def test_heads_are_left_out_only_when_said(tiny):
    model = models.ClassifierModel(tiny.config, 3)
    before = model.get_weights()
    with pytest.raises(InputError) as error:
        checkpoints.load(model, tiny)
    for part in (
        "in the model, not in the file (2)",
        "classifier/kernel (from output_weights)",
        "in the file, not in the model (7)",
        "cls/seq_relationship/output_bias",
    ):
        assert part in str(error.value)
    for array, now in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(array, now)  # nothing was assigned

    report = checkpoints.load(model, tiny, skip=HEADS, fresh=("classifier/.*",))
    assert report.fresh == ("classifier/kernel", "classifier/bias")
    assert len(report.skipped) == 7
    assert len(report.loaded) == len(model.variables) - 2
    text = str(report)
    assert "Loaded 31 variables" in text
    assert "random as initialised: classifier/kernel, classifier/bias." in text
    assert "left out: cls/predictions/output_bias" in text


def test_the_encoder_alone(tiny):
    report = checkpoints.load(Encoder(tiny.config), tiny, skip=HEADS)
    assert all(path.startswith("encoder/") for path in report.loaded)


def test_fresh_permits_and_does_not_force(tmp_path):
    model = randomized(models.ClassifierModel, 3)
    checkpoint = saved(model, tmp_path / "a")
    copy = models.ClassifierModel(harness.config(), 3)
    assert checkpoints.load(copy, checkpoint, fresh=("classifier/.*",)).fresh == ()
    assert_equal_weights(copy, model)


def test_a_skipped_weight_must_be_permitted_to_stay_fresh(tmp_path):
    checkpoint = saved(randomized(models.SpanModel), tmp_path / "a")
    model = models.SpanModel(harness.config())
    with pytest.raises(InputError, match=r"not in the file \(2\):\n *span/kernel"):
        checkpoints.load(model, checkpoint, skip=("cls/.*",))
    report = checkpoints.load(model, checkpoint, skip=("cls/.*",), fresh=("span/.*",))
    assert report.fresh == ("span/kernel", "span/bias")


def test_part_of_a_joined_weight_is_never_enough(tiny):
    query = "bert/encoder/layer_0/attention/self/query/kernel"
    with pytest.raises(InputError, match="encoder/layer_0/attention/qkv/kernel"):
        checkpoints.load(
            models.PretrainingModel(tiny.config), tiny, skip=(query,), fresh=("encoder/.*",)
        )


def test_fewer_layers_than_the_file_must_be_said(tiny):
    config = dataclasses.replace(tiny.config, num_hidden_layers=1)
    model = Encoder(config)
    with pytest.raises(InputError, match=r"in the file, not in the model \(16\)"):
        checkpoints.load(model, tiny, skip=HEADS)
    report = checkpoints.load(model, tiny, skip=(*HEADS, "bert/encoder/layer_1/.*"))
    assert len(report.skipped) == 7 + 16


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("vocab_size", 17, "encoder/embeddings/word"),
        ("max_position_embeddings", 13, "encoder/embeddings/position"),
        ("type_vocab_size", 3, "encoder/embeddings/type"),
        ("intermediate_size", 11, "encoder/layer_0/feed_forward/intermediate/kernel"),
        ("hidden_size", 8, "encoder/pooler/kernel"),
    ],
)
def test_a_wrong_shape_names_the_field_of_the_config(tiny, field, value, path):
    model = models.PretrainingModel(dataclasses.replace(tiny.config, **{field: value}))
    with pytest.raises(InputError) as error:
        checkpoints.load(model, tiny)
    (line,) = [line for line in str(error.value).splitlines() if line.strip().startswith(path)]
    assert field in line and "in the file" in line and "in the model" in line


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("num_attention_heads", 2),
        ("hidden_act", "gelu_erf"),
        ("layer_norm_eps", 1e-5),
        ("is_causal", True),
    ],
)
def test_what_shapes_do_not_show_is_compared_too(tiny, field, value):
    model = models.PretrainingModel(dataclasses.replace(tiny.config, **{field: value}))
    with pytest.raises(InputError, match=f"{field} is .* in the checkpoint's config"):
        checkpoints.load(model, tiny)


def test_another_number_of_labels(tmp_path):
    checkpoint = saved(randomized(models.ClassifierModel, 3), tmp_path / "a")
    with pytest.raises(InputError, match=r"\[21, 3\] in the file .* \[21, 5\] .*number of labels"):
        checkpoints.load(models.ClassifierModel(harness.config(), 5), checkpoint)


@pytest.mark.parametrize(
    "make",
    [models.PretrainingModel, models.SpanModel, lambda c: models.ClassifierModel(c, 3), Encoder],
)
def test_hugging_face_files(tmp_path, make):
    model = randomized(make)
    copy = make(harness.config())
    checkpoints.load(copy, hugging_face(model, tmp_path / "hf"))
    assert_equal_weights(copy, model)


def test_hugging_face_kernels_are_transposed(tmp_path):
    checkpoint = hugging_face(randomized(Encoder), tmp_path / "hf")
    shape = checkpoint.shapes["bert.encoder.layer.0.intermediate.dense.weight"]
    assert shape == (harness.I, harness.H)


def test_hugging_face_files_of_the_bare_encoder_with_old_names_and_buffers(tmp_path):
    def change(arrays):
        for name in sorted(arrays):
            old = name.removeprefix("bert.").replace("LayerNorm.weight", "LayerNorm.gamma")
            arrays[old.replace("LayerNorm.bias", "LayerNorm.beta")] = arrays.pop(name)
        arrays["embeddings.position_ids"] = np.arange(17)[None]

    model, copy = randomized(Encoder), Encoder(harness.config())
    report = checkpoints.load(copy, hugging_face(model, tmp_path / "hf", change))
    assert_equal_weights(copy, model)
    assert report.not_weights == ("embeddings.position_ids",)


def test_tied_copies_are_recognised(tmp_path):
    def change(arrays):
        arrays["cls.predictions.decoder.weight"] = arrays["bert.embeddings.word_embeddings.weight"]
        arrays["cls.predictions.decoder.bias"] = arrays["cls.predictions.bias"]

    model, copy = randomized(models.PretrainingModel), models.PretrainingModel(harness.config())
    report = checkpoints.load(copy, hugging_face(model, tmp_path / "hf", change))
    assert_equal_weights(copy, model)
    assert set(report.not_weights) == set(HuggingFace.tied)


def test_the_only_copy_stands_for_the_weight(tmp_path):
    def change(arrays):
        arrays["cls.predictions.decoder.bias"] = arrays.pop("cls.predictions.bias")

    model, copy = randomized(models.PretrainingModel), models.PretrainingModel(harness.config())
    report = checkpoints.load(copy, hugging_face(model, tmp_path / "hf", change))
    assert_equal_weights(copy, model)
    assert report.not_weights == ()


def test_a_decoder_that_is_not_tied_is_an_error(tmp_path):
    def change(arrays):
        table = arrays["bert.embeddings.word_embeddings.weight"]
        arrays["cls.predictions.decoder.weight"] = table + 1

    checkpoint = hugging_face(randomized(models.PretrainingModel), tmp_path / "hf", change)
    with pytest.raises(InputError, match="decoder.weight and .*word_embeddings.weight differ"):
        checkpoints.load(models.PretrainingModel(harness.config()), checkpoint)


def test_a_file_without_pooler(tmp_path):
    """Hugging Face saves none with a span head."""
    model = randomized(models.SpanModel)
    tops = ("encoder/embeddings", "encoder/layer", "span")
    checkpoint = hugging_face(model, tmp_path / "hf", tops=tops)
    copy = models.SpanModel(harness.config())
    with pytest.raises(InputError, match="encoder/pooler/kernel"):
        checkpoints.load(copy, checkpoint)
    report = checkpoints.load(copy, checkpoint, fresh=("encoder/pooler/.*",))
    assert report.fresh == ("encoder/pooler/kernel", "encoder/pooler/bias")


def test_under_a_strategy(tmp_path):
    model = randomized(models.SpanModel)
    checkpoint = saved(model, tmp_path / "a")
    with tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"]).scope():
        copy = models.SpanModel(harness.config())
        checkpoints.load(copy, checkpoint)
    for variable, source in zip(copy.variables, model.variables, strict=True):
        for replica in variable.value.values:
            np.testing.assert_array_equal(replica, source.value)
    assert saving.to_arrays(copy).keys() == saving.to_arrays(model).keys()


def test_a_variable_that_the_format_has_no_name_for(tmp_path):
    given = samples.state_dict("pretrain", tmp_path / "given", without=("next_sentence",))
    (tmp_path / "out").mkdir()
    KerasHub().write(given, str(tmp_path / "out"))
    checkpoint = checkpoints.open_checkpoint(tmp_path / "out")
    model = models.SpanModel(given.config)
    with pytest.raises(InputError, match=r"not in the file \(2\):\s+span/bias\s+span/kernel"):
        checkpoints.load(model, checkpoint, skip=("masked_lm/.*",))
    report = checkpoints.load(model, checkpoint, skip=("masked_lm/.*",), fresh=("span/.*",))
    assert report.fresh == ("span/bias", "span/kernel")


@pytest.mark.parametrize(
    ("field", "flag"),
    [("vocab_size", "--vocab_subset="), ("max_position_embeddings", "--extend_positions=")],
)
def test_a_size_that_can_be_changed_names_the_flag(tiny, field, flag):
    model = models.PretrainingModel(dataclasses.replace(tiny.config, **{field: 19}))
    with pytest.raises(InputError, match=f"{field} differs .python -m export.checkpoint {flag}"):
        checkpoints.load(model, tiny)
