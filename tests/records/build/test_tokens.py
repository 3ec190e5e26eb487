"""Units of text to ids: what is kept, what is counted, and where units of the corpus start."""

import json
import random

import numpy as np
import pytest

from bert_tf.corpus import units
from bert_tf.options import PretrainingData
from bert_tf.records.build import tokens
from bert_tf.records.build.tokens import UnitTokenizer
from bert_tf.text import graph
from bert_tf.text.vocab import Vocabulary
from tests.reference import text_samples

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["a", "b", "c", "new", "york", "city", ",", ".", "-", "北", "京", "大", "学"]
CONTINUATIONS = ["##a", "##b", "##er", "##s"]
VOCABULARY = Vocabulary(SPECIAL + WORDS + CONTINUATIONS)
UNK = 1
FEW_SENTENCES = "a b c\n\n\u200b\nb\n\na\n\nnew york\ncity .\na ,\n"


def tokenizer(**kwargs):
    kwargs = {"max_seq_length": 128} | kwargs
    return UnitTokenizer(
        VOCABULARY,
        PretrainingData(input_file="i", output_file="o", vocab_file="v", **kwargs),
    )


def unit_of(data, unit_format="sentences"):
    data = data.encode() if isinstance(data, str) else data
    return units.Unit("file", unit_format, 0, 1, data, len(data))


def unit_of_json(*records):
    return unit_of("".join(json.dumps(record) + "\n" for record in records), "jsonl")


def tokens_of(found):
    """The documents as lists of sentences, each the tokens joined with blanks."""
    read, first, start = [], 0, 0
    for last in found.document_ends:
        read.append([])
        for end in found.sentence_ends[first:last]:
            read[-1].append(" ".join(VOCABULARY.tokens[i] for i in found.ids[start:end]))
            start = end
        first = last
    assert first == len(found.sentence_ends)
    assert start == len(found.ids)
    return read


def groups_of_corpus(found):
    """The units of each sentence, tokens joined with "+"."""
    read, start = [], 0
    for end in found.sentence_ends:
        words = []
        for place in range(start, end):
            token = VOCABULARY.tokens[found.ids[place]]
            if found.group_starts[place]:
                words.append(token)
            else:
                words[-1] += "+" + token
        read.append(words)
        start = end
    return read


def test_documents_as_arrays():
    found, counts = tokenizer()(unit_of("a b\nc , a\n\nnewer\nb\nyorks\n"))
    assert found.ids.dtype == np.int32
    assert found.group_starts is None
    assert found.sentence_ends.tolist() == [2, 5, 7, 8, 10]
    assert found.document_ends.tolist() == [2, 5]
    assert tokens_of(found) == [["a b", "c , a"], ["new ##er", "b", "york ##s"]]
    assert (counts.num_documents, counts.num_sentences, counts.num_tokens) == (2, 5, 10)
    assert (counts.num_short_documents, counts.num_short_tokens, counts.num_unknown) == (0, 0, 0)
    assert counts.num_bytes == len("a b\nc , a\n\nnewer\nb\nyorks\n")


@pytest.mark.parametrize("example_type", ["nsp", "sop"])
def test_pairs_leave_short_documents_out(example_type):
    """A sentence of a zero-width space gives no token, so its document has one sentence."""
    found, counts = tokenizer(example_type=example_type)(unit_of(FEW_SENTENCES))
    assert tokens_of(found) == [["new york", "city .", "a ,"]]
    assert (counts.num_documents, counts.num_short_documents) == (4, 3)
    assert (counts.num_sentences, counts.num_tokens) == (7, 11)
    assert counts.num_short_tokens == 5


@pytest.mark.parametrize("example_type", ["full_sentences", "doc_sentences", "packed"])
def test_single_sequences_take_documents_of_one_sentence(example_type):
    found, counts = tokenizer(example_type=example_type)(unit_of(FEW_SENTENCES))
    assert tokens_of(found) == [["a b c"], ["b"], ["a"], ["new york", "city .", "a ,"]]
    assert (counts.num_documents, counts.num_short_documents) == (4, 0)
    assert counts.num_short_tokens == 0


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_document_without_tokens_at_the_start_in_the_middle_and_at_the_end(place):
    texts = ["a\nb", "b\nc"]
    texts.insert(place, "\u200b\n\u200b\n\u200b")
    for example_type in ("nsp", "packed"):
        found, counts = tokenizer(example_type=example_type)(unit_of("\n\n".join(texts)))
        assert tokens_of(found) == [["a", "b"], ["b", "c"]]
        assert (counts.num_documents, counts.num_short_documents) == (3, 1)
        assert (counts.num_tokens, counts.num_short_tokens) == (4, 0)


