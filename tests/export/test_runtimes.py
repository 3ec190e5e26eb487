"""The command that writes files for other runtimes."""

import numpy as np
import pytest

from export import runtimes
from export.options import Runtimes
from export.served import runtime_check


@pytest.fixture(scope="module")
def trained(model_directory):
    """A model directory with weights, and the model."""
    import keras

    from bert_tf.checkpoints import saving
    from bert_tf.checkpoints.model_directory import new_model

    keras.utils.set_random_seed(19)
    directory = model_directory("classify", 2)
    model = new_model(directory.config, directory.metadata)
    saving.save(model, f"{directory.path}/last")
    return directory, model


def test_a_tensorflow_lite_file_gives_the_logits_of_the_model(trained, tmp_path, capsys):
    directory, model = trained
    runtimes.run(
        Runtimes(model_dir=directory.path, output_dir=str(tmp_path), runtime_format="tflite")
    )
    printed = capsys.readouterr().out
    assert f"Wrote {tmp_path}/model.tflite" in printed
    assert (tmp_path / "labels.txt").read_text().split() == list(directory.metadata.labels)
    assert (tmp_path / "vocab.txt").read_text().splitlines() == list(directory.vocabulary.tokens)
    if "is not installed" in printed:
        pytest.skip("pip install '.[runtimes]'")
    assert "100 % of 8 labels kept" in printed


def test_an_onnx_file_gives_the_logits_of_the_model(trained, tmp_path, capsys):
    pytest.importorskip("onnxruntime", reason="pip install '.[runtimes]'")
    directory, model = trained
    runtimes.run(Runtimes(model_dir=directory.path, output_dir=str(tmp_path)))
    assert "100 % of 8 labels kept" in capsys.readouterr().out
    run = runtime_check.onnx_runner(str(tmp_path / "model.onnx"))
    (batch,) = runtime_check.batches(directory, runtime_check.rows(directory, None))
    want = np.asarray(model(batch, training=False)["logits"])
    np.testing.assert_allclose(run(batch)["logits"], want, 1e-5, 1e-5)
