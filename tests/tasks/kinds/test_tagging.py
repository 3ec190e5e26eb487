"""Sentences to rows with a tag for each word, and back from logits to tags."""

import numpy as np
import pytest

from bert_tf.examples.labelled import TokenExample
from bert_tf.examples.readers import TokenLayout
from bert_tf.examples.rows import Rows
from bert_tf.tasks.kinds.tagging import Tagging
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "##c", "d", "e"]
UNK, CLS, SEP, A, B, C, D, E = 1, 2, 3, 5, 6, 7, 8, 9
TASK = Tagging(
    name="own", summary="", layout=TokenLayout(), labels=("O", "B-PER", "I-PER", "B-LOC")
)


def encode(*examples, length=7, **changes):
    vocabulary = Vocabulary(TOKENS)
    task = Tagging(**vars(TASK) | changes)
    return task.encode(examples, WordPieceTokenizer(vocabulary, do_lower_case=True), length)


def labels(rows):
    return [ids.tolist() for ids in rows.labels["token_label_ids"]]


def test_the_first_wordpiece_of_a_word_carries_its_tag():
    rows = encode(TokenExample("0", ("bc", "a", "bcc"), ("B-PER", "O", "B-LOC")), length=11)
    assert rows.word_ids == [[CLS, B, C, A, B, C, C, SEP]]
    assert labels(rows) == [[-1, 1, -1, 0, 3, -1, -1, -1]]
    assert rows.type_ids == [[0] * 8]
    batch = rows.batch(np.array([0]))
    assert batch["token_label_ids"].tolist() == labels(rows)


def test_a_long_sentence_is_cut_between_words_and_every_word_keeps_its_tag():
    words, tags = ("a", "bc", "bcc", "d", "e"), ("O", "B-PER", "I-PER", "O", "B-LOC")
    rows = encode(TokenExample("0", words, tags), TokenExample("1", ("a",), ("B-LOC",)))
    assert rows.word_ids == [[CLS, A, B, C, SEP], [CLS, B, C, C, D, E, SEP], [CLS, A, SEP]]
    assert labels(rows) == [[-1, 0, 1, -1, -1], [-1, 2, -1, -1, 0, 3, -1], [-1, 3, -1]]


def test_a_word_longer_than_a_row_is_cut():
    rows = encode(TokenExample("0", ("bccccccc", "a"), ("B-PER", "O")))
    assert rows.word_ids == [[CLS, B, C, C, C, C, SEP], [CLS, A, SEP]]
    assert labels(rows) == [[-1, 1, -1, -1, -1, -1, -1], [-1, 0, -1]]


def test_a_word_without_wordpieces_is_unknown(capsys):
    rows = encode(TokenExample("0", ("a", "\x00\u200b"), ("O", "B-LOC")))
    assert rows.word_ids == [[CLS, A, UNK, SEP]]
    assert labels(rows) == [[-1, 0, 3, -1]]
    assert "1 words have no wordpiece" in capsys.readouterr().out


@pytest.mark.parametrize(
    "before, after, ids",
    [
        (("d", "e"), ("e", "d"), [E, A, B, E, D]),  # half of the 3 that are free, rounded down
        ((), ("e", "d", "e", "e"), [A, B, E, D, E]),
        (("e", "d", "e", "d"), (), [D, E, D, A, B]),
        (("d",), ("e",), [D, A, B, E]),
    ],
)
def test_context_of_the_document_fills_a_row_and_has_no_tags(before, after, ids):
    example = TokenExample("0", ("a", "b"), ("O", "B-LOC"), before, after)
    rows = encode(example, document_context=True)
    assert rows.word_ids == [[CLS, *ids, SEP]]
    (row,) = labels(rows)
    assert [id_ for id_, label in zip(rows.word_ids[0], row, strict=True) if label >= 0] == [A, B]
    assert encode(example).word_ids == [[CLS, A, B, SEP]]


def test_logits_to_tags_and_scores(tmp_path):
    examples = [
        TokenExample("0", ("a", "bc", "bcc", "d", "e"), ("O", "B-PER", "I-PER", "O", "B-LOC")),
        TokenExample("1", ("bc",), ("B-LOC",)),
    ]
    rows = encode(*examples)
    answers = iter([0, 1, 2, 0, 0, 3])  # B-LOC of the first sentence is missed
    logits = []
    for ids in rows.labels["token_label_ids"]:
        of_row = np.zeros((9, 4), np.float32)  # padded to the longest of a batch
        of_row[:, 2] = 7.0  # tokens without a tag do not count, whatever they say
        for position in np.flatnonzero(ids >= 0):
            of_row[position] = np.eye(4)[next(answers)] * 9.0
        logits.append(of_row)
    evaluation = TASK.evaluate(examples, rows, logits)
    # Two entities answered, both right; three wanted.
    assert evaluation.metrics["entity_precision"] == 1.0
    assert evaluation.metrics["entity_recall"] == pytest.approx(2 / 3)
    assert evaluation.metrics["entity_f1"] == pytest.approx(0.8)
    right, wrong = -np.log(np.exp(9) / (np.exp(9) + 3)), -np.log(1 / (np.exp(9) + 3))
    assert evaluation.metrics["loss"] == pytest.approx((5 * right + wrong) / 6)
    (path, *_) = TASK.write_predictions(str(tmp_path), "", examples, rows, logits)
    with open(path) as file:
        assert "bcc I-PER I-PER" in file.read()


def test_a_teachers_answers_go_to_the_same_words_in_other_rows():
    """The teacher has longer rows, so the sentence is cut elsewhere, or not at all."""
    sentence = TokenExample("0", ("a", "bc", "bcc", "d"), ("O", "B-PER", "I-PER", "O"))
    student, teacher = encode(sentence, length=6), encode(sentence, length=12)
    assert (len(student), len(teacher)) == (2, 1)
    logits = np.random.default_rng(3).normal(size=(12, 4)).astype(np.float32)
    found = TASK.teacher_features(student, teacher, [logits])["teacher_token_logits"]
    words = [logits[position] for position in (1, 2, 4, 7)]
    of_words = np.concatenate(
        [
            of_row[:, ids >= 0]
            for of_row, ids in zip(found, student.labels["token_label_ids"], strict=True)
        ],
        axis=1,
    )
    np.testing.assert_array_equal(of_words.T, words)
    rows = Rows(
        student.word_ids, student.type_ids, {**student.labels, "teacher_token_logits": found}
    )
    batch = rows.batch(np.array([1, 0]))
    assert batch["teacher_token_logits"].shape == (2, 4, 6)
    np.testing.assert_array_equal(batch["teacher_token_logits"][1, :, 1], words[0])
    assert not batch["teacher_token_logits"][
        batch["token_label_ids"][:, None].repeat(4, 1) < 0
    ].any()
    assert rows.digest() != student.digest()
