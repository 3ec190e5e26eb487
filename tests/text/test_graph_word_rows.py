"""The rows of words are those that `Tagging` makes of a sentence."""

import random

import pytest
import tensorflow as tf

from bert_tf import features
from bert_tf.examples.labelled import TokenExample
from bert_tf.tasks import registry
from bert_tf.text.graph_word_rows import WordRows
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

VOCABULARY = Vocabulary("[PAD] [UNK] [CLS] [SEP] [MASK] a b ##a ##b".split())
MAX_SEQ_LENGTH = 13


def sentences():
    """Words of up to 16 wordpieces, and words without any; sentences of 0 to 97 words."""
    rng = random.Random(79)
    words = ["a", "b", "ab", "abba", "ab" * 5, "ab" * 6, "ab" * 8, "\u200b", "\x00"]
    sizes = [0, 1, 2, 0, 97, *(rng.randint(0, 30) for _ in range(29)), 0]
    return [tuple(rng.choices(words, k=size)) for size in sizes]


@pytest.mark.parametrize("document_context", [False, True])
@pytest.mark.parametrize("max_seq_length", [3, MAX_SEQ_LENGTH])
def test_rows_are_those_of_the_task(document_context, max_seq_length):
    given = sentences()
    assert wanted_rows([], document_context, max_seq_length) == got_rows(
        [()], document_context, max_seq_length
    )
    for batch in (given, given[4:5], given[:1]):
        wanted = wanted_rows(batch, document_context, max_seq_length)
        assert got_rows(batch, document_context, max_seq_length) == wanted


def wanted_rows(batch, document_context, max_seq_length):
    """(row of ids, positions of the words in it) of every row that has words."""
    task = registry.get("conll-2003").with_settings({"document_context": document_context})
    tokenizer = WordPieceTokenizer(VOCABULARY, do_lower_case=True)
    examples = [TokenExample("", words) for words in batch if words]
    rows = task.encode(examples, tokenizer, max_seq_length)
    labels = rows.labels[features.TOKEN_LABEL_IDS.name]
    return [
        (list(ids), [i for i, label in enumerate(of_row) if label >= 0])
        for ids, of_row in zip(rows.word_ids, labels, strict=True)
    ]


def got_rows(batch, document_context, max_seq_length):
    tokenizer = WordPieceTokenizer(VOCABULARY, do_lower_case=True)
    ids = [tokenizer.encode(word) for words in batch for word in words]
    ragged = tf.RaggedTensor.from_row_lengths(
        tf.constant([index for of_word in ids for index in of_word], tf.int32),
        tf.constant([len(of_word) for of_word in ids], tf.int64),
    )
    sizes = tf.constant([0, *map(len, batch)], tf.int32)
    rows = WordRows(ragged, tf.cumsum(sizes), VOCABULARY, max_seq_length, document_context)
    lengths = rows.lengths.numpy().tolist()
    inputs = rows.batch(tf.range(len(lengths)), max_seq_length)
    found = []
    for number, length in enumerate(lengths):
        of_row = inputs[features.WORD_IDS.name][number].numpy().tolist()
        assert inputs[features.MASK.name][number].numpy().sum() == length
        assert not any(of_row[length:])
        position = rows.position.numpy()[rows.row.numpy() == number]
        found.append((of_row[:length], position.tolist()))
    assert not inputs[features.TYPE_IDS.name].numpy().any()
    return found
