"""Every head of Hugging Face transformers, loaded from what transformers saved.

`benchmarks/golden/golden_huggingface.py` wrote weights, config.json and expected values.
"""

import json
import pathlib

import numpy as np
import pytest
import safetensors.numpy

from bert_tf import checkpoints
from bert_tf.checkpoints import reading
from export.conversion import verify

FILE = pathlib.Path(__file__).parent / "huggingface.npz"
INPUTS = ("input_word_ids", "input_mask", "input_type_ids")
KINDS = {
    "encoder": "encoder",
    "encoder_tanh_gelu": "encoder",
    "pretraining": "pretrain",
    "masked_lm": "pretrain",
    "left_to_right": "pretrain",
    "next_sentence": "pretrain",
    "classify": "classify",
    "regress": "regress",
    "tag": "tag",
    "span": "span",
    "choice": "choice",
}


@pytest.fixture(scope="module")
def recorded():
    return np.load(FILE)


@pytest.fixture(scope="module")
def described(recorded):
    return json.loads(str(recorded["described"]))


@pytest.mark.parametrize("case", KINDS)
def test_a_checkpoint_of_transformers(case, recorded, described, tmp_path):
    arrays = {name: recorded[key] for name, key in described[case]["weights"].items()}
    safetensors.numpy.save_file(arrays, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(described[case]["config"]))
    checkpoint = checkpoints.open_checkpoint(tmp_path)
    found, report = reading.read(checkpoint)
    assert found.kind == KINDS[case] and not report.skipped
    if case in ("classify", "tag"):
        assert found.labels == ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")

    batch = {name: recorded[name].astype(np.int32) for name in INPUTS}
    ours = verify.outputs(verify.Side(checkpoint, found), batch)
    prefix = f"{case}/outputs/"
    wanted = {n.removeprefix(prefix): recorded[n] for n in recorded.files if n.startswith(prefix)}
    if case == "span":
        ours |= {"start_logits": ours["logits"][:, 0], "end_logits": ours["logits"][:, 1]}
    assert wanted.keys() <= ours.keys()
    real = batch["input_mask"].astype(bool)
    for name, values in wanted.items():
        mine = ours[name].reshape(values.shape)
        if values.shape[:2] == real.shape:  # padding is nobody's answer
            mine, values = mine[real], values[real]
        np.testing.assert_allclose(mine, values, rtol=0, atol=1e-5, err_msg=name)


def test_all_cases_are_tested(described):
    assert described.keys() == KINDS.keys()
