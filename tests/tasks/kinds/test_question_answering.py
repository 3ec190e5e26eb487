"""Passages to windows, and back from their logits to answers and scores."""

import dataclasses
import json

import numpy as np
import pytest

from bert_tf import features
from bert_tf.checkpoints.model_directory import ModelMetadata
from bert_tf.errors import InputError
from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.examples.readers import SquadLayout
from bert_tf.tasks import registry
from bert_tf.tasks.kinds.question_answering import QuestionAnswering
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "q", *"abcdefg"]
CLS, SEP, Q = 2, 3, 5
A, B, C, D, E, F, G = range(6, 13)
TOKENIZER = WordPieceTokenizer(Vocabulary(TOKENS), do_lower_case=True)
LENGTH = 8  # [CLS] q [SEP], four tokens of the context, [SEP]
V1 = SquadLayout()
V2 = SquadLayout(version_2_with_negative=True)
EXAMPLES = [
    SpanExample("one", "q", "a b c d e f g", (Answer("f", 10),)),
    SpanExample("two", "q", "a b", (Answer("a", 0), Answer("a b", 0))),
    SpanExample("none", "q", "c d", is_impossible=True),
]


def task(layout=V1, **settings):
    made = QuestionAnswering.new(layout, {"dev": "dev.json", "test": "dev.json"})
    return dataclasses.replace(made, doc_stride=3, max_query_length=1, **settings)


def logits_for(rows, *spans):
    """[2 T] for each row, high where `spans`, (row, start, end, score of each), say."""
    found = [np.zeros((2, LENGTH), np.float32) for _ in range(len(rows))]
    for row, start, end, score in spans:
        found[row][0, start] = found[row][1, end] = score
    return found


def test_a_long_passage_becomes_windows_of_which_those_with_the_answer_are_trained_on():
    rows = task().for_training().encode(EXAMPLES[:2], TOKENIZER, LENGTH)
    # The windows of the first question begin at a, d; f is in the second one.
    assert rows.word_ids == [[CLS, Q, SEP, D, E, F, G, SEP], [CLS, Q, SEP, A, B, SEP]]
    assert rows.type_ids == [[0, 0, 0, 1, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1]]
    assert rows.labels[features.START_POSITIONS.name].tolist() == [5, 3]
    assert rows.labels[features.END_POSITIONS.name].tolist() == [5, 3]


def test_windows_to_answer_are_all_there_and_have_no_labels():
    rows = task().encode(EXAMPLES[:2], TOKENIZER, LENGTH)
    assert [ids[3] for ids in rows.word_ids] == [A, D, A]
    assert not rows.labels
    assert [window.example_index for window in rows.windows] == [0, 0, 1]


def test_in_squad_2_windows_without_an_answer_point_at_cls():
    rows = task(V2).for_training().encode(EXAMPLES, TOKENIZER, LENGTH)
    assert rows.labels[features.START_POSITIONS.name].tolist() == [0, 5, 3, 0]


def test_a_share_of_the_windows_without_an_answer_is_kept_whatever_else_there_is():
    many = [SpanExample(f"id {n}", "q", "a b", is_impossible=True) for n in range(1009)]

    def kept(examples, rate):
        made = task(V2, unanswerable_window_rate=rate).for_training()
        return len(made.encode([*examples, EXAMPLES[1]], TOKENIZER, LENGTH)) - 1

    deviation = np.sqrt(1009 * 0.3 * 0.7)
    assert abs(kept(many, 0.3) - 1009 * 0.3) < 4 * deviation
    assert sum(kept([each], 0.3) for each in many[:97]) == kept(many[:97], 0.3)
    assert (kept(many, 0.0), kept(many, 1.0), kept(many, None)) == (0, 1009, 1009)


def test_scores_of_squad_1(tmp_path):
    given = task()
    rows = given.encode(EXAMPLES[:2], TOKENIZER, LENGTH)
    logits = logits_for(rows, (1, 5, 5, 9.0), (2, 4, 4, 9.0))  # "f" is right, "b" shares a word
    evaluation = given.evaluate(EXAMPLES[:2], rows, logits)
    # "b" against "a b": "a" is an article, so only "b" is left of it.
    assert evaluation.metrics == {"f1": 100.0, "exact_match": 100.0}
    (path, n_best) = given.write_predictions(str(tmp_path), "", EXAMPLES[:2], rows, logits)
    with open(path) as file:
        assert json.load(file) == {"one": "f", "two": "b"}
    assert n_best.endswith("nbest_predictions.json")


