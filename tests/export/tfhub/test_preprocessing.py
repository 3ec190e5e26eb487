"""The preprocessing SavedModel: ids against the reference tokenizer, rows against tf-text."""

import random

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_text as tf_text

from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer
from export.images import operations, saved_model
from export.tfhub.preprocessing import Preprocessor
from tests.reference import full_tokenizer, text_samples

SEQ_LENGTH = 19
TEXTS = ["naïve café", "", "the Straße, unaffable!", "東京タワー don't", "xyzzy " * 40]


@pytest.fixture(scope="module")
def vocabulary():
    return Vocabulary(text_samples.vocabulary(True))


@pytest.fixture(scope="module")
def path(vocabulary, tmp_path_factory):
    folder = tmp_path_factory.mktemp("preprocessor")
    vocab_file = folder / "vocab.txt"
    vocab_file.write_bytes(vocabulary.text.encode())
    module = Preprocessor(
        GraphTokenizer(vocabulary, True), str(vocab_file), SEQ_LENGTH, has_offsets=True
    )
    tf.saved_model.save(module, str(folder / "saved"), signatures=module.signatures())
    vocab_file.unlink()  # the SavedModel has its own
    return folder / "saved"


@pytest.fixture(scope="module")
def loaded(path):
    return tf.saved_model.load(str(path))


def by_reference(text, vocabulary, seq_length):
    """What tf-text makes of the reference's wordpieces."""
    tokens = set(vocabulary.tokens)
    ids = [vocabulary.ids[token] for token in full_tokenizer.tokenize(text, tokens, True)]
    return by_tf_text([tf.RaggedTensor.from_row_lengths(ids, [len(ids)])], vocabulary, seq_length)


def by_tf_text(segments, vocabulary, seq_length):
    """`bert_pack_inputs` as Model Garden writes it, with the classes of tf-text."""
    flat = [ids.merge_dims(1, -1) if ids.ragged_rank > 1 else ids for ids in segments]
    flat = [tf.cast(ids, tf.int32) for ids in flat]
    room = max(0, seq_length - len(flat) - 1)
    trimmed = tf_text.RoundRobinTrimmer(room).trim(flat)
    combined, types = tf_text.combine_segments(
        trimmed, tf.constant(vocabulary.cls_id), tf.constant(vocabulary.sep_id)
    )
    word_ids, mask = tf_text.pad_model_inputs(combined, seq_length)
    type_ids, _ = tf_text.pad_model_inputs(types, seq_length)
    return {"input_word_ids": word_ids, "input_mask": mask, "input_type_ids": type_ids}


def assert_same(got, want):
    assert got.keys() == want.keys()
    for name, column in want.items():
        assert got[name].dtype == tf.int32, name
        assert got[name].numpy().tolist() == np.asarray(column).tolist(), name


@pytest.mark.parametrize("training", [False, True])
def test_a_call_gives_rows_of_the_default_length(loaded, vocabulary, training):
    got = loaded(tf.constant(TEXTS), training=training)
    assert got["input_word_ids"].shape == (len(TEXTS), SEQ_LENGTH)
    for index, text in enumerate(TEXTS):
        want = by_reference(text, vocabulary, SEQ_LENGTH)
        assert_same({name: x[index : index + 1] for name, x in got.items()}, want)


def test_a_call_and_the_signature_take_any_number_of_texts(loaded, vocabulary):
    want = by_reference(TEXTS[0], vocabulary, SEQ_LENGTH)
    assert_same(loaded.signatures["serving_default"](sentences=tf.constant(TEXTS[:1])), want)
    assert_same(loaded(tf.constant(TEXTS[:1]), seq_length=7), by_reference(TEXTS[0], vocabulary, 7))
    assert loaded(tf.constant([], tf.string))["input_mask"].shape == (0, SEQ_LENGTH)


def test_long_texts_in_rows_of_every_length(loaded, vocabulary):
    """Rows of the default length and below read no more of a text than they need."""
    text = "the xyzzy, " * 97
    texts = tf.constant([text * 211, "the"])  # long enough to be read in parts
    for seq_length in (5, SEQ_LENGTH, 61):
        got = loaded(texts, seq_length=seq_length)
        assert_same({n: x[:1] for n, x in got.items()}, by_reference(text, vocabulary, seq_length))
        assert_same({n: x[1:] for n, x in got.items()}, by_reference("the", vocabulary, seq_length))


def test_tokenize_gives_wordpieces_by_text_and_word(loaded, vocabulary):
    texts = [*TEXTS, *text_samples.strings(random.Random(41), 307)]
    tokens = set(vocabulary.tokens)
    want = [
        [
            [vocabulary.ids[token] for token in full_tokenizer.cut(word, tokens)]
            for word in full_tokenizer.split_into_words(text, True)
        ]
        for text in texts
    ]
    got = loaded.tokenize(tf.constant(texts))
    assert got.dtype == tf.int32 and got.ragged_rank == 2 and got.to_list() == want
    assert loaded.tokenize(tf.constant([], tf.string)).to_list() == []


