"""run_squad.py in process: what a training writes, and the same scores when evaluated later."""

import dataclasses
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from bert_tf import options
from bert_tf.config import BertConfig
from bert_tf.examples.readers import SquadLayout
from bert_tf.modeling import losses, models
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.training.finetuning import squad_data

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
    squad_data.main(given)
    weights = tf.train.load_checkpoint(str(tmp_path / "out" / "last" / "bert_model.ckpt"))
    assert not weights.get_tensor("cls/squad/output_bias").any()  # has no effect, stays as it was
    assert weights.get_tensor("cls/squad/output_weights").any()
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
    squad_data.main(dataclasses.replace(given, do_train=False, do_predict=False))
    assert results.read_text() == trained
    squad_data.main(given)  # complete: nothing is trained, everything is answered again
    assert results.read_text() == trained
    assert "complete after step 4" in capsys.readouterr().out


def test_weights_without_effect_on_the_loss_are_not_trained():
    """What adds the same number to the logits of all tokens changes no softmax."""
    keras.utils.set_random_seed(3)
    model = models.SpanModel(CONFIG)
    rng = np.random.default_rng(3)
    ids = rng.integers(5, CONFIG.vocab_size, (5, 7)).astype(np.int32)
    batch = {"input_word_ids": ids, "input_mask": ids * 0 + 1, "input_type_ids": ids * 0}
    positions = tf.constant([0, 6, 2, 3, 3])

    def loss():
        outputs = model(batch)
        return losses.span(*tf.unstack(outputs["logits"], axis=1), positions, positions)[0]

    before = loss()
    task = QuestionAnswering.new(SquadLayout())
    ends = task.without_effect(CONFIG.num_hidden_layers)
    changed = [v for v in model.trainable_variables if v.path.endswith(ends)]
    assert len(changed) == len(ends) == 2
    for variable in changed:
        variable.assign(variable + rng.normal(size=variable.shape))
    np.testing.assert_allclose(loss(), before, rtol=1e-5)
