"""Pre-training on records of every form that they come in."""

import json

import pytest

from bert_tf import options
from bert_tf.errors import InputError
from bert_tf.text.vocab import Vocabulary
from bert_tf.training import pretrain
from tests.reference import records

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
CONFIG = {
    "vocab_size": len(TOKENS),
    "hidden_size": 22,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 37,
    "max_position_embeddings": 31,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
SIZES = {"T": 17, "P": 3}


@pytest.fixture
def bert(tmp_path):
    (tmp_path / "bert_config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "vocab.txt").write_text("".join(f"{token}\n" for token in TOKENS))
    return tmp_path


def write_records(bert, name, sizes, **changes):
    values = [
        records.pretraining_values(
            [2, *range(5, 7 + number), 3, 8, 9, 3],
            [1, 2 + number // 2][: 1 + number % 2],
            [7, 11][: 1 + number % 2],
            type_ids=[0] * (4 + number) + [1] * 3,
            pair_label=number % 2,
            sizes=sizes,
        )
        for number in range(5)
    ]
    (bert / name).mkdir()
    path = records.write_file(bert / name / "a.tfrecord", values)
    if changes:
        lengths = {"max_seq_length": SIZES["T"], "max_predictions_per_seq": SIZES["P"]}
        records.enter([path], Vocabulary(TOKENS), **lengths | changes)
    return path


def results(bert, path, **changes):
    """eval_results.txt of a short run, as a dict of str."""
    values = {
        "bert_config_file": f"{bert}/bert_config.json",
        "output_dir": f"{path}.out",
        "input_file": path,
        "max_seq_length": SIZES["T"],
        "do_train": True,
        "do_eval": True,
        "num_train_steps": 3,
        "num_warmup_steps": 0,
        "train_batch_size": 2,
    }
    pretrain.run(options.PreTraining(**values | changes))
    with open(f"{path}.out/eval_results.txt", encoding="utf-8") as file:
        return dict(line.strip().split(" = ") for line in file)


def test_records_without_padding_train_the_same_model(bert):
    foreign = results(bert, write_records(bert, "foreign", SIZES), max_predictions_per_seq=3)
    assert float(foreign["loss"]) > 0
    padded = write_records(bert, "padded", SIZES, pad_to_max_seq_length=True)
    assert results(bert, padded) == foreign
    unpadded = write_records(bert, "unpadded", None, pad_to_max_seq_length=False)
    assert results(bert, unpadded) == foreign


def test_the_number_of_predictions_is_that_of_the_records_unless_given(bert):
    path = write_records(bert, "foreign", SIZES)
    results(bert, path)
    with pytest.raises(InputError, match="Give --max_predictions_per_seq=3"):
        results(bert, path, max_predictions_per_seq=20)
