"""Column files: sentences, documents, separators, and lines that are wrong."""

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.readers import conll


def write(tmp_path, text):
    path = tmp_path / "eng.train"
    path.write_bytes(text.encode())
    return str(path)


def test_sentences_and_documents(tmp_path):
    text = "-DOCSTART- -X- O\n\nA a O\nB b O\n\n\nC c O\n-DOCSTART- -X- O\nD d O"
    first, second, third = conll.read(write(tmp_path, text), min_columns=2)
    assert (first.document, first.lines, first.column(0)) == (0, (3, 4), ("A", "B"))
    assert (second.document, second.lines, second.column(-1)) == (0, (7,), ("O",))
    assert (third.document, third.column(1)) == (1, ("d",))


def test_a_file_without_documents(tmp_path):
    assert [s.document for s in conll.read(write(tmp_path, "A O\n\nB O\n"), 2)] == [None, None]


@pytest.mark.parametrize("text", ["A  b   O \r\nB c O\r\n\r\n", "A\tb\tO\nB\tc\tO\n"])
def test_spaces_tabs_and_crlf(tmp_path, text):
    (sentence,) = conll.read(write(tmp_path, text), 2)
    assert sentence.cells == (["A", "b", "O"], ["B", "c", "O"])


def test_words_may_be_other_spaces_and_with_tabs_hold_spaces(tmp_path):
    (sentence,) = conll.read(write(tmp_path, "\u3000 O\n\u00a0 O\n"), 2)
    assert sentence.column(0) == ("\u3000", "\u00a0")
    (sentence,) = conll.read(write(tmp_path, "New York\tB-L\n"), 2)
    assert sentence.column(0) == ("New York",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A O\nB\n", r"line 2: a word without a tag \('B'\), at least 2 columns wanted"),
        ("A x O\nB x O\n\nC O\n", r"line 4: 2 columns found \('C O'\), 3 wanted as in line 1"),
        ("A\tO\n\tO\n", "line 2: a word without a tag"),
        ("A\tx\tO\nB\t\tO\n", "line 2: a column is empty"),
        ("-DOCSTART- O\n\n", "has no sentence, only -DOCSTART- lines"),
        ("", "is empty"),
    ],
)
def test_wrong_files_are_refused(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as error:
        conll.read(path, min_columns=2)
    assert path in str(error.value)
