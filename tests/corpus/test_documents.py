"""Every format, line ends, encodings, and every way in which a document can be wrong."""

import json

import pytest

from bert_tf.corpus import documents
from bert_tf.corpus.documents import Document
from bert_tf.corpus.units import Unit
from bert_tf.errors import InputError


def parse(data, input_format="sentences", first=1, number=0, **kwargs):
    data = data.encode() if isinstance(data, str) else data
    unit = Unit("file", input_format, number, first, data, len(data))
    return list(documents.documents(unit, **kwargs))


def sentences(*args, **kwargs):
    return [document.sentences for document in parse(*args, **kwargs)]


def encoded(texts):
    return [[text.encode() for text in each] for each in texts]


class TestSentences:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("One.\nTwo.\n\nThree.\n", [["One.", "Two."], ["Three."]]),
            ("One.\r\nTwo.\r\n\r\nThree.\r\n", [["One.", "Two."], ["Three."]]),
            ("\n\n  One. \n\n \t\n\u00a0\nTwo.", [["One."], ["Two."]]),  # runs of blank lines
            ("Bäume.\n\u3000\nTwo.\u2003\n", [["Bäume."], ["Two."]]),
            ("One.\n\x1c \x1f\n\x1dTwo.", [["One."], ["Two."]]),
            ("One\u2028still one\x0cand on.\n", [["One\u2028still one\x0cand on."]]),
            ("\n \n", []),
            ("", []),
        ],
    )
    def test_splits_lines_into_documents(self, text, expected):
        assert sentences(text) == encoded(expected)

    def test_says_where_a_document_is_and_how_large(self):
        assert parse("\nOne.\nTwo.\n\n\n Thré.\r\n", first=7) == [
            Document([b"One.", b"Two."], None, "file:8", 10),
            Document(["Thré.".encode()], None, "file:12", 9),
        ]
        assert [each.num_bytes for each in parse("One.\n\nTwo.")] == [5, 4]

    def test_a_few_wrong_lines_are_counted_and_marked(self):
        data = "Bücher.\n".encode() * 20 + b"\nB\xfccher.\nTr\xe8s.\nBien.\n\nOui.\n"
        parsed = parse(data)
        assert [document.num_invalid_lines for document in parsed] == [0, 2, 0]
        assert parsed[1].sentences == ["B\ufffdcher.".encode(), "Tr\ufffds.".encode(), b"Bien."]

    @pytest.mark.parametrize(
        ("data", "counts"),
        [
            ("Bücher und Bäume.\n".encode("latin-1") * 50, (50, 50, 0)),
            (b"Plain words.\n" * 1000 + b"Fa\xe7ade.\n" * 25, (25, 1025, 0)),
            (b"Plain words.\n" * 9 + b"Fa\xe7ade.\n", None),
            (b"Plain words.\n" * 8 + b"Fa\xe7ade.", (1, 9, 0)),
            ("Bäume.\n".encode() * 26 + b"Plain.\n" * 999 + b"Fa\xe7ade.\n" * 25, None),
            ("Bäume.\n".encode() * 24 + b"Plain.\n" * 999 + b"Fa\xe7ade.\n" * 25, (25, 1048, 24)),
        ],
    )
    @pytest.mark.parametrize("input_format", ["sentences", "text"])
    def test_refuses_another_encoding(self, data, counts, input_format):
        if counts is None:
            assert sum(each.num_invalid_lines for each in parse(data, input_format)) > 0
            return
        with pytest.raises(InputError) as error:
            parse(data, input_format, first=5)
        assert str(error.value) == (
            f"file is not UTF-8: {counts[0]} of the {counts[1]} lines from line 5 on cannot be "
            f"decoded, and {counts[2]} with more than ASCII can. Convert it, e.g. with "
            "`iconv -f WINDOWS-1252 -t UTF-8`."
        )

    def test_a_small_unit_behind_others_may_hold_a_wrong_line(self):
        (document,) = parse(b"Plain.\nFa\xe7ade.\n", number=1)
        assert document.num_invalid_lines == 1
        with pytest.raises(InputError, match="not UTF-8"):
            parse(b"Plain.\nFa\xe7ade.\n" * 20, number=1)


