"""What the report of question answering shows: counted by hand."""

import pytest

from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.tasks.evaluation import Part
from bert_tf.tasks.scoring import questions
from bert_tf.tasks.squad import NOTHING_TO_ANSWER, Candidate, Prediction

PASSAGE = "Ada met the red fox in Rome in 1999."


def question(question_id, text, *golds, passage=PASSAGE):
    answers = tuple(Answer(gold, passage.index(gold)) for gold in golds)
    return SpanExample(question_id, text, passage, answers, is_impossible=not golds)


def prediction(answer, probability, null_odds=None, other="", passage=PASSAGE):
    """`answer`, "" for none, of a probability; the n-best have `other` as well."""
    texts = [answer] if answer == other else [answer, other]
    return Prediction(
        answer,
        tuple(Candidate(text, 1.0, 0.0, 0.0) for text in texts),
        answer or other,
        null_odds,
        tuple(passage.index(text) if text else None for text in texts),
        shares=tuple(probability / (i + 1) for i in range(len(texts))),
    )


def table_of(evaluation, title):
    (found,) = [each for each in evaluation.tables if each.title == title]
    return found


def column(table, name):
    (index,) = [i for i, each in enumerate(table.columns) if each.name == name]
    return [row[index] for row in table.rows]


@pytest.fixture
def version_1():
    examples = [
        question("a", "Who met Ada?", "the red fox", "fox"),
        question("b", "When?", "1999"),
        question("c", "In which town, and how?", "Rome"),
        question("d", "How many?", "Ada met the red fox in Rome in 1999"),
    ]
    answers = [
        prediction("the red", 0.5, other="Rome"),
        prediction("in 1999", 0.75),
        prediction("Rome", 0.625),
        prediction("", 0.25),
    ]
    return questions.evaluation({}, examples, answers)


@pytest.fixture
def version_2():
    examples = [
        question("a", "Who met Ada?", "fox"),
        question("b", "Why?"),
        question("c", "What town?", "Rome"),
        question("d", "Whose?"),
    ]
    answers = [
        prediction("the red fox", 0.5, -1.0),
        prediction("red", 0.875, -2.0, other=""),
        prediction("", 0.75, 2.0, other="Rome"),
        prediction("", 0.625, NOTHING_TO_ANSWER),
    ]
    return questions.evaluation({"exact": 25.0}, examples, answers, threshold=0.5)


def test_the_metrics_are_kept(version_1, version_2):
    assert version_1.metrics == {}
    assert version_2.metrics == {"exact": 25.0}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("What's that?", "what"),
        ("WHO", "who"),
        ("To whom, and when?", "who"),
        ("Whose?", "who"),
        ("How much, and how many?", "how"),
        ("How many?", "how many"),
        ("Somewhat nowhere", "other"),
        ("Name the other one.", "other"),
        ("Wie viele Städte?", "other"),
        ("¿Cuándo?", "other"),
        ("", "other"),
    ],
)
def test_question_words(text, word):
    assert questions.question_word(text) == word


def test_scores_by_question_word(version_1, version_2):
    table = table_of(version_1, "Scores by question word")
    assert column(table, "Question word") == ["who", "when", "which", "how many"]
    assert column(table, "Questions") == [1, 1, 1, 1]
    assert column(table, "Exact match") == [0.0, 0.0, 1.0, 0.0]
    assert column(table, "F1") == pytest.approx([2 / 3, 2 / 3, 1.0, 0.0])
    table = table_of(version_2, "Scores by question word")
    assert table.rows == [
        ["what", 1, 0.0, 0.0],
        ["who", 2, 0.5, pytest.approx((2 / 3 + 1) / 2)],
        ["why", 1, 0.0, 0.0],
    ]


def test_other_languages_have_no_question_words():
    examples = [question("a", "Wo?", "Rome"), question("b", "¿Dónde?", "Rome")]
    found = questions.evaluation({}, examples, [prediction("Rome", 0.5)] * 2)
    assert "Scores by question word" not in [table.title for table in found.tables]


def test_scores_by_length_of_the_shortest_answer(version_1, version_2):
    table = table_of(version_1, "Scores by length of the right answer")
    assert column(table, "Words") == ["1", "9 and more"]
    assert column(table, "Questions") == [3, 1]
    assert column(table, "F1") == pytest.approx([(2 / 3 + 2 / 3 + 1) / 3, 0.0])
    table = table_of(version_2, "Scores by length of the right answer")
    assert [row[:3] for row in table.rows] == [["(no answer)", 2, 0.5], ["1", 2, 0.0]]


def test_bounds_of_the_lengths():
    words = PASSAGE.split()
    examples = [question(str(n), "?", " ".join(words[:n])) for n in range(1, 9)]
    found = questions.evaluation({}, examples, [prediction("Ada", 0.5)] * 8)
    table = table_of(found, "Scores by length of the right answer")
    assert [row[:2] for row in table.rows] == [["1", 1], ["2", 1], ["3 to 4", 2], ["5 to 8", 4]]


def test_the_surest_answers_of_version_1(version_1):
    """By the probability of the best answer: b, c, a; d has none."""
    table = table_of(version_1, "Scores of the surest answers")
    assert table.rows == [
        [0.75, 0.25, 0.0, pytest.approx(2 / 3)],
        [0.625, 0.5, 0.5, pytest.approx((2 / 3 + 1) / 2)],
        [0.5, 0.75, pytest.approx(1 / 3), pytest.approx((2 / 3 + 2 / 3 + 1) / 3)],
    ]


