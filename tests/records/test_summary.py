"""The summary counts what passes by."""

from bert_tf.examples import pairs
from bert_tf.examples.pretraining import PretrainingExample
from bert_tf.options import PretrainingData
from bert_tf.records.summary import Summary
from bert_tf.text import documents
from bert_tf.text.vocab import Vocabulary

VOCABULARY = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "b", "c"])
OPTIONS = PretrainingData(input_file="i", output_file="o", vocab_file="v", max_seq_length=10)


def document(sentences, num_invalid_lines=0):
    text = documents.Document(["x"] * len(sentences), "file:1", 100, num_invalid_lines)
    return text, pairs.document(0, sentences, 100, 30, VOCABULARY.continuations)


def test_counts_and_text():
    summary = Summary(VOCABULARY, OPTIONS)
    summary.add_document(*document([[5, 6, 1], [7]]))
    summary.add_document(*document([[5, 5, 5, 5]], num_invalid_lines=2))
    # Of three tokens to predict one is masked, one replaced, one kept.
    example = PretrainingExample(
        [2, 4, 7, 3, 6, 3], [0, 0, 0, 0, 1, 1], [1, 2, 4], [5, 5, 6], True, True
    )
    summary.add_example(example)
    summary.add_example(example._replace(is_random_next=False))
    assert (summary.num_lines, summary.num_text_tokens, summary.num_unknown) == (3, 8, 1)
    assert (summary.num_masked, summary.num_randomized, summary.num_kept) == (2, 2, 2)
    text = summary.text()
    assert "Read 2 documents, 3 sentences, 8 tokens" in text
    assert "Wrote 2 examples, 12 tokens; 60.0 % of the positions" in text
    assert "Tokens to predict: 100.0 % of the text; [MASK] stands for 33.3 %" in text
    assert "Second text from another document: 50.0 %." in text
    assert "1 documents have fewer than two sentences and were left out (50.0 % of the" in text
    assert "2 lines are not UTF-8" in text
    assert "12.5 % of the tokens are [UNK]" in text
    assert "1 would be enough for --max_seq_length=10" in text


def test_nothing_to_warn_of():
    summary = Summary(VOCABULARY, OPTIONS)
    summary.add_document(*document([[5, 6], [7]]))
    summary.add_example(PretrainingExample([2, 5, 3, 4, 3], [0] * 5, [3], [5], False, False))
    assert "WARNING" not in summary.text()