class TestText:
    def test_lines_of_a_paragraph_are_joined(self):
        data = "\r\nCHAPTER I\r\n\r\nShe met Mr.\r\nBingley. He\r\n left.\r\n \r\nThe end.\r\n"
        assert parse(data, "text") == [
            Document(
                ["CHAPTER I", "She met Mr. Bingley.", "He left.", "The end."],
                None,
                "file:2",
                len(data),
            )
        ]

    def test_the_language_decides(self):
        assert sentences("他来了。她走了。", "text", language="zh") == [["他来了。", "她走了。"]]
        with pytest.raises(InputError, match="--language=tlh"):
            parse("A.", "text", language="tlh")

    def test_white_space_is_no_document(self):
        assert parse("\n \r\n", "text") == []


def line(**record):
    return json.dumps(record, ensure_ascii=False) + "\n"


class TestJsonLines:
    def test_a_document_a_line(self):
        first = line(id=1, text="Mr. A came. He left.\nNext\tparagraph")
        data = first + "\n" + line(text=" Bäume. ")
        assert parse(data, "jsonl", first=3) == [
            Document(["Mr. A came.", "He left.", "Next\tparagraph"], None, "file:3", len(first)),
            Document(["Bäume."], None, "file:5", len(line(text=" Bäume. ").encode())),
        ]

    def test_a_list_holds_sentences(self):
        data = line(body=["One. Still one.", " ", "", " Two. "])
        assert sentences(data, "jsonl", text_field="body") == [["One. Still one.", "Two."]]

    @pytest.mark.parametrize("text", ["", " \n ", []])
    def test_a_record_without_text_is_a_document_without_sentences(self, text):
        assert sentences(line(text=text), "jsonl") == [[]]

    def test_spans_are_moved_to_their_sentences(self):
        text = "Ann saw Bob Ross. \nIn New York it rained."
        assert text[8:16] == "Bob Ross"
        assert text[22:30] == "New York"
        spans = [[22, 30], [8, 16], [0, 3], [12, 24], [12, 16]]
        (document,) = parse(line(text=text, spans=spans), "jsonl")
        assert document.sentences == ["Ann saw Bob Ross.", "In New York it rained."]
        assert document.spans == [[(0, 3), (8, 16)], [(3, 11)]]
        assert document.num_dropped_spans == 2  # one across the end of a sentence, one overlaps

    def test_spans_of_a_list_of_sentences(self):
        data = line(text=["  Ann left.", " ", "Bob"], spans=[[[2, 5], [0, 4]], [[0, 1]], []])
        (document,) = parse(data, "jsonl")
        assert document.sentences == ["Ann left.", "Bob"]
        assert document.spans == [[(0, 3)], []]
        assert document.num_dropped_spans == 2

    def test_without_spans_and_with_none(self):
        assert [
            each.spans for each in parse(line(text="A.") + line(text="A.", spans=[]), "jsonl")
        ] == [
            None,
            [[]],
        ]

    def test_half_a_surrogate_pair_is_counted_and_marked(self):
        (document,) = parse(b'{"text": "A \\ud83d B \\ud83d\\ude00."}', "jsonl")
        assert document.sentences == ["A \ufffd B 😀."]
        assert document.num_invalid_lines == 1

    def test_wrong_lines_are_counted_and_marked(self):
        data = line(text="Bäume.").encode() * 20 + b'{"text": "B\xe4ume."}\n'
        parsed = parse(data, "jsonl")
        assert [each.num_invalid_lines for each in parsed] == [0] * 20 + [1]
        assert parsed[-1].sentences == ["B\ufffdume."]

    @pytest.mark.parametrize(
        ("record", "message"),
        [
            ('{"text": "cut sh', "is not JSON: Unterminated string starting at: line 1 column 10"),
            ("A sentence.", "is not JSON: Expecting value"),
            ("[" * 100_000, "is not JSON: "),
            ('["A."]', "is a JSON list; an object was wanted."),
            ("7", "is a JSON number; an object was wanted."),
            (
                '{"body": "A.", "id": 1}',
                "has no field 'text', which --text_field names; its fields are body, id.",
            ),
            ("{}", "has no field 'text', which --text_field names; its fields are none."),
            ('{"text": null}', ": the field 'text' holds a null; a string or a list of strings"),
            ('{"text": ["A.", 7]}', ": the field 'text' holds a number; a string or a list"),
            ('{"text": "A.", "spans": [[0, 3]]}', ': the field "spans" holds [0, 3]; wanted:'),
            ('{"text": "A.", "spans": [[1, 1]]}', ': the field "spans" holds [1, 1]; wanted:'),
            ('{"text": "A.", "spans": [[-1, 1]]}', ': the field "spans" holds [-1, 1]; wanted'),
            ('{"text": "A.", "spans": [[0, true]]}', ': the field "spans" holds [0, true]; wanted'),
            ('{"text": "A.", "spans": [0, 1]}', ': the field "spans" holds 0; wanted:'),
            ('{"text": "A.", "spans": {"a": 1}}', ': the field "spans" holds {"a": 1}; wanted'),
            ('{"text": ["A."], "spans": [[0, 1]]}', ': the field "spans" holds 0; wanted:'),
            ('{"text": ["A."], "spans": []}', ': the field "spans" holds []; wanted:'),
        ],
    )
    def test_a_wrong_record(self, record, message):
        with pytest.raises(InputError) as error:
            parse(line(text="Fine.") + record, "jsonl", first=7)
        assert str(error.value).startswith(f"file:8{' ' if message[0] != ':' else ''}{message}")


