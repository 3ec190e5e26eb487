"""The scanner for markup that spans lines, and one paragraph as plain text."""

import pytest

from bert_tf.corpus import wikitext
from bert_tf.corpus.wikitext_templates import HOLE, SILENT


def without_blocks(text):
    """With marks that a test can show."""
    return wikitext.without_blocks(text).replace(SILENT, "~").replace(HOLE, "@")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<!-- b\n{{ -->c", "ac"),
        ("a\n<!-- a line of its own -->\nb", "a\nb"),
        ("a<!-- never closed", "a"),
        ("a<ref>b {{c}}</ref> d<ref name=e/>.", "a~ d~."),
        ('a<ref name="b">c</ref><REF>d</Ref >', "a~~"),
        ("a <references group=b /> c", "a ~ c"),
        ("a <math>x</math> b <math>\\frac{1}{2}</math> c", "a x b @ c"),
        ("a <code>print()</code> b <code>x[[1]]</code>", "a print() b @"),
        ("a<gallery>\nb.jpg|c\n</gallery>d", "a\n\nd"),
        ("a<syntaxhighlight lang=c>\nint x;\n</syntaxhighlight>d", "a\n\nd"),
        ("<nowiki>[[a]]</nowiki>", "&#91;&#91;a&#93;&#93;"),
        ("a<nowiki/>b", "a~b"),
        ("a<ref>never closed", "a<ref>never closed"),
    ],
)
def test_comments_and_extension_tags(text, expected):
    assert without_blocks(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{Infobox\n| a = {{b|c}}\n| d = [[e|f]]\n}}g", "@g"),
        ("a {{nowrap|b {{lang|fr|c}}}} d", "a b c d"),
        ("a {{nowrap|{{unknown}} d}}", "a @ d"),
        ("a {{sfn|b}}", "a ~"),
        ("a {{b", "a {{b"),
        ("a }} [[b]] ]]", "a }} [[b]] ]]"),
        ("{{a [[b }} c", "@ c"),
        ("[[a|{{b]] c", "[[a|{{b]] c"),
    ],
)
def test_templates(text, expected):
    assert without_blocks(text) == expected


@pytest.mark.parametrize(
    "link",
    [
        "[[File:Moth.jpg|thumb|A [[moth]] on a [[leaf|wide leaf]]]]",
        "[[image:moth.PNG]]",
        "[[Файл:Пеперуда|мини|Пеперуда]]",
        "[[Unbekannt:Moth.svg|mini]]",  # by its ending
        "[[Category:Moths| ]]",
        "[[Категория:Пеперуди]]",
        "[[de:Motte]]",
        "[[zh-min-nan:Moth]]",
    ],
)
def test_links_that_show_no_words_are_removed(link):
    assert without_blocks(f"a {link} b") == "a ~ b"


@pytest.mark.parametrize("link", ["[[:Category:Moths]]", "[[Moth: A Story]]", "[[:de:Motte|m]]"])
def test_links_that_are_read_stay(link):
    assert without_blocks(f"a {link} b") == f"a {link} b"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n{|\n| b\n{|\n| c\n|}\n| d\n|}\ne", "a\n\n\n\ne"),
        ("a\n:{| class=b\n|-\n! c || d\n|}e", "a\n\n\ne"),
        ("a\n{|\n| never closed\n\nb\n== c ==\nd", "a\n\n\n== c ==\nd"),
        ("a\n{|\n| never closed\nb", "a\n\n\n"),
        ("a<div class=b>c <div>d</div> e</div>f", "a\n\nf"),
        ("a<TABLE><tr><td>b</table>f", "a\n\nf"),
        ("a<div>b", "a\n\nb"),
        ("a</div>b", "a\n\nb"),
        ("a<div><ul>b</div>c", "a\n\nc"),
    ],
)
def test_tables_and_blocks(text, expected):
    assert without_blocks(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no markup", "no markup"),
        ("[[moth]]s and [[Moth (insect)|moths]]", "moths and moths"),
        ("[[Moth (insect)|]], [[Help:Moth|]], [[:Moth_Hill]]", "Moth, Moth, Moth Hill"),
        ("'''a''' ''b'' '''''c''''' '''open", "a b c open"),
        ("l'''amour'' ", "l'amour "),
        ("dogs' and ''dogs'''", "dogs' and dogs'"),
        ("[http://a.example/b the ''label''] c", "the label c"),
        ("a [http://a.example] b http://b.example/x c", f"a {SILENT} b {SILENT} c"),
        ("H<sub>2</sub>O <i>a</i> <small>b</small> <span class=x>c</span>", "H2O a b c"),
        ("a<br />b<br>c", "a b c"),
        ("5&nbsp;km &amp; [[a|b&ndash;c]] &#91;d&#93; &lt;", "5\u00a0km & b–c [d] <"),
        ("a __NOTOC__ b", f"a {SILENT} b"),
        ("a <unknown>b</unknown>", f"a {HOLE}"),
        ("a <5 and b> <c", "a <5 and b> <c"),
    ],
)
def test_plain(text, expected):
    assert wikitext.plain(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "a " * 10_001,
        "<i>" * 201,
        "a <ref name=b> c",
    ],
)
def test_paragraphs_that_nobody_could_read(text):
    with pytest.raises(wikitext.WikitextError):
        wikitext.plain(text)


@pytest.mark.parametrize("text", ["{{" * 101, "[[" * 101, "<div>" * 101])
def test_deep_nesting_is_an_error(text):
    with pytest.raises(wikitext.WikitextError, match="100"):
        wikitext.without_blocks(text)