def test_the_special_tokens(loaded, vocabulary):
    got = loaded.tokenize.get_special_tokens_dict()
    assert {name: int(value) for name, value in got.items()} == {
        "vocab_size": len(vocabulary),
        "start_of_sequence_id": vocabulary.ids["[CLS]"],
        "end_of_segment_id": vocabulary.ids["[SEP]"],
        "padding_id": vocabulary.ids["[PAD]"],
        "mask_id": vocabulary.ids["[MASK]"],
    }


def ragged(rng, num_rows, ragged_rank):
    """Random ids, int32 ragged [B (T)] or [B (words) (wordpieces)]."""
    lengths = [[rng.randint(0, 4) for _ in range(rng.randint(0, 7))] for _ in range(num_rows)]
    rows = [[[rng.randint(5, 99) for _ in range(n)] for n in words] for words in lengths]
    ids = tf.ragged.constant(rows, tf.int32, ragged_rank=2)
    return ids if ragged_rank == 2 else ids.merge_dims(1, 2)


@pytest.mark.parametrize("ragged_rank", [1, 2])
@pytest.mark.parametrize("num_segments", [1, 2])
def test_rows_of_ids_are_those_of_tf_text(loaded, vocabulary, num_segments, ragged_rank):
    rng = random.Random(43)
    for seq_length in (1, 2, 3, 4, 5, 8, 11, 24, 61):
        segments = [ragged(rng, 29, ragged_rank) for _ in range(num_segments)]
        got = loaded.bert_pack_inputs(segments, seq_length=tf.constant(seq_length))
        assert_same(got, by_tf_text(segments, vocabulary, seq_length))
    got = loaded.bert_pack_inputs(segments)
    assert_same(got, by_tf_text(segments, vocabulary, SEQ_LENGTH))


def test_tokens_of_two_texts_are_packed_as_they_are(loaded, vocabulary):
    segments = [loaded.tokenize(tf.constant(texts)) for texts in (TEXTS, TEXTS[::-1])]
    got = loaded.bert_pack_inputs(segments, seq_length=13)
    assert_same(got, by_tf_text(segments, vocabulary, 13))


def test_offsets_are_bytes_of_the_text_as_it_was_given(loaded):
    """What lower-casing makes shorter or longer does not move the offsets of what follows."""
    text = "İstanbul ÅNGSTRÖM e\u0301\u0323 ﬁne 東京 Straße"
    ids, starts, limits = loaded.tokenize_with_offsets(tf.constant([text]))
    assert ids.dtype == tf.int32 and starts.dtype == limits.dtype == tf.int64
    assert ids.to_list() == loaded.tokenize(tf.constant([text])).to_list()
    words = zip(starts[0].to_list(), limits[0].to_list(), strict=True)
    cut = [text.encode()[start[0] : limit[-1]].decode() for start, limit in words]
    assert cut == ["İstanbul", "ÅNGSTRÖM", "e\u0301\u0323", "ﬁne", "東", "京", "Straße"]


def byte_spans(data):
    """(start, limit) of each character of bytes; those that are not UTF-8 are no characters."""
    spans, at = [], 0
    while at < len(data):
        sizes = [n for n in range(1, 5) if is_character(data[at : at + n])]
        if sizes:
            spans.append((at, at + sizes[0]))
        at += sizes[0] if sizes else 1
    return spans


def is_character(data):
    try:
        return len(data.decode("utf-8")) == 1
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize("make", [text_samples.strings, text_samples.invalid_utf8])
def test_offsets_equal_those_of_python(loaded, vocabulary, make):
    texts = make(random.Random(47), 211)
    texts = [text if isinstance(text, bytes) else text.encode() for text in texts]
    ids, *offsets = loaded.tokenize_with_offsets(tf.constant(texts))
    assert ids.to_list() == loaded.tokenize(tf.constant(texts)).to_list()
    tokenizer = WordPieceTokenizer(vocabulary, True)
    for text, *got in zip(texts, *(x.merge_dims(1, 2).to_list() for x in offsets), strict=True):
        chars = byte_spans(text)
        _, spans = tokenizer.encode_with_offsets(text)
        want = [(chars[start][0], chars[end - 1][1]) for start, end in spans]
        assert list(zip(*got, strict=True)) == want, text


def test_old_servers_have_its_operations(path, vocabulary):
    findings = operations.check(saved_model.read(str(path)))
    assert findings.text_operations == (
        "FastBertNormalize",
        "FastWordpieceTokenizeWithOffsets",
        "NormalizeUTF8",
    )
    assert (path / "assets" / "vocab.txt").read_bytes() == vocabulary.text.encode()
