"""JSON Lines and arrays of objects, and every way in which they can be wrong."""

import gzip

import pytest

from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.labelled import TextExample
from bert_tf.examples.readers import Columns, TextLayout

COLUMNS = Columns(text_a="text", label="stars")
LAYOUT = TextLayout(columns=COLUMNS, test_columns=Columns(text_a="text"))


def write(tmp_path, text, name):
    path = tmp_path / name
    data = text.encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


LINES = '\ufeff{"text": "Gut: \\"ja\\"", "stars": 5}\r\n\r\n{"stars": 1, "text": "a\\u2028b"}\r\n'
ARRAY = '[{"text": "Gut: \\"ja\\"", "stars": 5},\n {"stars": 1, "text": "a\\u2028b"}]'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.jsonl", LINES),
        ("train.ndjson", LINES),
        ("train.jsonl.gz", LINES),
        ("train.json", LINES),
        ("train.json", ARRAY),
    ],
)
def test_lines_and_arrays(tmp_path, capsys, name, text):
    path = write(tmp_path, text, name)
    assert LAYOUT.read(path, readers.any_label) == [
        TextExample("0", 'Gut: "ja"', label="5"),
        TextExample("1", "a\u2028b", label="1"),
    ]
    blank = f"{path}: 1 blank line passed over.\n" if text is LINES else ""
    assert capsys.readouterr().out == blank
    assert readers.read_header(path) == ["text", "stars"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "a.jsonl",
            '{"text": "x", "stars": 1}\n{"text": "x"\n',
            "line 2: this is not JSON: Exp.*,",
        ),
        (
            "a.jsonl",
            '{"text": "x", "stars": 1}\n["x"]\n',
            r'line 2: an object .* \["x"\] was found',
        ),
        ("a.jsonl", '{"text": "x", "stars": 1}\n{"text": "x"}\n', "line 2: there is no 'stars'"),
        ("a.jsonl", '{"text": "x", "rating": 1}\n', "rows have no column 'stars'; it has"),
        ("a.jsonl", '{"text": null, "stars": 1}\n', "line 1: column 'text': .* null was found"),
        ("a.jsonl", '{"text": "x", "stars": [1]}\n', "line 1: text was wanted, list"),
        ("a.json", '[{"text": "x", "stars": 7}]', "row 1: label '7' is unknown; known: 1, 5"),
        ("a.json", '[{"text": "x",\n}]', "line 2: this is not JSON"),
        ("a.json", "[]", "has no row"),
        ("a.jsonl", '{"text": " ", "stars": 1}\n', "line 1: the text is empty"),
    ],
)
def test_wrong_files_are_refused(tmp_path, name, text, message):
    path = write(tmp_path, text, name)
    layout = TextLayout(
        columns=COLUMNS, test_columns=Columns(text_a="text"), refuses_empty_text=True
    )
    with pytest.raises(InputError, match=message) as error:
        layout.read(path, readers.one_of(("1", "5")))
    assert path in str(error.value)
