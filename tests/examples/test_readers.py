"""TSV rows as `TextExample`s, and every way in which a file can be wrong."""

import gzip

import pytest

from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.readers import Columns, TextExample

NAMED = Columns(text_a="left", text_b="right", label="gold", row_id="index")
NUMBERED = Columns(text_a=3, label=1)


def write(tmp_path, data, name="train.tsv"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def test_columns_by_name_in_any_order(tmp_path):
    path = write(tmp_path, "gold\tindex\tspare\tright\tleft\nyes\t7\tx\tB one\tA one\n")
    assert readers.read_tsv(path, NAMED, readers.one_of(("yes", "no"))) == [
        TextExample("7", "A one", "B one", "yes")
    ]


def test_columns_by_number_need_no_header(tmp_path):
    path = write(tmp_path, "s1\t0\t*\tThe cats sleeps.\ns2\t1\t\tThe cat sleeps.\n")
    assert readers.read_tsv(path, NUMBERED, readers.one_of(("0", "1"))) == [
        TextExample("0", "The cats sleeps.", None, "0"),
        TextExample("1", "The cat sleeps.", None, "1"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '"An opening quote only',
        'Half "quoted" text',
        "A\u2028line separator, a\x0bvertical tab, a\x85next line",
        "spaces kept ",
        "",
    ],
)
def test_quotes_and_unicode_line_ends_are_text(tmp_path, text):
    path = write(tmp_path, f"left\n{text}\nsecond\n")
    assert [e.text_a for e in readers.read_tsv(path, Columns(text_a="left"))] == [text, "second"]


def test_byte_order_mark_crlf_and_missing_last_line_end(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfleft\tgold\r\none\t1\r\ntwo\t0")
    examples = readers.read_tsv(path, Columns(text_a="left", label="gold"), readers.any_label)
    assert [(e.text_a, e.label) for e in examples] == [("one", "1"), ("two", "0")]


def test_gzip(tmp_path):
    path = write(tmp_path, gzip.compress(b"left\none\n"), "train.tsv.gz")
    assert readers.read_tsv(path, Columns(text_a="left")) == [TextExample("0", "one")]


@pytest.mark.parametrize(
    ("data", "columns", "message"),
    [
        ("", NUMBERED, r"is empty \(0 bytes\)"),
        ("\n\n", NUMBERED, r"is empty \(2 bytes\)"),
        ("left\n", Columns(text_a="left"), "has a header and no rows"),
        (b"a\tb\nc\t\xff\n", NUMBERED, "not UTF-8: line 2"),
        ("a\t1\t\tx\nb\t1\tx\n", NUMBERED, r"line 2: 3 columns found, 4 wanted as in line 1"),
        ("a\t1\t\tx\nb\t1\t\tx\ty\n", NUMBERED, r"line 2: 5 columns found, 4 wanted"),
        ("a\t1\t\tx\n\nb\t1\t\tx\n", NUMBERED, r"line 2: 1 columns found"),
        ("a\t1\n", NUMBERED, r"line 1: 2 columns found, at least 4 wanted"),
        ("a\t1\t\tx\nb\t2\t\tx\n", NUMBERED, r"line 2: label '2' is unknown; known: 0, 1"),
        ("left\tgold\na\t0\n", NAMED, r"no column 'right', 'index'; it reads \['left', 'gold'\]"),
    ],
)
def test_wrong_files_are_refused(tmp_path, data, columns, message):
    path = write(tmp_path, data)
    with pytest.raises(InputError, match=message) as error:
        readers.read_tsv(path, columns, readers.one_of(("0", "1")))
    assert path in str(error.value)


def test_not_gzip(tmp_path):
    with pytest.raises(InputError, match="not a complete gzip file"):
        readers.read_text(write(tmp_path, b"plain", "train.tsv.gz"))
    with pytest.raises(InputError, match="not a complete gzip file"):
        readers.read_text(write(tmp_path, gzip.compress(b"x" * 999)[:-9], "dev.tsv.gz"))


def test_broken_rows_can_be_skipped_and_are_logged(tmp_path, caplog):
    path = write(tmp_path, "left\tright\na\tb\nhalf of\nit\tc\td\ne\tf\n")
    columns = Columns(text_a="left", text_b="right")
    examples = readers.read_tsv(path, columns, skip_broken_rows=True)
    assert [(e.guid, e.text_a) for e in examples] == [("0", "a"), ("3", "e")]
    assert "skipped 2 broken rows, lines [3, 4]" in caplog.text


def test_number_labels():
    read = readers.number(0.0, 5.0)
    assert [read("0"), read("3.800"), read("5.0")] == [0.0, 3.8, 5.0]
    for cell in ("5.01", "-1", "nan", "inf", "", "high"):
        with pytest.raises(ValueError, match="label"):
            read(cell)
    assert readers.number()("-1e9") == -1e9


def test_any_label_is_not_blank():
    assert readers.any_label("x") == "x"
    with pytest.raises(ValueError, match="empty"):
        readers.any_label(" ")


def test_find_file(tmp_path):
    (tmp_path / "dev.tsv.gz").touch()
    assert readers.find_file(str(tmp_path), "dev.tsv") == str(tmp_path / "dev.tsv.gz")
    (tmp_path / "dev.tsv").touch()
    assert readers.find_file(str(tmp_path), "dev.tsv") == str(tmp_path / "dev.tsv")
    with pytest.raises(InputError, match=r"train.tsv .*which holds: dev.tsv, dev.tsv.gz"):
        readers.find_file(str(tmp_path), "train.tsv")
    for directory in (None, "", str(tmp_path / "no")):
        with pytest.raises(InputError, match="not a directory"):
            readers.find_file(directory, "train.tsv")
