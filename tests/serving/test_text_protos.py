import pytest

from bert_tf.errors import InputError
from serving import text_protos

MESSAGES = {
    "Inner": {"names": (1, "repeated string")},
    "Outer": {"size": (2, "Int64Value"), "inner": (3, "Inner"), "key": (4, "bytes")},
}


def parse(tmp_path, text):
    path = tmp_path / "file.pbtxt"
    path.write_text(text)
    return text_protos.parse_file(
        str(path), text_protos.message_classes(MESSAGES)["Outer"](), "--flag=F"
    )


def test_text_becomes_a_message(tmp_path):
    message = parse(tmp_path, 'size { value: 0 } inner { names: "a" names: "b" } key: "\\001"')
    assert message.HasField("size") and message.size.value == 0
    assert list(message.inner.names) == ["a", "b"]
    assert message.key == b"\x01"
    assert not parse(tmp_path, "").HasField("size")
    # The wire format has the numbers that were given: field 2, a message of 0 bytes.
    assert parse(tmp_path, "size {}").SerializeToString() == b"\x12\x00"


def test_what_is_wrong_is_named(tmp_path):
    with pytest.raises(InputError, match=r"^--flag=F: Invalid protobuf file: .*1:1.*wrong"):
        parse(tmp_path, "wrong: 1")
    with pytest.raises(InputError, match="--flag=F cannot be read: "):
        text_protos.parse_file(str(tmp_path / "none"), None, "--flag=F")
