"""Units of raw text to arrays of ids: the first stage of building records."""

import numpy as np
import tensorflow as tf

from bert_tf.corpus import documents
from bert_tf.examples import pool
from bert_tf.examples.choices import EXAMPLE_TYPES
from bert_tf.records.build.summary import TextCounts
from bert_tf.text import characters
from bert_tf.text.graph import GraphTokenizer
from bert_tf.text.wordpiece import WordPieceTokenizer


class UnitTokenizer:
    """Tokenizes units; what it makes of one depends on its arguments alone.

    Args:
      vocabulary: `text.vocab.Vocabulary`.
      options: `options.PretrainingData`.
    """

    def __init__(self, vocabulary, options):
        self._unk_id = vocabulary.unk_id
        self._continuations = np.frombuffer(vocabulary.continuations, bool)
        self._options = options
        example_type = EXAMPLE_TYPES[options.example_type]
        self._longest = example_type.longest_sentence(options.max_seq_length)
        self._min_sentences = example_type.min_sentences
        if options.has_group_starts:
            self._tokenize = _TokenizerWithGroups(vocabulary, options)
        else:
            self._tokenize = _FastTokenizer(vocabulary, options.do_lower_case)

    def __call__(self, unit):
        """Tokenizes one unit.

        Args:
          unit: `corpus.units.Unit`.

        Returns:
          (`pool.Documents` of those with enough sentences, `TextCounts` of all).
        """
        options = self._options
        found = list(
            documents.documents(unit, text_field=options.text_field, language=options.language)
        )
        ids, lengths, group_starts = self._tokenize(found)
        goes_on = self._continuations[ids] if group_starts is None else ~group_starts
        sentence_ends, num_parts = pool.cut_long_sentences(
            np.cumsum(lengths), goes_on, self._longest
        )
        # A sentence without a token counts for nothing; a cut one for its parts.
        parts_before = np.concatenate([[0], np.cumsum(num_parts * (lengths > 0))])
        document_ends = parts_before[np.cumsum([len(each.sentences) for each in found], dtype=int)]
        num_sentences = np.diff(document_ends, prepend=0)
        all_documents = pool.Documents(
            ids, np.unique(sentence_ends[sentence_ends > 0]), document_ends, group_starts
        )
        is_kept = num_sentences >= self._min_sentences
        kept = _chosen(all_documents, is_kept)
        counts = TextCounts(
            num_documents=len(found),
            num_short_documents=int((~is_kept).sum()),
            num_sentences=sum(len(each.sentences) for each in found),
            num_invalid_lines=sum(each.num_invalid_lines for each in found),
            num_dropped_spans=sum(each.num_dropped_spans for each in found),
            num_dropped_paragraphs=sum(each.num_dropped_paragraphs for each in found),
            num_bytes=unit.num_bytes,
            num_tokens=len(ids),
            num_short_tokens=len(ids) - len(kept.ids),
            num_unknown=int((ids == self._unk_id).sum()),
        )
        return kept, counts


class _FastTokenizer:
    """All sentences of a unit at once, as a graph."""

    def __init__(self, vocabulary, do_lower_case):
        self._tokenizer = GraphTokenizer(vocabulary, do_lower_case)

    def __call__(self, found):
        """Returns ids int32 [tokens], lengths int64 [sentences], None."""
        sentences = [sentence for each in found for sentence in each.sentences]
        ragged = self._tokenizer(tf.constant(sentences, tf.string))
        return ragged.values.numpy(), np.diff(ragged.row_splits.numpy()), None


class _TokenizerWithGroups:
    """Sentence by sentence with offsets, to find where the units of the corpus start."""

    def __init__(self, vocabulary, options):
        self._tokenizer = WordPieceTokenizer(vocabulary, options.do_lower_case)
        self._continuations = vocabulary.continuations
        self._segmented = options.segmented_text

    def __call__(self, found):
        """Returns ids int32 [tokens], lengths int64 [sentences], group_starts bool [tokens]."""
        ids, lengths, starts = [], [], []
        for each in found:
            spans = each.spans or [()] * len(each.sentences)
            for sentence, sentence_spans in zip(each.sentences, spans, strict=True):
                text = sentence if isinstance(sentence, str) else sentence.decode("utf-8", "ignore")
                found_ids, offsets = self._tokenizer.encode_with_offsets(text)
                if self._segmented:
                    starts += _starts_of_chunks(text, offsets)
                else:
                    starts += self._starts_of_spans(found_ids, offsets, sentence_spans)
                ids += found_ids
                lengths.append(len(found_ids))
        return np.array(ids, np.int32), np.array(lengths, np.int64), np.array(starts, bool)

    def _starts_of_spans(self, ids, offsets, spans):
        """Whether each token starts a unit: a span as a whole, or a word outside of spans."""
        inner = np.zeros(len(ids), bool)
        starts = np.array([not self._continuations[word_id] for word_id in ids], bool)
        begins, ends = np.array(offsets, int).reshape(-1, 2).T
        for start, end in spans:
            covered = np.flatnonzero((begins < end) & (ends > start))
            if len(covered) and not inner[covered].any():
                inner[covered] = True
                starts[covered] = False
                starts[covered[0]] = True
                if covered[-1] + 1 < len(ids):
                    starts[covered[-1] + 1] = True
        return starts.tolist()


def _starts_of_chunks(text, offsets):
    """Whether each token is the first of a chunk between white space."""
    starts, end_before = [], 0
    for number, (start, end) in enumerate(offsets):
        between = text[end_before:start]
        has_white_space = any(characters.cleaned(char) == " " for char in between)
        starts.append(number == 0 or has_white_space)
        end_before = end
    return starts


def _chosen(found, is_kept):
    """The documents that are kept.

    Args:
      found: `pool.Documents`.
      is_kept: bool [documents].
    """
    if is_kept.all():
        return found
    num_sentences = np.diff(found.document_ends, prepend=0)
    num_tokens = np.diff(found.sentence_ends, prepend=0)
    sentence_kept = np.repeat(is_kept, num_sentences)
    token_kept = np.repeat(sentence_kept, num_tokens)
    return pool.Documents(
        found.ids[token_kept],
        np.cumsum(num_tokens[sentence_kept]),
        np.cumsum(num_sentences[is_kept]),
        None if found.group_starts is None else found.group_starts[token_kept],
    )