def test_the_threshold_of_squad_2_is_the_best_one_unless_it_is_given(tmp_path):
    given = task(V2)
    rows = given.encode(EXAMPLES, TOKENIZER, LENGTH)
    # No answer has score 0 everywhere. So the null score differences are -10, -6 and -2.
    logits = logits_for(rows, (1, 5, 5, 5.0), (2, 4, 4, 3.0), (3, 3, 3, 1.0))
    found = given.evaluate(EXAMPLES, rows, logits).metrics
    assert list(found)[0] == "f1"
    assert found["f1"] == found["exact"] == found["highest_f1"] == 100.0
    assert -6.0 <= found["null_score_diff_threshold"] < -2.0
    assert (found["total"], found["HasAns_total"], found["NoAns_total"]) == (3, 2, 1)
    assert given.settings_found(found) == {
        "null_score_diff_threshold": found["null_score_diff_threshold"]
    }
    fixed = dataclasses.replace(given, null_score_diff_threshold=0.0)
    scores = fixed.evaluate(EXAMPLES, rows, logits).metrics
    assert scores["exact"] == pytest.approx(200 / 3)
    assert scores["null_score_diff_threshold"] == 0.0
    assert fixed.settings_found(scores) == {}
    *_, odds = fixed.write_predictions(str(tmp_path), "", EXAMPLES, rows, logits)
    with open(odds) as file:
        assert json.load(file) == {"one": -10.0, "two": -6.0, "none": -2.0}


def test_where_no_answer_is_always_best_nothing_is_answered():
    given = task(V2)
    examples = [dataclasses.replace(EXAMPLES[2], question_id=str(n)) for n in range(3)]
    rows = given.encode(examples, TOKENIZER, LENGTH)
    found = given.evaluate(examples, rows, logits_for(rows, (0, 3, 3, 5.0))).metrics
    assert found["exact"] == 100.0
    assert found["null_score_diff_threshold"] < -10.0


def test_what_cannot_be_scored_or_written_is_refused():
    same = [dataclasses.replace(each, question_id="x") for each in EXAMPLES[:2]]
    for split in ("dev", "test"):
        with pytest.raises(InputError, match="dev.json has 2 questions but 1 different ids"):
            task().check(split, same)
    unanswered = [dataclasses.replace(each, answers=()) for each in EXAMPLES]
    with pytest.raises(InputError, match="no question of --predict_file=dev.json has a gold"):
        task().check("dev", unanswered)
    task().check("test", unanswered)


def test_a_model_remembers_how_it_is_asked():
    given = task(V2, null_score_diff_threshold=-1.5)
    metadata = given.metadata(do_lower_case=True, max_seq_length=LENGTH)
    assert metadata.kind == "span"
    assert metadata.task == "squad-2.0"
    assert metadata.settings == {
        "doc_stride": 3,
        "max_query_length": 1,
        "null_score_diff_threshold": -1.5,
    }
    again = registry.of_model(metadata)
    assert again.settings == given.settings
    assert again.version_2_with_negative
    older = ModelMetadata(kind="span", task="squad-1.1", do_lower_case=True, max_seq_length=LENGTH)
    assert registry.of_model(older).doc_stride == 128
    assert not registry.of_model(older).version_2_with_negative


def test_a_teacher_reads_the_same_windows():
    given = task().for_training()
    rows = given.encode(EXAMPLES[:2], TOKENIZER, LENGTH)
    given.check_teacher_rows(rows, rows)
    with pytest.raises(InputError, match="--teacher reads other windows"):
        other = dataclasses.replace(given, doc_stride=2)
        given.check_teacher_rows(rows, other.encode(EXAMPLES[:2], TOKENIZER, LENGTH))
    logits = [np.arange(2 * LENGTH, dtype=np.float32).reshape(2, LENGTH)] * 2
    found = given.teacher_features(rows, rows, logits)[features.TEACHER_TOKEN_LOGITS.name]
    assert [each.shape for each in found] == [(2, 8), (2, 6)]
    np.testing.assert_array_equal(found[1], logits[1][:, :6])
