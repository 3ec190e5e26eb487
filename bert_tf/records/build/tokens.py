"""Units of raw text to arrays of ids: the first stage of building records."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from bert_tf.corpus.documents import Document, documents
from bert_tf.corpus.units import Unit
from bert_tf.examples.choices import EXAMPLE_TYPES
from bert_tf.examples.pool import Documents, cut_long_sentences
from bert_tf.options import PretrainingData
from bert_tf.records.build.summary import TextCounts
from bert_tf.text import characters
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import WordPieceTokenizer

if TYPE_CHECKING:
    from bert_tf.text.graph import GraphTokenizer

# While TensorFlow loads and the graph is made, Python tokenizes about three times as much.
_BYTES_IN_PYTHON = 2**24
# ids int32 [tokens], lengths int64 [sentences], group_starts bool [tokens] or None.
_Tokenized = tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.bool_] | None]


class UnitTokenizer:
    """Tokenizes units; what it makes of one depends on its arguments alone.

    Args:
      vocabulary: of the build.
      options: of the build.
    """

    def __init__(self, vocabulary: Vocabulary, options: PretrainingData) -> None:
        self._unk_id = vocabulary.unk_id
        self._continuations = np.frombuffer(vocabulary.continuations, bool)
        self._options = options
        example_type = EXAMPLE_TYPES[options.example_type]
        self._longest = example_type.longest_sentence(options.max_seq_length)
        self._min_sentences = example_type.min_sentences
        self._tokenize: _Tokenizer | _TokenizerWithGroups
        if options.has_group_starts:
            self._tokenize = _TokenizerWithGroups(vocabulary, options)
        else:
            self._tokenize = _Tokenizer(vocabulary, options.do_lower_case)

    def __call__(self, unit: Unit) -> tuple[Documents, TextCounts]:
        """Tokenizes one unit: the documents with enough sentences, and counts of all."""
        options = self._options
        texts = list(documents(unit, text_field=options.text_field, language=options.language))
        ids, lengths, group_starts = self._tokenize(texts)
        goes_on = self._continuations[ids] if group_starts is None else ~group_starts
        sentence_ends, num_parts = cut_long_sentences(np.cumsum(lengths), goes_on, self._longest)
        # A sentence without a token counts for nothing; a cut one for its parts.
        parts_before = np.concatenate([[0], np.cumsum(num_parts * (lengths > 0))])
        document_ends = parts_before[np.cumsum([len(each.sentences) for each in texts], dtype=int)]
        num_sentences = np.diff(document_ends, prepend=0)
        all_documents = Documents(
            ids, np.unique(sentence_ends[sentence_ends > 0]), document_ends, group_starts
        )
        is_kept = num_sentences >= self._min_sentences
        kept = _kept(all_documents, is_kept)
        counts = TextCounts(
            num_documents=len(texts),
            num_short_documents=int((~is_kept).sum()),
            num_sentences=sum(len(each.sentences) for each in texts),
            num_invalid_lines=sum(each.num_invalid_lines for each in texts),
            num_dropped_spans=sum(each.num_dropped_spans for each in texts),
            num_dropped_paragraphs=sum(each.num_dropped_paragraphs for each in texts),
            num_bytes=unit.num_bytes,
            num_tokens=len(ids),
            num_short_tokens=len(ids) - len(kept.ids),
            num_unknown=int((ids == self._unk_id).sum()),
        )
        return kept, counts


class _Tokenizer:
    """All sentences of a unit at once: little text in Python, more as a graph, which is faster."""

    def __init__(self, vocabulary: Vocabulary, do_lower_case: bool) -> None:
        self._python = WordPieceTokenizer(vocabulary, do_lower_case)
        self._graph: GraphTokenizer | None = None
        self._size = 0  # of the text so far, in bytes or characters

    def __call__(self, texts: list[Document]) -> _Tokenized:
        sentences = [sentence for each in texts for sentence in each.sentences]
        self._size += sum(map(len, sentences))
        if self._size <= _BYTES_IN_PYTHON:
            rows = list(map(self._python.encode, sentences))
            ids = np.fromiter(itertools.chain.from_iterable(rows), np.int32)
            return ids, np.fromiter(map(len, rows), np.int64, len(rows)), None
        return self._with_graph(sentences)

    def _with_graph(self, sentences: list[str | bytes]) -> _Tokenized:
        import tensorflow as tf

        from bert_tf.text.graph import GraphTokenizer

        if self._graph is None:
            self._graph = GraphTokenizer(self._python.vocabulary, self._python.do_lower_case)
        ragged = self._graph(tf.constant(sentences, tf.string))
        return ragged.values.numpy(), np.diff(ragged.row_splits.numpy()), None


class _TokenizerWithGroups:
    """Sentence by sentence with offsets, to find where words of a segmenter or spans start."""

    def __init__(self, vocabulary: Vocabulary, options: PretrainingData) -> None:
        self._tokenizer = WordPieceTokenizer(vocabulary, options.do_lower_case)
        self._continuations = vocabulary.continuations
        self._segmented = options.segmented_text

    def __call__(self, texts: list[Document]) -> _Tokenized:
        ids: list[int] = []
        lengths: list[int] = []
        starts: list[bool] = []
        for each in texts:
            spans = each.spans or [[]] * len(each.sentences)
            for sentence, sentence_spans in zip(each.sentences, spans, strict=True):
                text = sentence if isinstance(sentence, str) else sentence.decode("utf-8", "ignore")
                sentence_ids, offsets = self._tokenizer.encode_with_offsets(text)
                if self._segmented:
                    starts += _starts_of_words(text, offsets)
                else:
                    starts += self._starts_of_spans(sentence_ids, offsets, sentence_spans)
                ids += sentence_ids
                lengths.append(len(sentence_ids))
        return np.array(ids, np.int32), np.array(lengths, np.int64), np.array(starts, bool)

    def _starts_of_spans(
        self, ids: list[int], offsets: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]
    ) -> list[bool]:
        """Whether each token starts a group: a whole span, or a word outside of spans."""
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


def _starts_of_words(text: str, offsets: Sequence[tuple[int, int]]) -> list[bool]:
    """Whether each token is the first of a word between white space."""
    starts, end_before = [], 0
    for number, (start, end) in enumerate(offsets):
        between = text[end_before:start]
        has_white_space = any(characters.cleaned(char) == " " for char in between)
        starts.append(number == 0 or has_white_space)
        end_before = end
    return starts


def _kept(documents: Documents, is_kept: npt.NDArray[np.bool_]) -> Documents:
    """The documents that are kept, by bool [documents]."""
    if is_kept.all():
        return documents
    num_sentences = np.diff(documents.document_ends, prepend=0)
    num_tokens = np.diff(documents.sentence_ends, prepend=0)
    sentence_kept = np.repeat(is_kept, num_sentences)
    token_kept = np.repeat(sentence_kept, num_tokens)
    return Documents(
        documents.ids[token_kept],
        np.cumsum(num_tokens[sentence_kept]),
        np.cumsum(num_sentences[is_kept]),
        None if documents.group_starts is None else documents.group_starts[token_kept],
    )
