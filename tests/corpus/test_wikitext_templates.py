"""What calls of templates stand for, by what Wikipedia shows for them."""

import pytest

from bert_tf.corpus.wikitext_templates import HOLE, SILENT, shown_template


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("lang|fr|mot juste", "mot juste"),
        ("Lang|fr|2=mot", "mot"),
        ("lang-de|Wort", "Wort"),
        ("transl|ar|ALA|kitab", "kitab"),
        ("nowrap| 3 bells ", "3 bells"),
        ("nowrap|[[bell|3 bells]]", "[[bell|3 bells]]"),
        ("nihongo|tea house|茶室|chashitsu", "tea house (茶室, chashitsu)"),
        ("nihongo||茶室", "茶室"),
        ("ill|Old mill|de|Alte Mühle", "Old mill"),
        ("circa|1700", "c. 1700"),
        ("as of|1999", "As of 1999"),
        ("as of|1999|lc=y", "as of 1999"),
        ("formatnum:5003", "5003"),
        ("chem|H|2|O", "H2O"),
        ("val|6.1|e=7|u=kg", "6.1 × 10^7 kg"),
        ("USS|Heron|AM-10|6", "USS Heron"),
        ("nbsp", " "),
        ("Spaced_ndash", " – "),
        ("mdash", "—"),
    ],
)
def test_templates_with_words(call, expected):
    assert shown_template(call) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("convert|13|km|mi", "13 km"),
        ("Convert|13|km2|sqmi|1|abbr=on", "13 km²"),
        ("cvt|3100|mm|1", "3100 mm"),  # 1 is the precision
        ("convert|5|to|7|km|mi", "5 to 7 km"),
        ("convert|5|-|7|km|mi", "5–7 km"),
        ("convert|5|x|7|m|ft", "5 x 7 m"),
        ("convert|5|ft|11|in|m", "5 ft 11 in"),
        ("convert|-3|C|F", "-3 °C"),
        ("convert|km", HOLE),
    ],
)
def test_measures_are_shown_as_given(call, expected):
    assert shown_template(call) == expected


@pytest.mark.parametrize("call", ["sfn|Moth|2001|p=3", "Citation needed|date=May 2001", "clear"])
def test_marks_leave_the_sentence_whole(call):
    assert shown_template(call) == SILENT


@pytest.mark.parametrize(
    "call", ["population of|Moth", "#if:a|b|c", "", "|", "lang|fr", "nowrap|", "convert", "val|u=m"]
)
def test_all_others_leave_a_hole(call):
    assert shown_template(call) == HOLE


def test_a_quotation_is_a_passage_of_its_own():
    assert shown_template("quote|Rain fell.|A diary") == "\n\nRain fell.\n\n"
    assert shown_template("quote box|quote=Rain fell.|align=left") == "\n\nRain fell.\n\n"
