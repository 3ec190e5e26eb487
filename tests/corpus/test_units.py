"""Where files are cut, what a unit says of itself, and what is refused before it is parsed."""

import bz2
import gzip
import json
import os
import pickle
import random

import pytest
from backports import zstd

from bert_tf.corpus import documents, units
from bert_tf.corpus.units import Unit
from bert_tf.errors import InputError


def write(tmp_path, data, name="file"):
    path = tmp_path / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return str(path)


def cut(path, input_format="sentences", *sizes):
    return [unit.data for unit in units.read_units(path, input_format, *sizes)]


@pytest.mark.parametrize(
    ("data", "size", "expected"),
    [
        (b"a\n\nb\n\nc\n", 100, [b"a\n\nb\n\nc\n"]),
        (b"a\n\nb\n\nc\n", 7, [b"a\n\nb\n\n", b"c\n"]),
        (b"a\n\nb\n\nc\n", 5, [b"a\n\n", b"b\n\n", b"c\n"]),
        (b"a\n\nb\n\nc\n", 1, [b"a\n\n", b"b\n\n", b"c\n"]),
        (b"a\r\n\r\nb\r\n \t\r\nc\r\n", 7, [b"a\r\n\r\n", b"b\r\n \t\r\n", b"c\r\n"]),
        (b"a\n\xc2\xa0\nbcde", 5, [b"a\n\xc2\xa0\n", b"bcde"]),
        (b"a\n\n\n\nbcde", 5, [b"a\n\n\n\n", b"bcde"]),
        (b"abcdefghij\nk\n\nl", 3, [b"abcdefghij\nk\n\n", b"l"]),
        (b"\xef\xbb\xbfa\n\n\xef\xbb\xbfb\n", 6, [b"a\n\n", b"\xef\xbb\xbfb\n"]),
    ],
)
def test_sentences_are_cut_at_blank_lines(tmp_path, data, size, expected):
    assert cut(write(tmp_path, data), "sentences", size) == expected


def test_json_lines_are_cut_at_line_ends(tmp_path):
    path = write(tmp_path, b'{"a":1}\n{"b":2}\n{"c":3}')
    assert cut(path, "jsonl", 17) == [b'{"a":1}\n{"b":2}\n', b'{"c":3}']
    assert cut(path, "jsonl", 3) == [b'{"a":1}\n', b'{"b":2}\n', b'{"c":3}']


def test_elements_are_cut_behind_them(tmp_path):
    path = write(tmp_path, b"<doc >\na\n</doc>\n<doc >\nb\n</doc>\n")
    assert cut(path, "wikiextractor", 19) == [b"<doc >\na\n</doc>", b"\n<doc >\nb\n</doc>\n"]


def test_text_is_one_unit(tmp_path):
    assert cut(write(tmp_path, b"\xef\xbb\xbfa\n\nb\n"), "text", 3) == [b"a\n\nb\n"]


def test_a_unit_says_what_it_is(tmp_path):
    path = write(tmp_path, b"\xef\xbb\xbfa\nb\n\n\nc\n\nddd\n\n")
    assert list(units.read_units(path, "sentences", 8)) == [
        Unit(path, "sentences", 0, 1, b"a\nb\n\n", 8, 8),
        Unit(path, "sentences", 1, 4, b"\nc\n\n", 4, 16),
        Unit(path, "sentences", 2, 7, b"ddd\n\n", 5, 17),
    ]


DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">
{}</mediawiki>
"""
PAGE = """<page>
<title>{0}</title>
<ns>0</ns>
<id>{1}</id>
<revision>
<id>7{1}</id>
<model>wikitext</model>
<format>text/x-wiki</format>
<text bytes="{2}" xml:space="preserve">{3}</text>
</revision>
</page>
"""


def dump(texts):
    pages = [
        PAGE.format(f"Page {number}", number, len(text.encode()), text)
        for number, text in enumerate(texts, 1)
    ]
    return DUMP.format("".join(pages))


def test_pages_of_a_dump_are_put_together(tmp_path):
    path = write(tmp_path, dump(["a" * 13, "b" * 7, "c" * 29, "é"]))
    all_units = list(units.read_units(path, "wikipedia", 20))
    assert [[page[:2] for page in unit.data] for unit in all_units] == [
        [("Page 1", "a" * 13), ("Page 2", "b" * 7)],
        [("Page 3", "c" * 29)],
        [("Page 4", "é")],
    ]
    assert [(unit.number, unit.first, unit.num_bytes) for unit in all_units] == [
        (0, 2, 20),
        (1, 24, 29),
        (2, 35, 2),
    ]


def corpus(input_format, seed):
    """Text of a format in which units of every size differ."""
    rng = random.Random(seed)
    words = ["Bäume", "stand", "there", "中文", "“quoted”", "x" * 31]

    def sentence():
        return " ".join(rng.choices(words, k=rng.randrange(1, 7))) + "."

    def paragraphs():
        return [" ".join(sentence() for _ in "xy") for _ in range(rng.randrange(1, 5))]

    if input_format == "sentences":
        ends = ["\n\n", "\n\n\n", "\r\n\r\n", "\n \t\n", "\n\u3000\n", "\r\n\n\r\n"]
        return "".join(
            rng.choice(["\n", "\r\n"]).join(paragraphs()) + rng.choice(ends) for _ in range(53)
        )
    if input_format == "jsonl":
        return "".join(
            json.dumps({"text": "\n".join(paragraphs())}, ensure_ascii=False) + "\n" * (n % 3 + 1)
            for n in range(53)
        )
    if input_format == "wikiextractor":
        return "".join(
            f'<doc id="{n}" url="u" title="T &amp; {n}">\nT & {n}\n\n'
            + "\n\n".join(paragraphs())
            + "\n\n</doc>\n"
            for n in range(53)
        )
    if input_format == "wikipedia":
        return dump(["\n\n".join(paragraphs()) for _ in range(53)])
    return "\r\n\r\n".join("\r\n".join(paragraphs()) for _ in range(53))


FORMATS = ("sentences", "text", "jsonl", "wikipedia", "wikiextractor")


def parsed(path, input_format, size):
    return [
        document
        for unit in units.read_units(path, input_format, size)
        for document in documents.documents(pickle.loads(pickle.dumps(unit)))
    ]


@pytest.mark.parametrize("input_format", FORMATS)
def test_documents_do_not_depend_on_the_size_of_units(tmp_path, input_format):
    path = write(tmp_path, corpus(input_format, 5))
    whole = parsed(path, input_format, 10**9)
    assert len(whole) == (1 if input_format == "text" else 53)
    for size in (1, 2, 3, 7, 31, 101, 307, 1009, 4001, 9973):
        assert parsed(path, input_format, size) == whole
        all_units = list(units.read_units(path, input_format, size))
        assert [unit.number for unit in all_units] == list(range(len(all_units)))
        if input_format != "wikipedia":
            text = corpus(input_format, 5)
            assert sum(unit.num_bytes for unit in all_units) == len(text.encode())
            assert "".join(unit.data.decode() for unit in all_units) == text


@pytest.mark.parametrize("input_format", FORMATS)
def test_documents_are_those_of_the_lines_whatever_is_read_at_once(
    tmp_path, monkeypatch, input_format
):
    path = write(tmp_path, corpus(input_format, 7))
    whole = parsed(path, input_format, 10**9)
    monkeypatch.setattr(units, "_READ_BYTES", 13)
    for size in (3, 97):
        assert parsed(path, input_format, size) == whole


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, zstd.compress])
@pytest.mark.parametrize("input_format", FORMATS)
def test_units_do_not_depend_on_the_compression(tmp_path, input_format, compress):
    data = corpus(input_format, 11).encode()
    plain = list(units.read_units(write(tmp_path, data), input_format, 1009))
    path = write(tmp_path, compress(data[:2003]) + compress(data[2003:]))
    all_units = list(units.read_units(path, input_format, 1009))
    assert [unit._replace(position=0) for unit in all_units] == [
        unit._replace(position=0) for unit in plain
    ]
    for cut in (plain, all_units):
        positions = [unit.position for unit in cut]
        assert positions == sorted(positions)
    assert plain[-1].position == len(data)
    assert all_units[-1].position == os.path.getsize(path)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, zstd.compress])
@pytest.mark.parametrize("input_format", FORMATS)
def test_a_file_cut_short_is_an_error_and_not_less_text(tmp_path, input_format, compress):
    data = corpus(input_format, 13).encode()
    data = compress(data[:2003]) + compress(data[2003:])
    path = write(tmp_path, data[:-3])
    with pytest.raises(InputError, match=f"{path} is cut short"):
        list(units.read_units(path, input_format, 101))


def test_a_dump_cut_short_between_streams_is_an_error(tmp_path):
    data = dump(["One text.", "Another text."]).encode()
    path = write(tmp_path, bz2.compress(data[: data.index(b"<title>Page 2")]))
    with pytest.raises(InputError, match="ends in the middle of the XML"):
        list(units.read_units(path, "wikipedia"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("Bücher.\n".encode("utf-16"), "is UTF-16"),
        (b"\xfe\xff\x00a", "is UTF-16"),
        ("English.\n".encode("utf-16-le"), "not UTF-8 text: 9 of its first 18 bytes are 0"),
        (gzip.compress(gzip.compress(b"a", mtime=0), mtime=0), "compressed with gzip twice"),
        (zstd.compress(bz2.compress(b"a")), "compressed with bzip2 twice"),
        (bz2.compress(zstd.compress(b"a")), "compressed with zstd twice"),
        (b"\xfd7zXZ\x00rest", "compressed with xz"),
        (b"PK\x03\x04rest", "zip archive"),
    ],
)
@pytest.mark.parametrize("input_format", ["sentences", "text", "jsonl", "wikiextractor"])
def test_refuses_what_is_not_utf8_text(tmp_path, data, message, input_format):
    path = write(tmp_path, data)
    with pytest.raises(InputError, match=message) as error:
        cut(path, input_format)
    assert path in str(error.value)


@pytest.mark.parametrize("data", [b"word " * 300, b"One sentence.\n" * 100])
def test_refuses_a_document_without_end(tmp_path, monkeypatch, data):
    monkeypatch.setattr(units, "_READ_BYTES", 101)
    path = write(tmp_path, b"Small.\n\n" + data)
    with pytest.raises(InputError) as error:
        cut(path, "sentences", 11, 1000)
    assert str(error.value) == (
        f"{path}: the document that starts in line 3 continues for more than 1000 bytes without a "
        "blank line. One sentence per line and a blank line between documents were wanted."
    )
    assert len(cut(path, "sentences", 11, 1500)) == 2


@pytest.mark.parametrize(
    ("input_format", "data", "wanted"),
    [
        ("jsonl", b'{"text": "a"}\n' + b"{" * 1001, "line 2 .* without a line end. A JSON object"),
        ("wikiextractor", b"\n\n<doc >\n" + b"a\n" * 501, "line 3 .* without a line </doc>."),
        ("text", b"a" * 1001, "has more than 1000 bytes. In the format text a file is one doc"),
    ],
)
def test_refuses_a_record_without_end(tmp_path, input_format, data, wanted):
    with pytest.raises(InputError, match=wanted):
        cut(write(tmp_path, data), input_format, 7, 1000)


def test_holds_one_unit_at_a_time(tmp_path):
    path = write(tmp_path, b"One.\n\n" + b"word " * 300)
    stream = units.read_units(path, "sentences", 11, 1000)
    assert next(stream).data == b"One.\n\n"  # before the document that has no end is read
    with pytest.raises(InputError):
        next(stream)


@pytest.mark.parametrize("input_format", ["sentences", "text", "jsonl", "wikiextractor"])
def test_no_text(tmp_path, input_format):
    assert cut(write(tmp_path, gzip.compress(b"")), input_format) == []
