"""Objects and lines come one at a time, whatever the chunks, and wrong files are explained."""

import io
import json
import random

import pytest

from bert_tf.errors import InputError
from bert_tf.tasks.question_sets import json_stream


class Counted(io.BytesIO):
    """Bytes that say how many of them have been read."""

    num_read = 0

    def read(self, size=-1):
        data = super().read(size)
        self.num_read += len(data)
        return data


def objects(text):
    return list(json_stream.objects(io.BytesIO(text.encode()), "a.json", "Data"))


@pytest.mark.parametrize("chunk", [37, 40, 53, 64, 2**20])
@pytest.mark.parametrize("indent", [None, 4])
def test_objects_are_those_of_the_array_whatever_the_size_of_a_chunk(monkeypatch, chunk, indent):
    monkeypatch.setattr(json_stream, "_CHUNK", chunk)
    random.seed(chunk)
    letters = 'ab"\\{}[],: \n\u00e9\u4e2d\U0001f600'
    wanted = [
        {"name": "".join(random.choices(letters, k=random.randrange(90))), "numbers": [k, -1.5e3]}
        for k in range(20)
    ]
    document = {"Data": wanted, "Domain": "Web", "Version": 1.0}
    found = objects(json.dumps(document, ensure_ascii=False, indent=indent))
    assert [value for _, value in found] == wanted
    assert [where for where, _ in found] == [f"a.json: Data[{k}]" for k in range(20)]


def test_objects_are_read_as_they_are_wanted(monkeypatch):
    monkeypatch.setattr(json_stream, "_CHUNK", 100)
    stream = Counted(json.dumps({"Data": [{"number": k} for k in range(1000)]}).encode())
    found = json_stream.objects(stream, "a.json", "Data")
    assert [next(found)[1] for _ in range(5)] == [{"number": k} for k in range(5)]
    assert stream.num_read <= 200


def test_a_byte_order_mark_and_an_empty_array():
    assert objects('\ufeff{"Data": [{}]}') == [("a.json: Data[0]", {})]
    assert objects('{"Data": [ ]}') == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"data": [{}]}', r"another layout: .* an array 'Data' was wanted, and it begins with"),
        ('{"Data": [{"a": 1}, {"b": "cut', r"Data\[1\] is not JSON, or the file is cut short"),
        ('{"Data": [{"a": 1}', r"Data\[1\] is not JSON, or the file is cut short"),
        ('{"Data": [{"a" 1}, {"b": 2}]}', r"Data\[0\] is not JSON, .*Expecting ':' delimiter"),
    ],
)
def test_a_wrong_file_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        objects(text)


def test_text_that_is_not_utf_8_is_refused():
    with pytest.raises(InputError, match="a.json is not UTF-8"):
        list(json_stream.objects(io.BytesIO(b'{"Data": ["\xff"]}'), "a.json", "Data"))


def test_lines_have_their_numbers_and_blank_ones_do_not_count():
    stream = io.BytesIO(b'\xef\xbb\xbf{"a": 1}\n\n{"a": 2}\r\n')
    assert list(json_stream.lines(stream, "a.jsonl")) == [
        ("a.jsonl, line 1", {"a": 1}),
        ("a.jsonl, line 3", {"a": 2}),
    ]


@pytest.mark.parametrize("line", [b"{", b'{"a": "\xff"}'])
def test_a_line_that_is_not_json_is_refused(line):
    with pytest.raises(InputError, match="a.jsonl, line 2: this is not JSON"):
        list(json_stream.lines(io.BytesIO(b"{}\n" + line), "a.jsonl"))