@pytest.mark.parametrize("lines", ["\u200b a b c", "a \u200b b c", "a b c \u200b", "a b \u200b c"])
def test_sentences_without_tokens_go(lines):
    found, counts = tokenizer()(unit_of("\n".join(lines.split())))
    assert tokens_of(found) == [["a", "b", "c"]]
    assert counts.num_sentences == 4


@pytest.mark.parametrize("example_type", ["nsp", "packed"])
@pytest.mark.parametrize("text", ["", "\n\n", "\u200b", "\u200b\n\u200b\n\n\u200b"])
@pytest.mark.parametrize("more", [{}, {"mask_granularity": "word", "segmented_text": True}])
def test_a_unit_without_tokens(example_type, text, more):
    found, counts = tokenizer(example_type=example_type, **more)(unit_of(text))
    assert tokens_of(found) == []
    assert counts.num_tokens == 0
    assert counts.num_documents == counts.num_short_documents


def test_records_without_text_are_documents_without_sentences():
    records = [{"text": ""}, {"text": ["a", "b"]}, {"text": []}]
    found, counts = tokenizer()(unit_of_json(*records))
    assert tokens_of(found) == [["a", "b"]]
    assert (counts.num_documents, counts.num_short_documents) == (3, 2)


def test_other_field_and_dropped_spans():
    record = {"body": ["a b", "c"], "spans": [[[0, 1], [0, 3]], []]}
    found, counts = tokenizer(text_field="body")(unit_of_json(record, record))
    assert tokens_of(found) == [["a b", "c"]] * 2
    assert counts.num_dropped_spans == 2  # one of two that overlap, twice


def test_invalid_lines_and_unknown_words():
    data = b"a zzz\nb\n" * 9 + b"a \xff b\nqq q\n"
    found, counts = tokenizer()(unit_of(data))
    assert counts.num_invalid_lines == 1
    assert counts.num_unknown == 9 + 2
    assert tokens_of(found)[0][-2:] == ["a b", "[UNK] [UNK]"]


def test_long_sentences_are_cut_at_words():
    """13 positions leave 10 tokens for a pair, so 5 for a sentence."""
    lines = "newer " * 4 + "\n" + "a b c a b\n"  # 8 tokens and 5
    found, counts = tokenizer(max_seq_length=13)(unit_of(lines))
    assert tokens_of(found) == [["new ##er new ##er", "new ##er new ##er", "a b c a b"]]
    assert (counts.num_sentences, counts.num_tokens) == (2, 13)
    # Three parts of 11 tokens: 4, and 4 would be inside a word.
    found, _ = tokenizer(max_seq_length=13)(unit_of("a a a newer newer newer newer\n\u200b\nb"))
    assert tokens_of(found) == [["a a a", "new ##er new ##er", "new ##er new ##er", "b"]]


def test_a_long_sentence_is_two_that_follow_each_other():
    found, counts = tokenizer(max_seq_length=13)(unit_of("a\n\na b c a b c\n\nb\n"))
    assert tokens_of(found) == [["a b c", "a b c"]]
    assert (counts.num_short_documents, counts.num_short_tokens) == (2, 2)


def test_single_sequences_hold_longer_sentences():
    text = "a b c a b c a b c a b\n"  # 11 tokens fit into 13 positions
    found, _ = tokenizer(example_type="packed", max_seq_length=13)(unit_of(text))
    assert tokens_of(found) == [[text.strip()]]


def test_chunks_of_segmented_text_are_units():
    text = "北京 大学 newer,a\n大学\u3000北 \u200b 京\n"
    found, _ = tokenizer(mask_granularity="word", segmented_text=True)(unit_of(text))
    assert groups_of_corpus(found) == [
        ["北+京", "大+学", "new+##er+,+a"],
        ["大+学", "北", "京"],
    ]


def test_unknown_words_are_chunks_too():
    found, _ = tokenizer(mask_granularity="ngram", segmented_text=True)(unit_of("zzz北 京\nb zz\n"))
    assert groups_of_corpus(found) == [["[UNK]+北", "京"], ["b", "[UNK]"]]


def test_spans_are_units_and_other_words_as_well():
    text = ["newer new york city, a", "York City newers"]
    spans = [[[6, 19]], [[0, 4]]]
    found, _ = tokenizer(mask_granularity="span")(unit_of_json({"text": text, "spans": spans}))
    assert groups_of_corpus(found) == [
        ["new+##er", "new+york+city", ",", "a"],
        ["york", "city", "new+##er+##s"],
    ]


