"""Pre-training examples depend on seed, pass and document, and on nothing else."""

import random

import pytest

from bert_tf.examples import pairs
from bert_tf.examples.masking import Masker
from bert_tf.examples.pretraining import ExampleMaker
from bert_tf.text.vocab import Vocabulary

VOCABULARY = Vocabulary(
    ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{number}" for number in range(97))]
)


def make(seed=12345):
    return ExampleMaker(
        vocabulary=VOCABULARY,
        masker=Masker(VOCABULARY, 0.15, 7),
        max_seq_length=31,
        short_seq_prob=0.1,
        random_seed=seed,
    )


def pool():
    rng = random.Random(11)
    maker = make()
    return pairs.Pool(
        [
            maker.document(number, [[rng.randrange(5, 102) for _ in range(9)]] * 13, 0)
            for number in range(3)
        ]
    )


def test_form_of_an_example():
    for example in make().examples(pool(), 1, 0):
        word_ids, types = example.word_ids, example.type_ids
        first_sep = word_ids.index(VOCABULARY.sep_id)
        assert word_ids[0] == VOCABULARY.cls_id
        assert word_ids[-1] == VOCABULARY.sep_id
        assert word_ids.count(VOCABULARY.sep_id) == 2
        assert types == [0] * (first_sep + 1) + [1] * (len(word_ids) - first_sep - 1)
        assert len(word_ids) <= 31
        assert 1 <= len(example.positions) <= 7


def test_same_arguments_same_examples_in_any_order():
    maker, documents = make(), pool()
    forwards = [list(maker.examples(documents, index, 0)) for index in (0, 1, 2)]
    backwards = [list(maker.examples(documents, index, 0)) for index in (2, 1, 0)]
    assert forwards == backwards[::-1]


@pytest.mark.parametrize(
    ("seed", "pass_number", "index"), [(1, 0, 0), (12345, 1, 0), (12345, 0, 1)]
)
def test_other_arguments_other_examples(seed, pass_number, index):
    base = list(make().examples(pool(), 0, 0))
    other = list(make(seed).examples(pool(), index, pass_number))
    assert [e.positions for e in base] != [e.positions for e in other]
