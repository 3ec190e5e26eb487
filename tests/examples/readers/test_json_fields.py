"""A value of a JSON object is of its type, or the message says where it is not."""

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.readers import json_fields


def test_a_field_is_of_its_type_or_refused():
    assert json_fields.field({"a": 1}, "a", int, "here") == 1
    assert json_fields.field({}, "a", list, "here", []) == []
    for holder, message in [
        ([], "here is a list; an object with 'a' was wanted"),
        ({"b": 1, "c": 2}, "here has no 'a', only b, c"),
        ({"a": "1"}, "here: 'a' is a str, wanted a int"),
    ]:
        with pytest.raises(InputError, match=message):
            json_fields.field(holder, "a", int, "here")
