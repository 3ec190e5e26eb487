"""Dumps of every kind, whole and broken, and the paragraphs of a page with every construct."""

import io
import itertools
import tracemalloc

import pytest

from bert_tf.corpus import wikipedia
from bert_tf.errors import InputError

SITE = """  <siteinfo>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
    </namespaces>
  </siteinfo>
"""


def page(title, text, ns="<ns>0</ns>", extra="", model="wikitext", time="2001-02-03T04:05:06Z"):
    return f"""  <page>
    <title>{title}</title>
    {ns}
    <id>7</id>{extra}
    <revision>
      <id>11</id>
      <timestamp>{time}</timestamp>
      <comment>text &lt;text&gt;</comment>
      <model>{model}</model>
      <text bytes="5" xml:space="preserve">{text}</text>
    </revision>
  </page>
"""


def dump(*pages, version="0.10"):
    xmlns = f"http://www.mediawiki.org/xml/export-{version}/"
    return f'<mediawiki xmlns="{xmlns}" version="{version}">\n{SITE}{"".join(pages)}</mediawiki>\n'


def read(data, source="dump.xml"):
    data = data.encode() if isinstance(data, str) else data
    return list(wikipedia.pages(io.BytesIO(data), source))


# ---------------------------------------------------------------- dump to pages


def test_reads_articles_with_their_line():
    first, second = page("Moth", "A &amp; b\n\n&lt;ref/&gt;"), page("Leaf: a study", "C")
    assert read(dump(first, second)) == [
        ("Moth", "A & b\n\n<ref/>", 8),
        ("Leaf: a study", "C", 22),
    ]


@pytest.mark.parametrize("version", ["0.3", "0.10", "0.11"])
def test_reads_every_schema(version):
    assert read(dump(page("Moth", "A"), version=version)) == [("Moth", "A", 8)]


def test_reads_dumps_without_a_schema_or_with_a_prefix():
    plain = dump(page("Moth", "A")).replace("xmlns=", "about=")
    assert read(plain) == [("Moth", "A", 8)]
    prefixed = dump(page("Moth", "A")).replace("<", "<m:").replace("<m:/", "</m:")
    assert read(prefixed.replace("xmlns=", "xmlns:m=")) == [("Moth", "A", 8)]


@pytest.mark.parametrize(
    ("declaration", "encoding"),
    [
        ("", "utf-8"),
        ("", "utf-8-sig"),
        ("", "utf-16"),
        ('<?xml version="1.0" encoding="UTF-16"?>', "utf-16"),
        ('<?xml version="1.0" encoding="ISO-8859-1"?>', "latin-1"),
    ],
)
def test_reads_the_encoding_that_the_file_declares(declaration, encoding):
    data = (declaration + dump(page("Mött", "Ä\nö"))).encode(encoding)
    assert read(data) == [("Mött", "Ä\nö", 8)]


def test_lines_end_as_in_xml():
    data = dump(page("Moth", "A\nb")).replace("\n", "\r\n").encode("utf-16")
    assert read(data) == [("Moth", "A\nb", 8)]


def test_reads_across_chunks(monkeypatch):
    expected = read(dump(page("Mött", "Ä" * 50), page("Leaf", "B")))
    for num_bytes in (1, 7):
        monkeypatch.setattr(wikipedia, "_CHUNK_BYTES", num_bytes)
        assert read(dump(page("Mött", "Ä" * 50), page("Leaf", "B"))) == expected


@pytest.mark.parametrize(
    "left_out",
    [
        page("Talk:Moth", "A", ns="<ns>1</ns>"),
        page("Talk:Moth", "A", ns=""),
        page("Moths", "#REDIRECT [[Moth]]", extra='<redirect title="Moth" />'),
        page("Moths", "#Пренасочване [[Moth]]"),
        page("Moth data", "{}", model="json"),
    ],
)
def test_only_articles(left_out):
    assert [title for title, _, _ in read(dump(left_out, page("Leaf", "B")))] == ["Leaf"]


def test_the_latest_revision_counts():
    late, early, last = (
        page("Moth", text, time=f"{year}-02-03T04:05:06Z").partition("<revision>")[2]
        for text, year in (("late", 2007), ("early", 2003), ("last", 2007))
    )
    start = page("Moth", "").partition("<revision>")[0]
    revisions = [part.partition("</revision>")[0] for part in (late, early)]
    body = "".join(f"<revision>{revision}</revision>" for revision in revisions)
    assert read(dump(f"{start}{body}</page>")) == [("Moth", "late", 8)]
    body += f"<revision>{last.partition('</revision>')[0]}</revision>"
    assert read(dump(f"{start}{body}</page>")) == [("Moth", "last", 8)]


