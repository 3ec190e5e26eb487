"""Which layers --layers means: indices of a list of layers, as in the released code."""

import pytest

from bert_tf.errors import InputError
from bert_tf.training.frozen.layers import Layer, Selection, parse


def test_numbers_are_indices_of_the_layers_without_the_embeddings():
    depths = list(range(1, 13))  # of a list with an entry for each layer
    for index in range(-12, 12):
        assert parse(str(index), 12) == (Layer(index, depths[index]),)


def test_lists_and_words():
    assert [layer.depth for layer in parse("-1,-2,-3,-4", 12)] == [12, 11, 10, 9]
    assert parse(" embeddings, -1", 3) == (Layer("embeddings", 0), Layer(-1, 3))
    assert [layer.name for layer in parse("all", 3)] == ["embeddings", 0, 1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("-1,12", "'12' is none of the 12 layers of this model. Give 0 to 11"),
        ("-13", "'-13' is none of the 12"),
        ("last", "'last' is none of the 12 .* embeddings, or all"),
        ("-", "'-' is none"),
        ("-1,11", "has layer 11 twice"),
        ("all,embeddings", "has layer embeddings twice"),
        (",", "names no layer"),
    ],
)
def test_what_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse(text, 12)


def test_the_names_and_the_width_of_the_vectors():
    layers = parse("-1,-2", 3)
    assert Selection(layers).names == (-1, -2)
    assert Selection(layers, combination="concat").names == ("concat",)
    assert Selection((), "pooled").names == ("pooled",)
    assert Selection(layers).width(7) == 7
    assert Selection(layers, combination="mean").width(7) == 7
    assert Selection(layers, combination="concat").width(7) == 14
    assert Selection(layers).has_tokens and not Selection(layers, "cls").has_tokens
