"""Lines of a file to rows, as the released extract_features.py reads them."""

import gzip
import hashlib

import pytest

from bert_tf.errors import InputError
from bert_tf.extraction import lines
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c", "|")
TOKENIZER = WordPieceTokenizer(Vocabulary(TOKENS), do_lower_case=True)


def tokens(path, max_seq_length=11, first=0):
    """(number, tokens, types, whether it is cut) of every row."""
    return [
        (row.number, " ".join(TOKENIZER.tokens(row.word_ids)), row.type_ids, row.is_cut)
        for row in lines.rows(str(path), TOKENIZER, max_seq_length, first)
    ]


@pytest.mark.parametrize(
    ("line", "texts"),
    [
        ("a b", ("a b", None)),
        ("a ||| b", ("a", "b")),
        ("  a |||  b \r\n", ("a", " b")),
        ("a ||| b ||| c", ("a ||| b", "c")),  # the first group of the pattern is greedy
        ("a |||", ("a |||", None)),
        ("a|||b", ("a|||b", None)),
        ("", ("", None)),
        (" ", ("", None)),
    ],
)
def test_a_line_is_a_text_or_a_pair(line, texts):
    assert lines.split(line.encode()) == texts


def test_rows(tmp_path):
    path = tmp_path / "in.txt"
    path.write_bytes(b"\xef\xbb\xbfA b\n\na ||| b c\na ||| \x01 \nc\xff")
    wanted = [
        (0, "[CLS] a b [SEP]", [0] * 4, False),
        (1, "[CLS] [SEP]", [0] * 2, False),
        (2, "[CLS] a [SEP] b c [SEP]", [0] * 3 + [1] * 3, False),
        (3, "[CLS] a [SEP]", [0] * 3, False),  # a second text without a token is none
        (4, "[CLS] c [SEP]", [0] * 3, False),  # what is not UTF-8 is ignored
    ]
    assert tokens(path) == wanted
    assert tokens(path, first=3) == wanted[3:]


def test_long_texts_are_cut_the_longer_one_first(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("a b c a\na a a ||| b\na ||| b\n")
    assert tokens(path, 5) == [
        (0, "[CLS] a b c [SEP]", [0] * 5, True),
        (1, "[CLS] a [SEP] b [SEP]", [0, 0, 0, 1, 1], True),
        (2, "[CLS] a [SEP] b [SEP]", [0, 0, 0, 1, 1], False),
    ]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize(("text", "count"), [(b"a\n\nb", 3), (b"a\nb\n", 2), (b"\n", 1)])
def test_a_survey_counts_lines(text, count, compress, tmp_path):
    path = tmp_path / ("in.txt" if compress is bytes else "in.txt.gz")
    path.write_bytes(compress(text))
    assert lines.survey(str(path)) == (count, hashlib.sha256(text).hexdigest())
    assert len(tokens(path)) == count


def test_damage_is_found_before_the_work(tmp_path):
    path = tmp_path / "in.txt.gz"
    path.write_bytes(gzip.compress(b"a\n" * 1000)[:-9])
    with pytest.raises(InputError, match="is cut short"):
        lines.survey(str(path))
    path.write_bytes(gzip.compress(b""))
    with pytest.raises(InputError, match="has no line"):
        lines.survey(str(path))
