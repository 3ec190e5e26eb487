"""run_squad.py in process: records, a student, an ensemble, and the threshold of SQuAD 2.0."""

import json
import os

import pytest
import tensorflow as tf

from bert_tf import flagging
from bert_tf.checkpoints import model_directory
from bert_tf.config import BertConfig
from bert_tf.errors import InputError
from bert_tf.options import QuestionAnswering
from bert_tf.training.finetuning import squad_data

CONFIG = BertConfig(
    vocab_size=13,
    hidden_size=6,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=31,
)
TOKENS = "[PAD] [UNK] [CLS] [SEP] [MASK] who wrote what ann bob books letters .".split()


def question(number, who, what, answer):
    context = f"{who} wrote {what} . " * 5  # more than a window
    answers = [{"text": answer, "answer_start": context.index(answer)}] if answer else []
    asked = {"id": str(number), "question": f"who wrote {what}", "answers": answers}
    return {"context": context, "qas": [asked | {"is_impossible": not answer}]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A directory with questions, some without an answer, and a configuration."""
    made = tmp_path_factory.mktemp("questions")
    (made / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (made / "config.json").write_text(CONFIG.to_json())
    paragraphs = [
        question(number, who, what, who if number % 3 else "")
        for number, (who, what) in enumerate([("ann", "books"), ("bob", "letters")] * 4)
    ]
    document = {"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]}
    (made / "questions.json").write_text(json.dumps(document))
    return made


TRAINING = {
    "version_2_with_negative": True,
    "max_query_length": 5,
    "doc_stride": 7,
    "do_train": True,
    "do_eval": True,
    "do_predict": True,
    "train_batch_size": 7,
    "num_train_epochs": 1.0,
    "num_micro_batches": 1,
    "learning_rate": 1e-3,
}


def options(folder, **flags):
    values = {
        "bert_config_file": str(folder / "config.json"),
        "vocab_file": str(folder / "vocab.txt"),
        "train_file": str(folder / "questions.json"),
        "predict_file": str(folder / "questions.json"),
        "max_seq_length": 17,
    }
    return flagging.make(QuestionAnswering, values | flags)


def run(folder, **flags):
    squad_data.main(options(folder, **flags))


def train(folder, name, **flags):
    """Trains, and returns the directory."""
    run(folder, output_dir=str(folder / name), **TRAINING | flags)
    return folder / name


def weights(directory):
    reader = tf.train.load_checkpoint(os.path.join(directory, "last", "bert_model.ckpt"))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def read(path):
    return json.loads(path.read_text())


def test_questions_from_training_to_an_ensemble(folder, capsys):
    first = train(folder, "first")
    printed = capsys.readouterr().out
    assert "8 training examples in" in printed
    settings = read(first / "model.json")["settings"]
    threshold = settings["null_score_diff_threshold"]
    assert settings == {
        "doc_stride": 7,
        "max_query_length": 5,
        "null_score_diff_threshold": threshold,
    }
    odds, answers = read(first / "null_odds.json"), read(first / "predictions.json")
    assert {key for key, text in answers.items() if not text} == {
        key for key, value in odds.items() if value > threshold
    }
    results = dict(
        line.split(" = ") for line in (first / "eval_results.txt").read_text().splitlines()
    )
    assert float(results["best_null_score_diff_threshold"]) == pytest.approx(threshold)
    assert results["best_f1"] == results["best_highest_f1"]

    # The model says how it is asked, whatever the flags of the training were.
    (first / "predictions.json").unlink()
    run(folder, output_dir=str(first), do_predict=True)
    assert read(first / "predictions.json") == answers
    run(folder, output_dir=str(first), do_predict=True, null_score_diff_threshold=-1e9)
    assert set(read(first / "predictions.json").values()) == {""}

    student = train(folder, "student", teacher=str(first), random_seed=2)
    assert "Teacher: " in capsys.readouterr().out
    learned = weights(student)
    assert any((learned[name] != value).any() for name, value in weights(first).items())
    with pytest.raises(InputError, match="--teacher reads other windows than the student"):
        train(folder, "other", teacher=str(first), doc_stride=5)

    both = folder / "both"
    run(folder, output_dir=str(both), ensemble=f"{first},{student}", do_predict=True)
    metadata = model_directory.read_metadata(str(both))
    assert len(metadata.settings["members"]) == 2
    assert read(both / "null_odds.json").keys() == odds.keys()


def test_records_hold_the_windows_of_the_questions(folder):
    def rows(**flags):
        given = options(folder, output_dir=str(folder / "streamed"), **TRAINING | flags)
        ((only,),) = [squad_data.read(given).splits["train"]]
        return only.rows

    in_memory, streamed = rows(), rows(stream_records=True)
    assert len(in_memory) > 8
    assert streamed.digest() == in_memory.digest()
    few, streamed = rows(max_train_examples=3), rows(max_train_examples=3, stream_records=True)
    assert len(few) < len(in_memory)
    assert streamed.digest() == few.digest()
