"""The model card says what files know of a model."""

import json
import os

import numpy as np

from export.version import card


def test_a_card_tells_task_scores_data_and_terms(cases, tmp_path):
    case = cases["classify", 1]
    directory = case.directory
    run = tmp_path / "run"
    (run / "training").mkdir(parents=True)
    (run / "flags.txt").write_text("--learning_rate=0.0001\n--train_batch_size=16\n--verbose=x\n")
    (run / "eval_results.txt").write_text("eval_accuracy = 0.875\nglobal_step = 7\n")
    (run / "training" / "identity.json").write_text('{"examples": "0123abcd"}')
    for name in ("bert_config.json", "model.json"):
        os.link(os.path.join(directory.path, name), run / name)
    moved = type(directory)(str(run), directory.config, directory.vocabulary, directory.metadata)
    served = type(case.served)(model=case.model, directory=moved, max_seq_length=31)
    (meta_graph,) = case.exported.saved_model.meta_graphs
    version = tmp_path / "1"
    card.write(str(version), served, "Apache-2.0", meta_graph.signature_def)

    found = json.loads((version / "assets.extra" / "model_card.json").read_text())
    assert (found["kind"], found["task"], found["license"]) == ("classify", "test", "Apache-2.0")
    assert found["labels"] == ["zero", "one", "two", "three", "vier"]
    assert found["scores"] == {"eval_accuracy": 0.875, "global_step": 7.0}
    assert found["training"] == {"learning_rate": "0.0001", "train_batch_size": "16"}
    assert found["training_data_sha256"] == "0123abcd"
    assert found["tokenizer"]["vocabulary_sha256"] == directory.vocabulary.sha256
    assert found["parameters"] == sum(np.size(x) for x in case.model.get_weights())
    assert found["signatures"]["ids"]["inputs"]["input_mask"] == "int32 [-1, -1]"
    page = (version / "assets.extra" / "model_card.md").read_text()
    assert "| Licence | Apache-2.0 |" in page
    assert "| eval_accuracy | 0.875 |" in page


def test_every_version_has_a_card_and_batching_parameters(cases):
    path = cases["regress", 2].exported.path
    with open(os.path.join(path, "assets.extra", "model_card.json")) as file:
        found = json.load(file)
    assert (found["license"], found["training_data_sha256"]) == ("not stated", None)
    assert (found["scores"], found["training"]) == ({}, {})
