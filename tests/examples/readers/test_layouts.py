"""Rows of TSV and CSV as `TextExample`s, and every way in which a file can be wrong."""

import gzip

import pytest

from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.labelled import TextExample
from bert_tf.examples.readers import Columns, TextLayout
from bert_tf.examples.readers.delimited import Dialect

NAMED = Columns(text_a="left", text_b="right", label="gold", row_id="index")
NUMBERED = Columns(text_a=3, label=1)


def read_table(path, columns, read_label=None, **dialect):
    layout = TextLayout(columns=columns, test_columns=columns, dialect=Dialect(**dialect))
    return layout.read(path, read_label)


def write(tmp_path, data, name="train.tsv"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def test_columns_by_name_in_any_order(tmp_path):
    path = write(tmp_path, "gold\tindex\tspare\tright\tleft\nyes\t7\tx\tB one\tA one\n")
    assert read_table(path, NAMED, readers.one_of(("yes", "no"))) == [
        TextExample("7", "A one", "B one", "yes")
    ]


def test_columns_by_number_need_no_header(tmp_path):
    path = write(tmp_path, "s1\t0\t*\tThe cats sleeps.\ns2\t1\t\tThe cat sleeps.\n")
    assert read_table(path, NUMBERED, readers.one_of(("0", "1"))) == [
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
    assert [e.text_a for e in read_table(path, Columns(text_a="left"))] == [text, "second"]


def test_byte_order_mark_crlf_and_missing_last_line_end(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfleft\tgold\r\none\t1\r\ntwo\t0")
    examples = read_table(path, Columns(text_a="left", label="gold"), readers.any_label)
    assert [(e.text_a, e.label) for e in examples] == [("one", "1"), ("two", "0")]


def test_gzip(tmp_path):
    path = write(tmp_path, gzip.compress(b"left\none\n"), "train.tsv.gz")
    assert read_table(path, Columns(text_a="left")) == [TextExample("0", "one")]


@pytest.mark.parametrize(
    ("data", "columns", "message"),
    [
        ("", NUMBERED, r"is empty \(0 bytes\)"),
        ("\n\n", NUMBERED, r"is empty \(2 bytes\)"),
        ("left\n", Columns(text_a="left"), "has a header and no rows"),
        (b"a\tb\nc\t\xff\n", NUMBERED, "not UTF-8: line 2"),
        ("a\t1\t\tx\nb\t1\tx\n", NUMBERED, r"line 2: 3 columns found, 4 wanted as in line 1"),
        ("a\t1\t\tx\nb\t1\t\tx\ty\n", NUMBERED, r"line 2: 5 columns found, 4 wanted"),
        ("a\t1\t\tx\n\nb\t1\n", NUMBERED, r"line 3: 2 columns found, 4 wanted as in line 1"),
        ("left\tleft\na\tb\n", Columns(text_a="left"), "has 'left' more than once"),
        (b"\xff\xfea\0", NUMBERED, "not UTF-8: line 1, .*iconv -f UTF-16 -t UTF-8"),
        ("a\t1\n", NUMBERED, r"line 1: 2 columns found, at least 4 wanted"),
        ("a\t1\t\tx\nb\t2\t\tx\n", NUMBERED, r"line 2: label '2' is unknown; known: 0, 1"),
        ("left\tgold\na\t0\n", NAMED, r"no column 'right', 'index'; it reads \['left', 'gold'\]"),
    ],
)
def test_wrong_files_are_refused(tmp_path, data, columns, message):
    path = write(tmp_path, data)
    with pytest.raises(InputError, match=message) as error:
        read_table(path, columns, readers.one_of(("0", "1")))
    assert path in str(error.value)


def test_broken_rows_can_be_skipped_and_are_logged(tmp_path, caplog):
    path = write(tmp_path, "left\tright\na\tb\nhalf of\nit\tc\td\ne\tf\n")
    columns = Columns(text_a="left", text_b="right")
    examples = read_table(path, columns, skip_broken_rows=True)
    assert [(e.guid, e.text_a) for e in examples] == [("0", "a"), ("3", "e")]
    assert "skipped 2 broken rows, lines [3, 4]" in caplog.text


@pytest.mark.parametrize(
    "data",
    [
        "left\tright\n\na\tb\n  \nc\td\n\n",
        "left\tright\r\n\r\na\tb\r\n\r\nc\td",
        "\n\nleft\tright\na\tb\nc\td\n",
    ],
)
def test_blank_lines_are_passed_over_and_counted(tmp_path, capsys, data):
    path = write(tmp_path, data)
    examples = read_table(path, Columns(text_a="left", text_b="right"))
    assert [(e.guid, e.text_a, e.text_b) for e in examples] == [("0", "a", "b"), ("1", "c", "d")]
    assert capsys.readouterr().out == f"{path}: 2 blank lines passed over.\n"


# RFC 4180, section 2, rules 5 to 7: quoted fields with line ends, commas and doubled quotes.
CSV = 'stars,"the review"\r\n5,"Good, cheap\r\nand ""big"""\r\n\r\n1,plain \u2028 text\r\n2,""\r\n'


@pytest.mark.parametrize("name", ["reviews.csv", "REVIEWS.CSV", "reviews.csv.gz"])
def test_csv_is_told_by_its_name_and_read_as_in_rfc_4180(tmp_path, capsys, name):
    data = b"\xef\xbb\xbf" + CSV.encode()
    path = write(tmp_path, gzip.compress(data) if name.endswith("gz") else data, name)
    assert readers.read_header(path) == ["stars", "the review"]
    columns = Columns(text_a="the review", label="stars")
    examples = read_table(path, columns, readers.any_label)
    assert [(e.guid, e.text_a, e.label) for e in examples] == [
        ("0", 'Good, cheap\r\nand "big"', "5"),
        ("1", "plain \u2028 text", "1"),
        ("2", "", "2"),
    ]
    assert capsys.readouterr().out == f"{path}: 1 blank line passed over.\n"


def test_a_text_in_csv_may_be_longer_than_python_reads_by_default(tmp_path):
    text = "word " * 40_000
    path = write(tmp_path, f'left\n"{text}"\n', "long.csv")
    assert [e.text_a for e in read_table(path, Columns(text_a="left"))] == [text]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ('left,gold\n"a\nb",1\n"c,0\n', "the row that begins in line 4 is not CSV: unexpected end"),
        ('left,gold\n"a" b,1\n', "line 2 is not CSV.*written twice"),
        ('left,gold\n"a\nb",1\nc\n', "line 4: 1 columns found, 2 wanted as in line 1. .*comma"),
        ('left,gold\n"a\nb",1\nc,7\n', "line 4: label '7' is unknown"),
        ("left;gold\na;1\n", r"it reads \['left;gold'\], .* separated by commas\?"),
    ],
)
def test_wrong_csv_is_refused_with_the_line_where_the_row_begins(tmp_path, data, message):
    path = write(tmp_path, data, "rows.csv")
    with pytest.raises(InputError, match=message):
        read_table(path, Columns(text_a="left", label="gold"), readers.one_of(("0", "1")))


LABELLED = Columns(text_a="left", label="gold", weight="w")
WITHOUT = Columns(text_a="left")


def test_weights_of_rows(tmp_path):
    path = write(tmp_path, "left\tgold\tw\na\t1\t0.5\nb\t0\t2\n")
    examples = read_table(path, LABELLED, readers.any_label)
    assert [example.weight for example in examples] == [0.5, 2.0]
    path = write(tmp_path, 'left,gold,w\na,1,"0,5"\n', "rows.csv")
    with pytest.raises(InputError, match="line 2: weight '0,5' is not a number; .* decimal point"):
        read_table(path, LABELLED, readers.any_label)


def test_a_column_for_each_label(tmp_path):
    columns = Columns(text_a="left", label=("rude", "false"))
    path = write(tmp_path, "left\trude\tfalse\na\t1\t0\nb\t1\t1\nc\t0\t0\n")
    read_label = readers.several(readers.one_of(("rude", "false")))
    examples = read_table(path, columns, read_label)
    assert [example.label for example in examples] == [("rude",), ("rude", "false"), ()]
    path = write(tmp_path, "left\trude\tfalse\na\t1\tx\n")
    with pytest.raises(InputError, match="line 2: 'x' is neither 1"):
        read_table(path, columns, read_label)


def test_an_empty_text_to_learn_from_is_refused_if_asked(tmp_path):
    layout = TextLayout(columns=LABELLED, test_columns=WITHOUT, refuses_empty_text=True)
    path = write(tmp_path, "left\tgold\tw\na\t1\t1\n \t0\t1\n")
    with pytest.raises(InputError, match="line 3: the text is empty; .* Delete the row"):
        layout.read(path, readers.any_label)
    assert len(layout.read(path, readers.any_label, is_test=True)) == 2


def test_another_delimiter_has_quotes(tmp_path):
    path = write(tmp_path, 'left;gold\n"a; ""b""";1\nc;0\n', "rows.csv")
    columns = Columns(text_a="left", label="gold")
    examples = read_table(path, columns, readers.any_label, delimiter=";")
    assert [(e.text_a, e.label) for e in examples] == [('a; "b"', "1"), ("c", "0")]
    path = write(tmp_path, "left;gold\na;b;1\n", "rows.csv")
    with pytest.raises(InputError, match="3 columns found, 2 wanted .* separated by one semicolon"):
        read_table(path, columns, readers.any_label, delimiter=";")


def test_the_first_of_several_layouts_that_fits(tmp_path):
    numbered = Columns(text_a=0, label=1)
    layout = TextLayout(
        columns=Columns(text_a="left", label="gold"),
        test_columns=WITHOUT,
        renamed_labels={"1": "yes"},
        alternatives=(TextLayout(columns=numbered, test_columns=numbered),),
    )
    with_header = write(tmp_path, "gold\tleft\n1\ta\n")
    assert layout.read(with_header, readers.any_label) == [TextExample("0", "a", label="yes")]
    without = write(tmp_path, "a\t1\n")
    assert layout.read(without, readers.any_label) == [TextExample("0", "a", label="1")]
    with pytest.raises(InputError, match="the header has no column 'left', 'gold'"):
        layout.read(write(tmp_path, "a\tb\tc\n1\t2\t3\n"), readers.any_label)


def test_a_set_of_a_file(tmp_path):
    layout = TextLayout(columns=WITHOUT, test_columns=WITHOUT, set_column="language")
    path = write(tmp_path, "left\tlanguage\na\tde\nb\ten\nc\tde\n")
    found = layout.of_set("de").read(path)
    assert [(example.guid, example.text_a) for example in found] == [("0", "a"), ("2", "c")]
    assert layout.of_set("fr").read(path) == []
    assert len(layout.read(path)) == 3


def test_files_of_a_pattern_are_numbered_together(tmp_path):
    write(tmp_path, "left\tindex\nc\t7\n", "b.tsv")
    write(tmp_path, "left\tindex\na\t9\nb\t8\n", "a.tsv")
    layout = TextLayout(columns=WITHOUT, test_columns=WITHOUT)
    found = readers.read_all(layout, str(tmp_path / "*.tsv"), None)
    assert [(e.guid, e.text_a) for e in found] == [("0", "a"), ("1", "b"), ("2", "c")]
    with_ids = Columns(text_a="left", row_id="index")
    layout = TextLayout(columns=with_ids, test_columns=with_ids)
    found = readers.read_all(layout, str(tmp_path / "*.tsv"), None)
    assert [e.guid for e in found] == ["9", "8", "7"]
    with pytest.raises(InputError, match=r"No file matches .*\.csv"):
        readers.read_all(layout, str(tmp_path / "*.csv"), None)