def test_spans_that_touch_or_cut_words():
    """A word that a span cuts: tokens that hold any of the span belong to it."""
    text = ["new york city", "newer newers", "a b c"]
    spans = [[[4, 8], [8, 13]], [[1, 2], [6, 9]], [[0, 5]]]
    found, _ = tokenizer(mask_granularity="span")(unit_of_json({"text": text, "spans": spans}))
    assert groups_of_corpus(found) == [
        ["new", "york", "city"],
        ["new", "##er", "new", "##er+##s"],
        ["a+b+c"],
    ]


def test_a_token_of_two_spans_belongs_to_the_first():
    record = {"text": ["newer york city", "b"], "spans": [[[0, 8], [8, 15]], []]}
    found, _ = tokenizer(mask_granularity="span")(unit_of_json(record))
    assert groups_of_corpus(found) == [["new+##er+york", "city"], ["b"]]


def test_spans_of_running_text_follow_their_sentence():
    text = "We saw it. New York City, it was big. They left."
    start = text.index("New York City")
    record = {"text": text, "spans": [[start, start + len("New York City")]]}
    found, _ = tokenizer(mask_granularity="span")(unit_of_json(record))
    assert groups_of_corpus(found) == [
        ["[UNK]"] * 3 + ["."],
        ["new+york+city", ","] + ["[UNK]"] * 3 + ["."],
        ["[UNK]"] * 2 + ["."],
    ]


def test_without_spans_units_are_words():
    found, _ = tokenizer(mask_granularity="span")(unit_of("newer b\nyorks\n"))
    assert groups_of_corpus(found) == [["new+##er", "b"], ["york+##s"]]


def test_long_sentences_are_cut_between_groups_of_the_corpus():
    """Five tokens a sentence at the most; of seven the middle is inside of a unit."""
    segmented = tokenizer(mask_granularity="word", segmented_text=True, max_seq_length=13)
    found, _ = segmented(unit_of("a 北京大学 b c\n"))
    assert groups_of_corpus(found) == [["a"], ["北+京+大+学"], ["b", "c"]]
    found, _ = segmented(unit_of("北京大学京 b\n"))
    assert groups_of_corpus(found) == [["北+京+大+学+京"], ["b"]]


@pytest.mark.parametrize("bytes_in_python", [0, 2**20], ids=["graph", "python"])
@pytest.mark.parametrize("do_lower_case", [True, False])
def test_all_tokenizers_give_the_same_ids(do_lower_case, bytes_in_python, monkeypatch):
    """With and without offsets; also of every kind of white space and of bytes that are no text."""
    monkeypatch.setattr(tokens, "_BYTES_IN_PYTHON", bytes_in_python)
    rng = random.Random(7)
    lines = [text.encode() for text in text_samples.strings(rng, 211)]
    lines += text_samples.invalid_utf8(rng, 17)
    unit = unit_of(b"\n".join(line.replace(b"\n", b" ") for line in lines))
    vocabulary = Vocabulary(text_samples.vocabulary(do_lower_case))
    options = {"input_file": "i", "output_file": "o", "vocab_file": "v"}
    options |= {"do_lower_case": do_lower_case, "example_type": "packed", "max_seq_length": 17}
    fast = UnitTokenizer(vocabulary, PretrainingData(**options))
    with_groups = UnitTokenizer(vocabulary, PretrainingData(mask_granularity="span", **options))
    found, counts = fast(unit)
    other, other_counts = with_groups(unit)
    assert len(found.ids) > 2000
    assert other.ids.tolist() == found.ids.tolist()
    assert other_counts == counts
    assert counts.num_invalid_lines > 5
    # Without spans units are words, so that sentences are cut at the same places.
    assert other.sentence_ends.tolist() == found.sentence_ends.tolist()
    assert other.document_ends.tolist() == found.document_ends.tolist()


def test_much_text_goes_on_as_a_graph(monkeypatch):
    made = []
    make = graph.GraphTokenizer
    monkeypatch.setattr(graph, "GraphTokenizer", lambda *each: made.append(each) or make(*each))
    monkeypatch.setattr(tokens, "_BYTES_IN_PYTHON", 11)
    convert = tokenizer()
    for sentences, num_graphs in ((["a b", "b"], 0), (["a b c", "c , a"], 1), (["b", "c"], 1)):
        found, _ = convert(unit_of("\n".join(sentences)))
        assert tokens_of(found) == [sentences]
        assert len(made) == num_graphs


def test_groups_of_documents_left_out_go_with_them():
    found, counts = tokenizer(mask_granularity="span")(
        unit_of_json(
            {"text": ["a b"], "spans": [[[0, 3]]]},
            {"text": ["c", "b c"], "spans": [[], [[0, 3]]]},
        )
    )
    assert groups_of_corpus(found) == [["c"], ["b+c"]]
    assert counts.num_short_tokens == 2
