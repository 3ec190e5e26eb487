import pytest

from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from bert_tf.vocabulary import extension
from bert_tf.vocabulary.extension import NewWord

TOKENS = ["[PAD]", "[unused0]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "[unused2]"]
TOKENS += ["<S>", "un", "##aff", "##able", "able", "!", "2"]


@pytest.fixture
def tokenizer():
    return WordPieceTokenizer(Vocabulary(TOKENS), do_lower_case=True)


def chosen(tokenizer, counts, num_words=9, min_frequency=1):
    return extension.choose_words(counts, tokenizer, num_words, min_frequency)


def test_slots_are_the_unused_tokens_in_the_order_of_their_ids():
    assert extension.free_slots(Vocabulary(TOKENS)) == [1, 2, 7]


def test_words_come_by_the_tokens_they_save(tokenizer):
    counts = {"unable": 5, "unaffable": 3, "able": 99, "unun": 1, "éü": 3}
    assert chosen(tokenizer, counts) == [
        NewWord("unaffable", 3, 3),  # 3 times 2
        NewWord("éü", 3, 0),  # unknown: 3 times its 2 letters
        NewWord("unable", 5, 2),  # 5 times 1
        NewWord("unun", 1, 0),  # 1 time 4: "##un" is not a token
    ]
    assert [new.word for new in chosen(tokenizer, counts, num_words=2)] == ["unaffable", "éü"]
    assert [new.word for new in chosen(tokenizer, counts, min_frequency=4)] == ["unable"]


def test_words_have_letters_and_digits_alone(tokenizer):
    counts = dict.fromkeys(["2unable", "22", "€un", "₂un", "\ud800un", "𝔘", "क\u093e", "北"], 1)
    assert {new.word for new in chosen(tokenizer, counts)} == {"2unable", "𝔘", "क\u093e", "北"}


def test_extending_leaves_every_other_id_alone():
    extended = extension.extended(Vocabulary(TOKENS), ["unaffable", "unable"])
    changed = {i: new for i, new in enumerate(extended.tokens) if new != TOKENS[i]}
    assert changed == {1: "unaffable", 2: "unable"}
    assert len(extended) == len(TOKENS)
    tokenizer = WordPieceTokenizer(extended, do_lower_case=True)
    assert tokenizer.encode("Unaffable unable able!") == [1, 2, 12, 13]
