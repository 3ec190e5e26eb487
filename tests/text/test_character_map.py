import random

import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from bert_tf.text import character_map


def make_normalizer(replacements):
    buffer = character_map.model_buffer(replacements)
    return tf_text.FastBertNormalizer(model_buffer=tf.io.decode_raw(buffer, tf.uint8))


def test_replaces_the_characters_of_the_table_and_no_others():
    rng = random.Random(29)
    edges = [0, 1, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x3FFFF, 0x10FFFF]
    points = edges + [rng.randrange(0xD800) for _ in range(1009)]
    points += [rng.randrange(0x10000, 0x110000) for _ in range(1009)]
    texts = ["", "x", " é ", "ẞ", "\U0001f600", "a" * 63]
    replacements = {point: rng.choice(texts) for point in points}
    normalizer = make_normalizer(replacements)

    neighbours = {point ^ (1 << bit) for point in points for bit in range(20)}
    asked = sorted(
        point
        for point in {*points, *neighbours}
        if point <= 0x10FFFF and not 0xD800 <= point < 0xE000
    )
    got = normalizer.normalize([f"<{chr(point)}>" for point in asked]).numpy()
    for point, text in zip(asked, got, strict=True):
        assert text.decode("utf-8") == f"<{replacements.get(point, chr(point))}>", hex(point)


@pytest.mark.parametrize("replacements", [{}, {0: ""}, {0x41: ""}, {0x10FFFF: "end"}])
def test_small_tables(replacements):
    text = "A\x00B\U0010ffff"
    expected = "".join(replacements.get(ord(char), char) for char in text)
    assert make_normalizer(replacements).normalize([text])[0].numpy().decode() == expected


def test_equal_subtrees_are_stored_once():
    one_plane = {point: " " for point in range(0x20000, 0x30000)}
    assert len(character_map.model_buffer(one_plane)) < 5000
