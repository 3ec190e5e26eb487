"""Flags of one layout are refused with the other."""

import pytest

from bert_tf import flagging
from bert_tf.errors import InputError
from bert_tf.options import QuestionSet

FILES = {"input_file": "in.json", "output_file": "out.json"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"layout": "triviaqa"}, "--layout=triviaqa needs --evidence_dir"),
        (
            {"layout": "triviaqa", "evidence_dir": "e", "context": "document"},
            "--context is for --layout=natural_questions, and this is --layout=triviaqa",
        ),
        (
            {"layout": "natural_questions", "evidence_dir": "e"},
            "--evidence_dir is for --layout=triviaqa",
        ),
        (
            {"layout": "triviaqa", "evidence_dir": "e", "max_context_words": 0},
            "--max_context_words=0 must be above 0",
        ),
    ],
)
def test_flags_that_do_not_go_together_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        flagging.make(QuestionSet, FILES | values)


def test_the_paper_s_number_of_words_is_the_default():
    """Devlin et al. 2019, section 4.2: the first 400 tokens of a document."""
    options = QuestionSet(layout="triviaqa", evidence_dir="e", **FILES)
    assert options.max_context_words == 400


def test_only_natural_questions_with_unanswerable_ones_are_squad_2_0():
    assert not QuestionSet(layout="triviaqa", evidence_dir="e", **FILES).may_be_unanswerable
    natural = QuestionSet(layout="natural_questions", **FILES)
    assert natural.may_be_unanswerable
    answered = QuestionSet(layout="natural_questions", keep_unanswerable=False, **FILES)
    assert not answered.may_be_unanswerable
