"""run_squad.py in process: what a training writes, and the same scores when evaluated later."""

import dataclasses
import json

import pytest

from bert_tf import options
from bert_tf.config import BertConfig
from bert_tf.training import squad

CONFIG = BertConfig(
    vocab_size=13,
    hidden_size=6,
    num_hidden_layers=1,
    num_attention_heads=2,
    intermediate_size=5,
    max_position_embeddings=31,
)
TOKENS = "[PAD] [UNK] [CLS] [SEP] [MASK] who wrote what ann bob books letters .".split()


@pytest.fixture
def given(tmp_path):
    """Options of a short training on 7 questions."""
    (tmp_path / "vocab.txt").write_text("\n".join(TOKENS) + "\n")
    (tmp_path / "config.json").write_text(CONFIG.to_json())
    paragraphs = [
        {
            "context": f"{who} wrote {what}.",
            "qas": [
                {
                    "id": str(number),
                    "question": f"who wrote {what}",
                    "answers": [{"text": who, "answer_start": 0}],
                }
            ],
        }
        for number, (who, what) in enumerate([("ann", "books"), ("bob", "letters")] * 3)
    ]
    data = {"version": "1.1", "data": [{"title": "t", "paragraphs": paragraphs}]}
    path = tmp_path / "questions.json"
    path.write_text(json.dumps(data))
    return options.QuestionAnswering(
        bert_config_file=str(tmp_path / "config.json"),
        vocab_file=str(tmp_path / "vocab.txt"),
        output_dir=str(tmp_path / "out"),
        train_file=str(path),
        predict_file=str(path),
        do_train=True,
        do_eval=True,
        do_predict=True,
        train_batch_size=4,
        num_train_epochs=2.0,
        num_micro_batches=1,
        learning_rate=1e-3,
        max_seq_length=29,
        max_query_length=7,
    )


def test_evaluated_later_the_scores_are_those_of_the_training(given, tmp_path, capsys):
    squad.run(given)
    results = tmp_path / "out" / "eval_results.txt"
    trained = results.read_text()
    names = [line.split(" = ")[0] for line in trained.splitlines()]
    assert names == [
        "best_exact_match",
        "best_f1",
        "best_global_step",
        "exact_match",
        "f1",
        "global_step",
    ]
    assert "global_step = 4\n" in trained
    answers = json.loads((tmp_path / "out" / "predictions.json").read_text())
    assert len(answers) == 6
    report = (tmp_path / "out" / "report.html").read_text()
    assert "Exact match" in report

    results.unlink()
    squad.run(dataclasses.replace(given, do_train=False, do_predict=False))
    assert results.read_text() == trained
    squad.run(given)  # complete: nothing is trained, everything is answered again
    assert results.read_text() == trained
    assert "complete after step 4" in capsys.readouterr().out
