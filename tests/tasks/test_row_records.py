"""The records of a training set are made once, and hold what `Task.encode` makes in memory."""

import dataclasses
import os

import numpy as np
import pytest

from bert_tf.examples.labelled import TextExample
from bert_tf.tasks import encoding, registry, row_records
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefgh"]
EXAMPLES = [
    TextExample(str(number), " ".join("abcdefgh"[: 1 + number % 7]), None, "xyz"[number % 3])
    for number in range(17)
]
LENGTH = 11
TOKENIZER = WordPieceTokenizer(Vocabulary(TOKENS), do_lower_case=True)
TASK = registry.get("tsv").with_num_texts(1).with_labels("xyz", 1)


@pytest.fixture
def made(tmp_path, capsys):
    """`made(examples)`: (rows in records, what was printed, the same in memory)."""

    def make(examples=EXAMPLES):
        directory = str(tmp_path / "train_records")
        found = row_records.of(directory, TASK, examples, TOKENIZER, LENGTH)
        return found, capsys.readouterr().out, TASK.encode(list(examples), TOKENIZER, LENGTH)

    return make


def assert_same(found, wanted):
    assert found.digest() == wanted.digest()
    indices = np.arange(len(wanted))
    for name, values in wanted.batch(indices).items():
        np.testing.assert_array_equal(found.batch(indices)[name], values)


def test_records_hold_the_rows_and_are_used_again(made):
    found, printed, wanted = made()
    assert_same(found, wanted)
    assert "train_records, 17 rows\n" in printed
    before = os.stat(found.path).st_ino
    again, printed, _ = made()
    assert "train_records, 17 rows from before\n" in printed
    assert os.stat(again.path).st_ino == before
    assert_same(again, wanted)


def test_other_data_replaces_the_records(made):
    made()
    found, printed, wanted = made(EXAMPLES[1:])
    assert "16 rows\n" in printed
    assert_same(found, wanted)


def test_a_stream_of_examples_may_end_early(made, tmp_path):
    (tmp_path / "train.tsv").write_text("text_a\tlabel\n" + "a\tx\nb\ty\nc\tz\n")
    task = registry.get("tsv").with_labels("xyz", 1)
    examples = row_records.FileExamples(task, str(tmp_path), 2)
    assert [each.text_a for each in examples] == ["a", "b"]
    assert len(examples) == 2
    found, _, _ = made(examples)
    assert len(found) == 2


def test_large_sets_are_encoded_in_worker_processes(made, monkeypatch):
    monkeypatch.setattr(encoding, "_MIN_FOR_WORKERS", 10)
    monkeypatch.setattr(encoding, "_PER_TASK", 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    weighted = [*EXAMPLES[:14], dataclasses.replace(EXAMPLES[14], weight=2.0)]
    found, _, wanted = made(weighted)
    assert_same(found, wanted)
    assert_same(encoding.rows(TASK, weighted, TOKENIZER, LENGTH), wanted)


def test_every_process_of_a_run_has_records_of_its_own(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert row_records.directory("out") == "out/train_records"
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {}, "task": {"type": "worker", "index": 1}}')
    assert row_records.directory("out") == "out/train_records-worker-1"
