"""TFRecord files as TensorFlow reads them, whole or not at all."""

import hashlib
import os

import numpy as np
import pytest
import tensorflow as tf

from bert_tf.records.build import write

RECORDS = [b"one", b"", b"x" * 300, b"two", b"y" * 70_001]


def batch(records):
    return np.frombuffer(b"".join(records), np.uint8), np.cumsum([len(r) for r in records])


def test_the_bytes_are_those_of_tensorflow(tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    empty = np.empty(0, np.uint8), np.empty(0, np.int64)
    done = write.write_records(str(ours), [batch(RECORDS[:2]), empty, batch(RECORDS[2:])])
    with tf.io.TFRecordWriter(str(theirs)) as writer:
        for record in RECORDS:
            writer.write(record)
    data = theirs.read_bytes()
    assert ours.read_bytes() == data
    assert done == len(RECORDS)


def test_joined_files_are_one(tmp_path):
    whole, parts = tmp_path / "whole", [tmp_path / name for name in "ab"]
    write.write_records(str(whole), [batch(RECORDS)])
    counts = [write.write_records(str(parts[0]), [batch(RECORDS[:2])])]
    counts.append(write.write_records(str(parts[1]), [batch(RECORDS[2:])]))
    done = write.join(str(tmp_path / "joined"), zip(map(str, parts), counts, strict=True))
    data = whole.read_bytes()
    assert (tmp_path / "joined").read_bytes() == data
    sha256 = hashlib.sha256(data).hexdigest()
    assert done == {"records": len(RECORDS), "bytes": len(data), "sha256": sha256}
    assert sorted(os.listdir(tmp_path)) == ["joined", "whole"]


def interrupted():
    yield batch(RECORDS)
    raise KeyboardInterrupt


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "a"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        write.write_records(str(path), interrupted())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a"]


def test_other_errors_of_the_system_pass(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileExistsError):
        write.write_records(str(tmp_path / "file" / "a"), [])