ELEMENT = """<doc id="12" url="https://x?curid=12" title="Dr. &quot;No&quot; > 7">
Dr. "No" > 7

Dr. Nolan came. He left.

History.
Much happened.

</doc>
"""


class TestWikiExtractor:
    @pytest.mark.parametrize("end", ["\n", "\r\n"])
    def test_elements(self, end):
        data = (ELEMENT + ELEMENT).replace("\n", end)
        expected = ["Dr. Nolan came.", "He left.", "History.", "Much happened."]
        parsed = parse(data, "wikiextractor", first=3)
        assert [each.sentences for each in parsed] == [expected, expected]
        assert [each.source for each in parsed] == ["file:6", "file:15"]
        assert [each.num_bytes for each in parsed] == [len(data) // 2] * 2

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('<doc title="T">\nT\n</doc>', []),
            ('<doc title="T">\n</doc>', []),
            ('<doc title="T">\nNot a title.\n</doc>', ["Not a title."]),
            ('<doc id="1">\nT\n</doc>', ["T"]),
        ],
    )
    def test_titles_and_empty_elements(self, text, expected):
        assert sentences(text, "wikiextractor") == [expected]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            (ELEMENT + "Some text.\n", "file:10: 'Some text.' is outside of <doc> elements;"),
            (ELEMENT + "</doc>", "file:10: '</doc>' is outside of <doc> elements;"),
            (ELEMENT[:-9], "file is cut short: the <doc> of line 1 does not end."),
            (ELEMENT + ELEMENT[:90], "file is cut short: the <doc> of line 10 does not end."),
        ],
    )
    def test_what_is_wrong(self, text, message):
        with pytest.raises(InputError) as error:
            parse(text, "wikiextractor")
        assert str(error.value).startswith(message)


class TestWikipedia:
    def test_pages(self):
        pages = [
            ("One", "'''One''' is a number of [[many|some]]. It is odd.\n\n== See ==\n* Two\n", 3),
            ("Twö", "#", 40),
        ]
        unit = Unit("dump", "wikipedia", 0, 3, pages, 60)
        first, second = documents.documents(unit)
        assert first == Document(
            ["One is a number of some.", "It is odd."], None, "dump:page 'One'", len(pages[0][1])
        )
        assert second == Document([], None, "dump:page 'Twö'", 1)