def test_a_page_whose_text_was_deleted_is_empty():
    data = dump(page("Moth", "A")).replace(">A</text>", ' deleted="deleted" />')
    assert read(data) == [("Moth", "", 8)]


def test_a_dump_that_ends_early_gives_its_pages_and_an_error():
    data = dump(page("Moth", "A"), page("Leaf", "B"), page("Rain", "C")).encode()
    for end in (data.index(b"Rain"), data.index(b"</mediawiki>")):
        stream = wikipedia.pages(io.BytesIO(data[:end]), "dump.xml")
        titles = []
        with pytest.raises(InputError) as error:
            titles.extend(title for title, _, _ in itertools.islice(stream, 2))
            titles.extend(title for title, _, _ in stream)
        assert titles[:2] == ["Moth", "Leaf"]
        num_whole = data[:end].count(b"</page>")
        last_line = data[: data[:end].rindex(b"</page>")].count(b"\n") + 1
        message = str(error.value)
        assert "dump.xml ends in the middle" in message
        assert f"{num_whole} pages before it were complete" in message
        assert f"the last of them ends in line {last_line}." in message
        assert "</mediawiki>" in message


def test_a_dump_without_a_whole_page_has_nothing_to_keep():
    with pytest.raises(InputError, match="0 pages before it were complete. Fetch it again.$"):
        read("<mediawiki><page><title>Moth")


def test_a_utf16_dump_that_ends_within_a_character():
    with pytest.raises(InputError, match="ends in the middle.* 1 pages"):
        read(dump(page("Moth", "A"), page("Leaf", "B")).encode("utf-16")[:-401])


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("<mediawiki>\n<page></pages></mediawiki>", "line 2, column 8: mismatched tag; 0 pages"),
        ("<mediawiki></mediawiki><mediawiki>", "junk after document element"),
        (b"<mediawiki>\xff</mediawiki>", "line 1, column 11: not well-formed"),
        ("<html><body></body></html>", "root <html>"),
        ("", "ends in the middle"),
    ],
)
def test_what_is_no_dump(data, message):
    with pytest.raises(InputError, match="dump.xml.*" + message):
        read(data)


class Endless(io.RawIOBase):
    """A dump of so many pages, made while it is read."""

    def __init__(self, num_pages):
        self._parts = itertools.chain(
            ["<mediawiki>"],
            (page(f"Moth {number}", "A moth. " * 400) for number in range(num_pages)),
            ["</mediawiki>"],
        )
        self._left = b""

    def read(self, num_bytes=-1):
        while len(self._left) < num_bytes and (part := next(self._parts, None)):
            self._left += part.encode()
        chunk, self._left = self._left[:num_bytes], self._left[num_bytes:]
        return chunk


def peak(num_pages):
    tracemalloc.start()
    try:
        assert sum(1 for _ in wikipedia.pages(Endless(num_pages), "dump.xml")) == num_pages
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_number_of_pages():
    assert peak(2_000) < 1.2 * peak(100)


# ---------------------------------------------------------------- page to paragraphs

ARTICLE = """{{Short description|An insect}}
{{Infobox insect
| name = {{lang|la|Tinea}}
| image = [[File:Moth.jpg|thumb|A [[moth]] sits. It waits on a leaf.]]
}}
[[File:Moth at night.jpg|thumb|left|Moths fly at night.<ref>Seen.</ref> They like lamps.]]
'''Moths''' ({{IPAc-en|m|ɒ|θ}}; {{lang-de|Motte}}) are [[insect]]s that ''mostly'' fly at
night.<ref name="a">{{cite book|title=Night|last=Owl}}</ref><!-- who says so? --> A large one
weighs {{convert|11|g|oz}}{{citation needed|date=May 2003}}, and lives for 5&nbsp;days.

They eat [http://leaf.example fresh leaves] (see [http://more.example]) and drink
nectar{{sfn|Owl|2003}} .
* A list item ends here. It has two sentences.
# Another item that has a sentence.
: An indented line is left out. So it is.
; A term: its meaning is left out too.
 Preformatted lines begin with a space. They go.

== Life ==
{| class="wikitable"
! Name !! Wings
|-
| [[Hawk moth]] || Four wings. They are long.
|}
Their larvae, <i>caterpillars</i>, eat H<sub>2</sub>O-rich leaves.<br />They grow fast.
----
<gallery>
Moth.jpg|A moth sits. It waits.
</gallery>
<div class="note">A boxed note. It is no passage.</div>
<blockquote>I saw a moth. It did not see me.</blockquote>
{{quote|The lamp was lit. The moths came soon.}}

=== Names [edit] ===
The oldest names of moths are:
* night bird

Moths have a great many names. The three oldest names of moths are:
* night bird

An area is computed as follows. It is
:<math>a = b</math>
, where b is the wing.

If <math>\\frac{a}{b}</math> is <math>\\sqrt{c}</math>, then <math>\\sqrt{d}</math> is so.

== Gallery of lamps ==
Lamps attract moths at night; nobody knows why.

== See also ==
A paragraph here only points elsewhere. It is left out.
=== More ===
This one too is below that heading.
== Връзки ==
Текст на български език, който остава тук.
== Вижте също ==
Този текст не остава. Той само сочи другаде.
__NOTOC__
{{coord|1|2}}
{{DEFAULTSORT:Moth}}
[[Category:Moths]]
[[de:Motte]]
"""


