"""Rows of a file, in requests. Those of the command line are in test_command.py."""

import pytest

from bert_tf.errors import InputError
from serving.client import rows


def test_all_requests_have_as_many_rows():
    lines = [b"a", b"", b"b", b" ", b"c"]
    assert rows.from_lines(lines, ["text"], 2) == [{"text": [b"a", b"b"]}, {"text": [b"c", b"a"]}]
    assert rows.from_lines([b"a"], ["text"], 3) == [{"text": [b"a"] * 3}]


def test_texts_of_a_row_are_separated_by_tabs():
    pairs = rows.from_lines([b"q\tc"], ["question", "context"], 1)
    assert pairs == [{"question": [b"q"], "context": [b"c"]}]
    choices = rows.from_lines([b"he\ta\tb", b"she\tc"], ["context", "choices"], 2)
    assert choices == [{"context": [b"he", b"she"], "choices": [[b"a", b"b"], [b"c", b""]]}]
    with pytest.raises(InputError, match="Row 2 of --input_file holds 1 texts; the model takes 2"):
        rows.from_lines([b"a\tb", b"c"], ["text_a", "text_b"], 1)
    with pytest.raises(InputError, match="has no rows"):
        rows.from_lines([b"", b" "], ["text"], 1)
