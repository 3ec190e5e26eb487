"""Tagged sentences from column files and from tables, and the words around them."""

import pytest

from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.labelled import TokenExample
from bert_tf.examples.readers import TokenLayout, token_layout

TABLE = TokenLayout(words="tokens", tags="ner")


def write(tmp_path, text, name="train.conll"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_last_column_has_the_tags(tmp_path):
    path = write(tmp_path, "Anna NNP B-P\nsang VBD O\n\nOslo NNP B-L\n")
    assert TokenLayout().read(path, readers.any_label) == [
        TokenExample("0", ("Anna", "sang"), ("B-P", "O")),
        TokenExample("1", ("Oslo",), ("B-L",)),
    ]


def test_a_test_file_needs_no_tags(tmp_path):
    path = write(tmp_path, "Anna\nsang\n")
    assert TokenLayout().read(path, readers.any_label, is_test=True) == [
        TokenExample("0", ("Anna", "sang"))
    ]


def test_words_around_a_sentence_are_those_of_its_document(tmp_path):
    text = "-DOCSTART- O\n\nA O\nB O\n\nC O\n\nD O\n\n-DOCSTART- O\n\nE O\n"
    examples = TokenLayout().read(write(tmp_path, text), readers.any_label)
    assert [(e.before, e.words, e.after) for e in examples] == [
        ((), ("A", "B"), ("C", "D")),
        (("A", "B"), ("C",), ("D",)),
        (("A", "B", "C"), ("D",), ()),
        ((), ("E",), ()),
    ]


def test_without_documents_there_are_no_words_around(tmp_path):
    examples = TokenLayout().read(write(tmp_path, "A O\n\nB O\n"), readers.any_label)
    assert [(e.before, e.after) for e in examples] == [((), ()), ((), ())]


def test_as_many_words_around_as_a_row_can_take(tmp_path, monkeypatch):
    monkeypatch.setattr(token_layout, "CONTEXT_WORDS", 2)
    text = "-DOCSTART- O\n\nA O\nB O\nC O\n\nD O\n\nE O\nF O\nG O\n"
    example = TokenLayout().read(write(tmp_path, text), readers.any_label)[1]
    assert (example.before, example.after) == (("B", "C"), ("E", "F"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A B-P\nB O\n\nC O\nD I-P\n", "line 5: tag 'I-P' behind O goes on with an entity"),
        ("A B-P\nB O\n\nC B-X\n", "line 4: label 'B-X' is unknown; known: O, B-P, I-P"),
        ("A B-P\nB\n", "line 2: a word without a tag"),
    ],
)
def test_wrong_tags_are_refused_with_their_line(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=message) as error:
        TokenLayout().read(path, readers.one_of(("O", "B-P", "I-P")))
    assert path in str(error.value)


def test_lists_of_json_lines(tmp_path):
    text = '{"tokens": ["Anna", "sang"], "ner": ["I-P", "O"], "doc": 1, "nr": "x7", "w": 0.5}\n'
    text += '{"tokens": ["New York"], "ner": ["I-L"], "doc": 1, "nr": "x8", "w": 1}\n'
    path = write(tmp_path, text, "train.jsonl")
    layout = TokenLayout(
        words="tokens", tags="ner", scheme="iob1", document="doc", row_id="nr", weight="w"
    )
    assert layout.read(path, readers.any_label) == [
        TokenExample("x7", ("Anna", "sang"), ("B-P", "O"), after=("New York",), weight=0.5),
        TokenExample("x8", ("New York",), ("B-L",), before=("Anna", "sang")),
    ]
    assert layout.read(path, readers.any_label, is_test=True)[0].tags is None


def test_words_of_a_csv_cell_are_separated_by_spaces(tmp_path):
    path = write(tmp_path, "tokens,ner\nAnna sang,B-P O\n", "train.csv")
    assert TABLE.read(path, readers.any_label) == [
        TokenExample("0", ("Anna", "sang"), ("B-P", "O"))
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ('"tokens": ["A", "B"], "ner": ["O"]', "line 1: 2 words and 1 tags found"),
        ('"tokens": [], "ner": []', "line 1: the sentence has no word"),
        ('"tokens": ["A"], "ner": ["I-P"]', "line 1: word 1: tag 'I-P' at the first word goes on"),
        ('"tokens": 7, "ner": ["O"]', "line 1: column 'tokens': a list was wanted, 7 was found"),
        ('"tokens": ["A"], "tags": ["O"]', "the rows have no column 'ner'"),
    ],
)
def test_wrong_rows_of_tables(tmp_path, row, message):
    path = write(tmp_path, f"{{{row}}}\n", "train.jsonl")
    with pytest.raises(InputError, match=message):
        TABLE.read(path, readers.any_label)


def test_which_files_fit(tmp_path):
    lists = write(tmp_path, '{"tokens": ["A"], "ner": ["O"]}\n', "train.jsonl")
    columns = write(tmp_path, "A O\n")
    assert TABLE.fits(lists) and not TokenLayout().fits(lists)
    assert TokenLayout().fits(columns) and not TABLE.fits(columns)
