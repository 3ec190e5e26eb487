"""`fine_tune` gives the weights of run_classifier.py on the same rows, and its model directory."""

import csv
import os

import keras
import numpy as np
import pytest

from bert_tf import checkpoints, options
from bert_tf.checkpoints import model_directory
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.library import fine_tuning
from bert_tf.library.text_classifier import TextClassifier, TextRegressor
from bert_tf.training.finetuning import classifier_data

CONFIG = BertConfig(
    vocab_size=11,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=13,
)
TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "d", "e", "f"]
SHORT = {"num_train_epochs": 2.0, "train_batch_size": 3, "learning_rate": 0.01}
SHORT |= {"max_seq_length": 11}
TEXTS = ["a b", "c, d", "e f a", 'b "c"', "d", "e\nf"]
OTHERS = TEXTS[::-1]
LABELS = ["yes", "no", "no", "yes", "yes", "no"]
NUMBERS = [0.5, 1.5, -2.0, 3.25, 0.0, 1.0]


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    """A checkpoint of an encoder with its configuration and vocabulary."""
    folder = tmp_path_factory.mktemp("pretrained")
    metadata = model_directory.ModelMetadata(
        kind="pretrain", task="t", do_lower_case=True, max_seq_length=11
    )
    keras.utils.set_random_seed(7)
    model = model_directory.new_model(CONFIG, metadata)
    checkpoints.save(model, str(folder))
    (folder / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (folder / "bert_config.json").write_text(CONFIG.to_json())
    return str(folder)


def write(path, *columns):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows(zip(*columns, strict=True))
    return str(path)


def weights(folder, which):
    model = model_directory.ModelDirectory.open(str(folder)).build_model(which)
    return {variable.path: variable.numpy() for variable in model.variables}


def assert_same_weights(first, second):
    for which in ("best", "last"):
        ours, theirs = weights(first, which), weights(second, which)
        assert ours.keys() == theirs.keys()
        for path, value in ours.items():
            np.testing.assert_array_equal(value, theirs[path], err_msg=f"{which} {path}")


def test_classification_of_pairs_is_that_of_the_script(pretrained, tmp_path):
    columns = [["one", *TEXTS], ["two", *OTHERS], ["answer", *LABELS]]
    given = options.Classifier(
        **SHORT,
        init_checkpoint=pretrained,
        output_dir=str(tmp_path / "script"),
        do_train=True,
        do_eval=True,
        train_file=write(tmp_path / "train.csv", *columns),
        dev_file=write(tmp_path / "dev.csv", *(column[:4] for column in columns)),
        text_column="one",
        text_b_column="two",
        label_column="answer",
    )
    classifier_data.main(given)
    keras.config.set_dtype_policy("float32")
    model = fine_tuning.fine_tune(
        ((TEXTS, OTHERS), LABELS),
        dev=((np.array(TEXTS[:3]), OTHERS[:3]), LABELS[:3]),
        output_dir=tmp_path / "python",
        init_checkpoint=pretrained,
        **SHORT,
    )
    assert_same_weights(tmp_path / "script", tmp_path / "python")
    assert isinstance(model, TextClassifier)
    assert list(model.labels) == ["no", "yes"]
    answers = model((TEXTS[:2], OTHERS[:2]))
    assert {answer.label for answer in answers} <= {"no", "yes"}

    # The script predicts with what Python has trained.
    classifier_data.main(
        options.Classifier(
            init_checkpoint=pretrained,
            output_dir=str(tmp_path / "python"),
            do_predict=True,
            max_seq_length=11,
            test_file=write(tmp_path / "test.csv", *(column[:3] for column in columns[:2])),
            text_column="one",
            text_b_column="two",
        )
    )
    rows = (tmp_path / "python" / "test_results.tsv").read_text().splitlines()
    found = [[float(cell) for cell in row.split("\t")] for row in rows]
    wanted = [list(answer.probabilities.values()) for answer in answers]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_regression_goes_on_where_a_call_was_killed(pretrained, tmp_path, monkeypatch):
    before = keras.config.dtype_policy().name

    def tune(name, **changes):
        return fine_tuning.fine_tune(
            (TEXTS, NUMBERS),
            output_dir=str(tmp_path / name),
            init_checkpoint=pretrained,
            dtype="bfloat16",
            **SHORT | changes,
        )

    whole = tune("whole", save_checkpoints_steps=1)
    assert isinstance(whole, TextRegressor)
    assert keras.config.dtype_policy().name == before

    save = checkpoints.save
    monkeypatch.setattr(checkpoints, "save", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        tune("killed", save_checkpoints_steps=1)
    monkeypatch.setattr(checkpoints, "save", save)
    tune("killed", save_checkpoints_steps=1)
    assert_same_weights(tmp_path / "whole", tmp_path / "killed")
    with pytest.raises(InputError, match="learning_rate is 0.01 there and 0.02 here"):
        tune("whole", learning_rate=0.02)


@pytest.mark.parametrize(
    ("train", "changes", "error", "message"),
    [
        ((TEXTS, LABELS), {"learnin_rate": 1}, TypeError, "no option learnin_rate. Did you mean l"),
        ((TEXTS, LABELS), {"data_dir": "x"}, TypeError, "texts and labels, and no data_dir"),
        ((TEXTS, LABELS), {"do_train": True}, TypeError, "no option do_train"),
        ((TEXTS, LABELS), {"learning_rate": float("inf")}, InputError, "must be a finite number"),
        ((TEXTS, LABELS), {"output_dir": "gs://a/b"}, InputError, "gs:// are not supported"),
        ((TEXTS, LABELS), {"task_type": "rank"}, InputError, "task_type='rank' is unknown"),
        ((TEXTS, LABELS), {"dev": (TEXTS[:1], ["so"])}, InputError, "label 'so' of example 0"),
        ((TEXTS, LABELS), {"dev": ((TEXTS, TEXTS), LABELS)}, InputError, "1 text.* and dev 2"),
        ((TEXTS, LABELS[:5]), {}, ValueError, "6 texts and 5 labels"),
        ((TEXTS, ["yes"] * 6), {}, InputError, "one label only, 'yes'"),
        ((TEXTS, [*LABELS[:5], " "]), {}, InputError, "label of example 5 is empty"),
        ((TEXTS, [*NUMBERS[:5], float("nan")]), {}, InputError, "example 5 is not finite"),
        ((TEXTS, LABELS), {"task_type": "regress"}, InputError, "'yes' of example 0 is not a num"),
        (TEXTS, {}, TypeError, "must be a tuple"),
    ],
)
def test_wrong_arguments_are_named_and_leave_nothing(
    pretrained, tmp_path, train, changes, error, message
):
    output_dir = str(tmp_path / "out")
    values = {"output_dir": output_dir, "init_checkpoint": pretrained} | SHORT | changes
    with pytest.raises(error, match=message):
        fine_tuning.fine_tune(train, **values)
    assert not os.path.exists(output_dir)


def test_a_recipe_fills_in_what_is_not_given():
    model = {"bert_config_file": "c", "vocab_file": "v"}
    given = {"recipe": "mosbach2021", "learning_rate": 1e-5}
    found = fine_tuning._options(model | given, "out", None, is_scored=True)
    assert (found.num_train_epochs, found.learning_rate) == (20.0, 1e-5)
