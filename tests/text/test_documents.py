"""The released text format, line ends, encodings, and every way in which a file can be wrong."""

import pytest

from bert_tf.errors import InputError
from bert_tf.text import documents


def write(tmp_path, data, name="text.txt"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def sentences(*paths):
    return [document.sentences for document in documents.read(paths)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One.\nTwo.\n\nThree.\n", [["One.", "Two."], ["Three."]]),
        ("One.\r\nTwo.\r\n\r\nThree.\r\n", [["One.", "Two."], ["Three."]]),
        ("\n\n  One. \n\n \t\n\u00a0\nTwo.", [["One."], ["Two."]]),  # runs of blank lines
        ("One\u2028still one\x0cand on.\n", [["One\u2028still one\x0cand on."]]),
        ("\ufeffOne.\n", [["One."]]),
        ("\n \n", []),
    ],
)
def test_splits_lines_into_documents(tmp_path, text, expected):
    assert sentences(write(tmp_path, text)) == expected


def test_the_end_of_a_file_ends_a_document(tmp_path):
    first = write(tmp_path, "One.\nTwo.", "a.txt")
    second = write(tmp_path, "Three.\n", "b.txt")
    assert sentences(first, second) == [["One.", "Two."], ["Three."]]


def test_says_where_a_document_is_and_how_large(tmp_path):
    path = write(tmp_path, "\nOne.\nTwo.\n\n\nThré.\n")
    first, second = documents.read([path])
    assert (first.source, first.num_bytes) == (f"{path}:2", 12)
    assert (second.source, second.num_bytes) == (f"{path}:6", 8)


def test_holds_one_document_at_a_time(tmp_path):
    path = write(tmp_path, b"One.\n\n" + b"\xff\n" * 30)
    stream = documents.read([path])
    assert next(stream).sentences == ["One."]  # before the lines that are wrong are looked at
    with pytest.raises(InputError):
        next(stream)


def test_a_few_wrong_lines_are_counted_and_marked(tmp_path):
    path = write(tmp_path, "Bücher.\n".encode() * 20 + b"\nB\xfccher.\nTr\xe8s.\nBien.\n")
    first, second = documents.read([path])
    assert (first.num_invalid_lines, second.num_invalid_lines) == (0, 2)
    assert second.sentences == ["B\ufffdcher.", "Tr\ufffds.", "Bien."]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        ("Bücher und Bäume.\n".encode("latin-1") * 50, "not UTF-8"),
        (b"Plain words.\n" * 1000 + b"Fa\xe7ade.\n" * 25, "not UTF-8"),  # enough to tell
        ("Bücher.\n".encode("utf-16"), "is UTF-16"),
        (b"\xfe\xff\x00a", "is UTF-16"),
        (b"\x1f\x8b\x08\x00rest", "compressed with gzip"),
        (b"BZh91AY", "compressed with bzip2"),
        (b"PK\x03\x04rest", "zip archive"),
    ],
)
def test_refuses_what_is_not_utf8_text(tmp_path, data, found):
    path = write(tmp_path, data)
    with pytest.raises(InputError, match=found) as error:
        sentences(path)
    assert path in str(error.value)


@pytest.mark.parametrize("data", [b"word " * 300, b"One sentence.\n" * 100])
def test_refuses_a_document_without_end(tmp_path, data):
    path = write(tmp_path, b"Small.\n\n" + data)
    with pytest.raises(InputError, match="line 3 goes on for more than 1000 bytes"):
        list(documents.read([path], max_document_bytes=1000))
