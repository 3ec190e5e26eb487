"""Tag schemes to IOB2; the sequences are worked out by hand from the definitions."""

import pytest

from bert_tf.examples.readers import tag_schemes

# A PER of two words, two LOC of one word side by side, then a PER of three words.
IOB2 = "B-P I-P B-L B-L O B-P I-P I-P"


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("iob2", IOB2),
        ("iob1", "I-P I-P I-L B-L O I-P I-P I-P"),
        ("iob1", IOB2),
        ("iobes", "B-P E-P S-L S-L O B-P I-P E-P"),
        ("bioes", "B-P E-P S-L S-L O B-P I-P E-P"),
        ("bilou", "B-P L-P U-L U-L O B-P I-P L-P"),
        ("bmes", "B-P E-P S-L S-L O B-P M-P E-P"),
    ],
)
def test_every_scheme_becomes_iob2(scheme, tags):
    assert " ".join(tag_schemes.to_iob2(tags.split(), scheme)) == IOB2


def test_in_iob1_an_entity_behind_one_of_another_type_needs_no_b():
    assert tag_schemes.to_iob2(["I-P", "I-L", "O", "I-L"], "iob1") == ("B-P", "B-L", "O", "B-L")


def test_plain_tags_are_left_alone():
    assert tag_schemes.to_iob2(["NN", "I-x", "O"], "plain") == ("NN", "I-x", "O")


def test_a_type_may_hold_a_hyphen():
    assert tag_schemes.to_iob2(["B-art-film", "I-art-film"], "iob2")[1] == "I-art-film"


@pytest.mark.parametrize(
    ("scheme", "tags", "index", "message"),
    [
        ("iob2", "I-P O", 0, "tag 'I-P' at the first word goes on with an entity"),
        ("iob2", "I-P O", 0, 'begins with B-P. If the file is IOB1.*set the scheme "iob1"'),
        ("iob2", "B-P I-L", 1, "'I-L' behind B-P goes on with an entity that is not open"),
        ("iob2", "B-P O I-P", 2, "'I-P' behind O goes on"),
        ("iob2", "O S-P", 1, "'S-P' is none of the scheme iob2; wanted: O, B-TYPE, I-TYPE"),
        ("iob2", "O person", 1, "'person' is none of the scheme"),
        ("iob2", "O B-", 1, "'B-' is none"),
        ("iob1", "E-P", 0, "'E-P' is none of the scheme iob1"),
        ("iobes", "B-P O", 1, "'O' cannot follow 'B-P' in the scheme iobes"),
        ("iobes", "B-P E-L", 1, "'E-L' cannot follow 'B-P'"),
        ("iobes", "E-P O", 0, "'E-P' cannot be the first"),
        ("iobes", "O I-P E-P", 1, "'I-P' cannot follow 'O'"),
        ("iobes", "O B-P I-P", 2, "the entity P has no end"),
        ("bmes", "B-P I-P E-P", 1, "'I-P' is none of the scheme bmes"),
    ],
)
def test_wrong_tags_are_refused_with_their_word(scheme, tags, index, message):
    with pytest.raises(tag_schemes.TagError, match=message) as error:
        tag_schemes.to_iob2(tags.split(), scheme)
    assert error.value.index == index
