"""The output directory of a run is checked against the run that is there, before TensorFlow loads.

`check` itself is tested with what a run is set up from (test_setup.py).
"""

import dataclasses
import json

import pytest

from bert_tf import options
from bert_tf.checkpoints import model_directory
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.training import inputs

CONFIG = BertConfig(
    vocab_size=7,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
METADATA = model_directory.ModelMetadata(
    kind="regress", task="t", do_lower_case=True, max_seq_length=11
)


@pytest.fixture
def checked(tmp_path):
    """The checked inputs of a training whose --output_dir is out."""
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n")
    (tmp_path / "bert_config.json").write_text(CONFIG.to_json())
    given = options.TextClassification(
        bert_config_file=str(tmp_path / "bert_config.json"),
        vocab_file=str(tmp_path / "vocab.txt"),
        output_dir=str(tmp_path / "out"),
        do_train=True,
        learning_rate=2e-5,
    )
    return inputs.check(given)


def keep_identity(tmp_path, identity):
    (tmp_path / "out" / "training").mkdir(parents=True)
    (tmp_path / "out" / "training" / "identity.json").write_text(json.dumps(identity))


def test_a_directory_of_the_same_run_is_accepted_whatever_else_its_identity_has(checked, tmp_path):
    keep_identity(tmp_path, inputs.deciding_options(checked.options) | {"examples": "a digest"})
    assert inputs.prepare_directory(checked, METADATA).path == str(tmp_path / "out")
    with pytest.raises(InputError, match="examples is 'a digest' there and 'another' here"):
        inputs.check_identity(
            str(tmp_path / "out"),
            inputs.deciding_options(checked.options) | {"examples": "another"},
        )


def test_a_directory_of_another_run_is_refused_to_a_training_alone(checked, tmp_path):
    there = inputs.deciding_options(checked.options) | {"learning_rate": 1e-3, "dtype": "float16"}
    keep_identity(tmp_path, there)
    with pytest.raises(
        InputError, match="dtype is .*; learning_rate is 0.001 there and 2e-05 here"
    ):
        inputs.prepare_directory(checked, METADATA)
    predicting = dataclasses.replace(checked.options, do_train=False, do_predict=True)
    inputs.prepare_directory(dataclasses.replace(checked, options=predicting), METADATA)


def test_the_directory_of_a_grid_is_refused_to_a_training_alone(checked, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "grid.json").write_text("{}")
    with pytest.raises(InputError, match="holds the runs of a grid. Give --grid"):
        inputs.prepare_directory(checked, METADATA)
    predicting = dataclasses.replace(checked.options, do_train=False, do_predict=True)
    inputs.prepare_directory(dataclasses.replace(checked, options=predicting), METADATA)


def test_only_a_training_says_where_all_options_are(checked, tmp_path, capsys):
    inputs.announce(checked.options)
    assert f"all of them are in {tmp_path}/out/flags.txt:\n" in capsys.readouterr().out
    inputs.announce(dataclasses.replace(checked.options, do_train=False, do_eval=True))
    assert "flags.txt" not in capsys.readouterr().out