def test_scores_by_threshold_of_version_2(version_2):
    table = table_of(version_2, "Scores by threshold")
    assert column(table, "Threshold") == ["no answers", -2.0, -1.0, 0.5, 2.0]
    assert column(table, "Comment") == ["", "", "", "used", "best F1"]
    assert column(table, "Answered") == [0.0, 0.25, 0.5, 0.5, 0.75]
    assert column(table, "Exact match") == [0.5, 0.25, 0.25, 0.25, 0.5]
    f1 = [2, 1, 1 + 2 / 3, 1 + 2 / 3, 2 + 2 / 3]
    assert column(table, "F1") == pytest.approx([each / 4 for each in f1])
    assert column(table, "Precision") == ["", 0.0, 0.0, 0.0, pytest.approx(1 / 3)]
    assert column(table, "Recall") == [0.0, 0.0, 0.0, 0.0, 0.5]


def parts(*pairs):
    return tuple(Part(text, mark, joins=True) for text, mark in pairs)


def test_wrong_answers_are_marked_in_their_passages(version_1):
    table = table_of(version_1, "Worst errors")
    assert column(table, "Id") == ["b", "a", "d"]
    assert column(table, "Right answers")[1] == "the red fox / fox"
    assert column(table, "Answer") == ["in 1999", "the red", "(no answer)"]
    assert column(table, "Confidence") == [0.75, 0.5, 0.25]
    assert column(table, "F1") == pytest.approx([2 / 3, 2 / 3, 0.0])
    assert column(table, "Passage") == [
        parts(
            *(("Ada met the red fox in Rome ", ""), ("in ", "wrong"), ("1999", "right")),
            (".", ""),
        ),
        parts(
            *(("Ada met ", ""), ("the red", "right"), (" fox", "missed")),
            (" in Rome in 1999.", ""),
        ),
        parts(("Ada met the red fox in Rome in 1999", "missed"), (".", "")),
    ]


def test_right_answers_are_marked_in_their_passages(version_1, version_2):
    table = table_of(version_1, "Right answers")
    assert column(table, "Id") == ["c"]
    wanted = parts(("Ada met the red fox in ", ""), ("Rome", "right"), (" in 1999.", ""))
    assert column(table, "Passage") == [wanted]
    # d is right, but there is nothing to see.
    assert "Right answers" not in [each.title for each in version_2.tables]


def test_a_right_answer_may_have_other_words_or_stand_elsewhere():
    passage = "Rome, the Rome of Rome."
    examples = [
        question("a", "Where?", "Rome", passage=passage),
        question("b", "Where?", "Rome", passage=passage),
    ]
    first = prediction("the Rome", 0.75, passage=passage)
    second = Prediction("Rome", (Candidate("Rome", 1.0, 0.0, 0.0),), "Rome", None, (18,), (0.5,))
    found = questions.evaluation({}, examples, [first, second])
    assert column(table_of(found, "Right answers"), "Passage") == [
        parts(("Rome, ", ""), ("the Rome", "right"), (" of Rome.", "")),
        parts(("Rome, the Rome of ", ""), ("Rome", "right"), (".", "")),
    ]


def test_the_nearest_right_answer_is_the_one_that_was_missed():
    example = question("a", "When?", "1999", "red fox")
    found = questions.evaluation({}, [example], [prediction("fox in", 0.5)])
    assert column(table_of(found, "Worst errors"), "Passage") == [
        parts(
            *(("Ada met the ", ""), ("red ", "missed"), ("fox", "right"), (" in", "wrong")),
            (" Rome in 1999.", ""),
        )
    ]


def test_positions_that_are_not_known_or_wrong_are_not_marked():
    example = SpanExample("a", "When?", PASSAGE, (Answer("1999", 3),))
    answer = Prediction("2000", (Candidate("2000", 1.0, 0.0, 0.0),), "2000", shares=(0.5,))
    found = questions.evaluation({}, [example], [answer])
    assert column(table_of(found, "Worst errors"), "Passage") == [parts((PASSAGE, ""))]
    right = Prediction("1999", (Candidate("1999", 1.0, 0.0, 0.0),), "1999", shares=(0.5,))
    found = questions.evaluation({}, [question("a", "When?", "1999")], [right])
    assert column(table_of(found, "Right answers"), "Passage") == [parts((PASSAGE, ""))]


def test_calibration_is_of_the_answers_that_are_given(version_1, version_2):
    """Of 1.1: 0.75, 0.5 and 0.25 wrong, 0.625 right."""
    filled = [each for each in version_1.calibration.bins if each.num_answers]
    assert [(each.confidence, each.accuracy) for each in filled] == [
        *((0.25, 0.0), (0.5, 0.0), (0.625, 1.0), (0.75, 0.0))
    ]
    filled = [each for each in version_2.calibration.bins if each.num_answers]
    assert [(each.confidence, each.accuracy) for each in filled] == [
        *((0.5, 0.0), (0.625, 1.0), (0.75, 0.0), (0.875, 0.0))
    ]


def test_tables_are_short():
    examples = [question(str(i), "Where?", "Rome") for i in range(50)]
    answers = [prediction("red" if i % 2 else "Rome", 0.5) for i in range(50)]
    found = questions.evaluation({}, examples, answers)
    assert len(table_of(found, "Worst errors").rows) == 20
    assert len(table_of(found, "Right answers").rows) == 5
