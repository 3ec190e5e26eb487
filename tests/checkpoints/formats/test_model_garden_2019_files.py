import numpy as np
import pytest

from bert_tf.checkpoints import opening
from bert_tf.checkpoints import state_dict as contents_lib
from bert_tf.checkpoints.formats import tf1_files, tf1_names
from tests.checkpoints import garden, samples

# In the order of the released names of a layer, and of what stands before and after the layers.
LAYER = [
    *(
        f"attention_layer/{p}_dense/{k}"
        for k in ("kernel", "bias")
        for p in ("query", "key", "value")
    ),
    *("attention_output_dense/kernel", "attention_output_dense/bias"),
    *("attention_layer_norm/gamma", "attention_layer_norm/beta"),
    *("intermediate_dense/kernel", "intermediate_dense/bias"),
    *("output_dense/kernel", "output_dense/bias"),
    *("output_layer_norm/gamma", "output_layer_norm/beta"),
]
EMBEDDINGS = ["embedding_lookup/embeddings"] + [
    f"embedding_postprocessor/{name}"
    for name in ("position_embeddings", "type_embeddings")
    + ("output_layer_norm/gamma", "output_layer_norm/beta")
]
POOLER = ["pooler_transform/kernel", "pooler_transform/bias"]


def released(found):
    """(names, arrays) of an encoder in TensorFlow 1, in the order of its table."""
    arrays = found.to_names(tf1_names)
    table = [row for row in tf1_names.table(found.config) if row.path in found.arrays]
    ordered = [name for row in table for name in row.names]
    return ordered, [arrays[name] for name in ordered]


@pytest.mark.parametrize("root", ["model/layer_with_weights-0", "bert_layer"])
def test_an_object_based_encoder(root, tmp_path):
    wanted = samples.contents("encoder", tmp_path / "source")
    layers = [f"encoder/layers/{i}/{name}" for i in range(garden.L) for name in LAYER]
    theirs = [f"{root}/{name}" for name in (*EMBEDDINGS, *layers, *POOLER)]
    garden.save(tmp_path / "saved", dict(zip(theirs, released(wanted)[1], strict=True)))
    checkpoint = opening.open_checkpoint(tmp_path / "saved")
    found, report = contents_lib.read(checkpoint)
    assert (checkpoint.format, found.kind) == ("model_garden_2019", "encoder")
    assert len(report.not_weights) == 2
    samples.assert_equal_arrays(found.arrays, wanted.arrays)


def test_names_of_the_converter_and_released_heads(tmp_path):
    """The replacements that it makes, one after the other."""
    wanted = samples.contents("pretrain", tmp_path / "source")
    arrays = {}
    for name, array in zip(*released(wanted), strict=True):
        for old, new in (
            ("bert", "bert_model"),
            ("embeddings/word_embeddings", "word_embeddings/embeddings"),
            ("embeddings/token_type_embeddings", "embedding_postprocessor/type_embeddings"),
            ("embeddings/position_embeddings", "embedding_postprocessor/position_embeddings"),
            ("embeddings/LayerNorm", "embedding_postprocessor/layer_norm"),
            ("attention/self", "self_attention"),
            ("attention/output/dense", "self_attention_output"),
            ("attention/output/LayerNorm", "self_attention_layer_norm"),
            ("intermediate/dense", "intermediate"),
            ("output/dense", "output"),
            ("output/LayerNorm", "output_layer_norm"),
            ("pooler/dense", "pooler_transform"),
        ):
            name = name.replace(old, new)
        arrays[name] = np.ascontiguousarray(array)
    arrays["global_step"] = np.int64(7)
    (tmp_path / "saved").mkdir()
    tf1_files.write_tensors(arrays, str(tmp_path / "saved" / "bert_model.ckpt"))
    (tmp_path / "saved" / "bert_config.json").write_text(wanted.config.to_json())
    checkpoint = opening.open_checkpoint(tmp_path / "saved")
    found, report = contents_lib.read(checkpoint)
    assert checkpoint.format == "model_garden_2019"
    assert (found.kind, report.not_weights) == ("pretrain", ("global_step",))
    samples.assert_equal_arrays(found.arrays, wanted.arrays)
