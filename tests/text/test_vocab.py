import hashlib

import pytest

from bert_tf.errors import InputError
from bert_tf.text import vocab
from bert_tf.text.vocab import Vocabulary

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def test_ids_are_the_places_of_the_tokens():
    vocabulary = Vocabulary([*SPECIAL, "[unused1]", "the", "##s"])
    assert len(vocabulary) == 8
    assert vocabulary.tokens[7] == "##s"
    assert vocabulary.ids["the"] == 6
    special = vocabulary.pad_id, vocabulary.unk_id, vocabulary.cls_id, vocabulary.sep_id
    assert (*special, vocabulary.mask_id) == (0, 1, 2, 3, 4)


def test_special_ids_are_the_tokens_that_stand_for_no_text():
    vocabulary = Vocabulary([*SPECIAL, "[unused1]", "[", "]", "<S>", "<T>", "<", "a", "[a", "##]"])
    assert vocabulary.special_ids == {0, 1, 2, 3, 4, 5, 8, 9}


def test_special_tokens_may_stand_anywhere_but_for_padding():
    vocabulary = Vocabulary(["[PAD]", "a", "[MASK]", "[SEP]", "b", "[CLS]", "[UNK]"])
    assert (vocabulary.unk_id, vocabulary.cls_id, vocabulary.mask_id) == (6, 5, 2)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([*SPECIAL, "a", "b", "a"], r"twice: \['a'\]"),
        (["[PAD]", "[UNK]", "[CLS]", "a"], r"has no \[SEP\], \[MASK\]"),
        (["a", *SPECIAL], "id 0 is 'a'"),
        ([], r"\(0 tokens\)"),
    ],
)
def test_refuses_what_is_not_a_bert_vocabulary(tokens, message):
    with pytest.raises(InputError, match=message):
        Vocabulary(tokens)


@pytest.mark.parametrize(
    "data",
    ["[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nnaïve\n\u2028x\n", "[PAD] \r\n[UNK]\r\n[CLS]\r\n[SEP]"],
)
def test_reads_one_token_a_line(tmp_path, data):
    """Only a line feed ends a line; white space around a token is not part of it."""
    data += "" if data.endswith("\n") else "\r\n[MASK]\r\nnaïve\r\n\u2028x"
    path = tmp_path / "vocab.txt"
    path.write_bytes(data.encode("utf-8"))
    assert vocab.from_file(str(path)).tokens == (*SPECIAL, "naïve", "x")


@pytest.mark.parametrize(
    ("data", "message"),
    [(b"", "is empty"), (b"[PAD]\n\xff\n", "is not UTF-8"), (b"[PAD]\nthe\n", r"has no \[UNK\]")],
)
def test_names_the_file_it_cannot_use(tmp_path, data, message):
    path = tmp_path / "vocab.txt"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message) as error:
        vocab.from_file(str(path))
    assert str(path) in str(error.value)


def test_a_missing_file_is_named_with_its_flag(tmp_path):
    with pytest.raises(InputError, match="--vocab_file=.*does not exist"):
        vocab.from_file(str(tmp_path / "none.txt"))


def test_hash_does_not_depend_on_line_ends():
    expected = hashlib.sha256("".join(f"{token}\n" for token in SPECIAL).encode()).hexdigest()
    assert Vocabulary(SPECIAL).sha256 == expected
    assert Vocabulary([*SPECIAL, "a"]).sha256 != expected


def test_casing_is_seen_in_tokens_that_stand_for_text():
    assert not Vocabulary([*SPECIAL, "[unused1]", "<S>", "the"]).is_cased
    assert Vocabulary([*SPECIAL, "The"]).is_cased
    assert Vocabulary([*SPECIAL, "É"]).is_cased


def test_casing_must_fit():
    uncased, cased = Vocabulary([*SPECIAL, "the"]), Vocabulary([*SPECIAL, "The"])
    vocab.check_casing(uncased, do_lower_case=True)
    vocab.check_casing(cased, do_lower_case=False)
    with pytest.raises(InputError, match="--do_lower_case=false"):
        vocab.check_casing(cased, do_lower_case=True)
    with pytest.raises(InputError, match="--do_lower_case=true"):
        vocab.check_casing(uncased, do_lower_case=False)
