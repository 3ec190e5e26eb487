import hashlib
import json

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
        ([*SPECIAL, "a", "b", "a"], r"duplicate tokens: \['a'\]"),
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


def tokenizer_json(path, ids, added=(), kind="WordPiece"):
    """Writes what matters here of a Hugging Face tokenizer.json; returns its path."""
    added = [{"id": index, "content": token, "special": True} for token, index in added]
    values = {"added_tokens": added, "model": {"type": kind, "vocab": ids}}
    path.write_text(json.dumps(values))
    return str(path)


def test_a_tokenizer_json_is_read_in_the_order_of_its_ids(tmp_path):
    ids = {token: index for index, token in enumerate([*SPECIAL, "the", "##s"])}
    shuffled = dict(sorted(ids.items()))
    path = tokenizer_json(tmp_path / "tokenizer.json", shuffled, [("[MASK]", 4), ("[NEW]", 7)])
    assert vocab.from_file(path).tokens == (*SPECIAL, "the", "##s", "[NEW]")
    vocab.copy(path, str(tmp_path / "vocab.txt"))
    assert (tmp_path / "vocab.txt").read_text() == "\n".join([*SPECIAL, "the", "##s", "[NEW]", ""])


def test_a_vocab_txt_is_copied_byte_for_byte(tmp_path):
    source = tmp_path / "given.txt"
    source.write_bytes("\r\n".join(SPECIAL).encode())
    vocab.copy(str(source), str(tmp_path / "vocab.txt"))
    assert (tmp_path / "vocab.txt").read_bytes() == source.read_bytes()


@pytest.mark.parametrize(
    ("ids", "kind", "message"),
    [
        ({"a": 0, "b": 2}, "WordPiece", "2 tokens have gaps or duplicates"),
        ({"a": 0}, "BPE", "of type 'BPE'; BERT's is WordPiece"),
        ([["a", 0.0, 3]], "WordPiece", "is not a tokenizer.json"),
    ],
)
def test_a_tokenizer_json_that_is_not_ours(tmp_path, ids, kind, message):
    with pytest.raises(InputError, match=message):
        vocab.from_file(tokenizer_json(tmp_path / "tokenizer.json", ids, kind=kind))


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"model": 3}'])
def test_a_damaged_tokenizer_json(tmp_path, text):
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(InputError, match="is not a tokenizer.json"):
        vocab.from_file(str(tmp_path / "tokenizer.json"))