def test_the_paragraphs_of_an_article():
    assert wikipedia.passages(ARTICLE).paragraphs == [
        "Moths (Motte) are insects that mostly fly at night. A large one weighs 11 g, and lives "
        "for 5 days.",
        "They eat fresh leaves (see) and drink nectar.",
        "Their larvae, caterpillars, eat H2O-rich leaves. They grow fast.",
        "I saw a moth. It did not see me.",
        "The lamp was lit. The moths came soon.",
        "Moths have a great many names.",
        "An area is computed as follows.",
        "Lamps attract moths at night; nobody knows why.",
        "Текст на български език, който остава тук.",
    ]


def test_what_is_left_out_is_counted():
    passages = wikipedia.passages(
        "Moths that live in {{unknown}} fly further than all the others that anybody ever saw or "
        "will ever see in the nights of this world.\n\n"
        "Moths of {{unknown}} and {{unknown}} fly at night.\n\n"
        "Moths have {{ two wings and fly at night.\n\n"
        "Moths fly <ref>at night.\n\n" + "Moths fly. " * 2_000
    )
    assert passages.paragraphs == [
        "Moths that live in fly further than all the others that anybody ever saw or will ever see "
        "in the nights of this world."
    ]
    assert passages[1:] == (3, 1, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A moth (pronounced {{IPA|a}} or {{IPA|b}}) flies at night.", "A moth flies at night."),
        ("A moth ({{IPA|a}}, an insect) flies at night.", "A moth (an insect) flies at night."),
        ("A moth (an insect; {{IPA|a}}) flies at night.", "A moth (an insect) flies at night."),
        ("A moth, {{sfn|a}}, flies at night{{sfn|b}} .", "A moth, flies at night."),
        ("A moth () flies [] at night ( [[now]] ).", "A moth flies at night (now)."),
        ("A  moth\nflies\tat&nbsp; night .", "A moth flies at night."),
    ],
)
def test_nothing_is_left_around_what_is_gone(text, expected):
    assert wikipedia.passages(text).paragraphs == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n \n",
        "A moth flies.",  # too short
        "Coordinates: 7 degrees north and 11 degrees east",
        "Moths of the world by country and by year of their discovery",
        "The moths of the island are:",
        ", where all of the wings are long.",
        "1. The moths of the island fly.",
        "• The moths of the island fly.",
        "| The moths of the island fly.",
        "! The moths of the island fly.",
        "== The moths of the island fly. ==",
        "The moths of [[the island fly.",
        "The moths of the -{zh:island}- all fly.",
        "The moths of a|b=c all fly high.",
    ],
)
def test_what_is_no_prose(text):
    assert wikipedia.passages(text).paragraphs == []


@pytest.mark.parametrize(
    "text",
    [
        "Does the moth really fly at night?",
        "蛾は夜に飛ぶ昆虫である。" * 13,
        "ผีเสื้อกลางคืนบินในเวลากลางคืน" * 7,  # no full stops in the script
        "The moth flies at night " * 7 + "and sleeps by day",
    ],
)
def test_prose_of_several_kinds(text):
    assert wikipedia.passages(text).paragraphs == [text]


def test_brackets_too_deep_are_an_error_that_can_be_counted():
    with pytest.raises(wikipedia.WikitextError):
        wikipedia.passages("{{a|" * 101)
