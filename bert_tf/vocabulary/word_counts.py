"""How often each word occurs in a corpus: what a vocabulary is learned from.

Words are those the tokenizer cuts into pieces, so a vocabulary and its use agree. The counts
are exact and depend on the text alone, not on the order of files nor on the number of
processes; what does not fit into memory is summed up on disk.
"""

import collections
import concurrent.futures
import functools
import heapq
import itertools
import multiprocessing
import os
import re
import tempfile
from typing import NamedTuple

from bert_tf.corpus import documents, inputs
from bert_tf.errors import InputError
from bert_tf.progress import Progress
from bert_tf.text.wordpiece import MAX_WORD_CHARS, split_into_words

_MAX_WORDS = 500_000  # rarer ones teach a vocabulary little and learning slows down
_MAX_WORDS_IN_MEMORY = 4_000_000  # about 500 MB
_UNITS_AHEAD = 3  # per worker, so that none waits for the reader
_BLANK = re.compile("[ \t\n\r]")
_BLANKS = bytes.maketrans(b"\t\n\r", b"   ")


class WordCounts(NamedTuple):
    """The words of a corpus.

    Attributes:
      counts: dict from word to how often it occurs, the most frequent words first.
      num_words: int, running words, those left out of `counts` included.
      num_left_out: int, running words that are rarer than all of `counts`.
      num_bytes: int, decompressed size of the text.
    """

    counts: dict
    num_words: int
    num_left_out: int
    num_bytes: int


def count(paths, options, max_words=_MAX_WORDS, max_words_in_memory=_MAX_WORDS_IN_MEMORY):
    """Counts the words of files.

    Args:
      paths: list of str, as `inputs.find` gives them.
      options: `options.TextInput` with `num_workers`.
      max_words: int, distinct words to keep, the most frequent ones; those equally frequent in
        the order of their code points.
      max_words_in_memory: int, distinct words above which sums go to disk.

    Returns:
      WordCounts.

    Raises:
      InputError: the text has no word, or `documents` refuses it.
    """
    work = functools.partial(
        _count_unit, options.text_field, options.language, options.do_lower_case
    )
    num_bytes = 0
    with tempfile.TemporaryDirectory(prefix="word_counts.") as directory:
        sums = _Sums(directory, max_words_in_memory)
        progress = Progress("Counting words", None, "bytes", unit_scale=True)
        for counts, size in _mapped(work, _units(paths, options), options.num_workers):
            sums.add(counts)
            num_bytes += size
            progress.advance(size)
        progress.close()
        return _most_frequent(sums, max_words, num_bytes, paths)


def count_texts(texts, do_lower_case):
    """Counts the words of texts.

    Args:
      texts: iterable of bytes, of which what is not UTF-8 is ignored, or of str.
      do_lower_case: bool, as the tokenizer's.

    Returns:
      Counter from word to count. Words that are too long for the tokenizer are left out.
    """
    chunks = collections.Counter()
    for text in texts:
        if isinstance(text, bytes):  # few chunks are new, and only those need decoding
            chunks.update(text.translate(_BLANKS).split(b" "))
        else:
            chunks.update(_BLANK.split(text))
    words = collections.Counter()
    for chunk, frequency in chunks.items():
        chunk = chunk.decode("utf-8", "ignore") if isinstance(chunk, bytes) else chunk
        for word in split_into_words(chunk, do_lower_case):
            words[word] += frequency
    for word in [word for word in words if len(word) > MAX_WORD_CHARS]:
        del words[word]
    return words


def _units(paths, options):
    for path in paths:
        yield from documents.units(path, inputs.resolve_format(path, options.input_format))


def _count_unit(text_field, language, do_lower_case, unit):
    """Runs in a worker. Returns the counts of one unit and its size in bytes."""
    found = documents.documents(unit, text_field=text_field, language=language)
    sentences = itertools.chain.from_iterable(document.sentences for document in found)
    return count_texts(sentences, do_lower_case), unit.num_bytes


def _mapped(work, units, num_workers):
    """Yields `work(unit)` of each unit in order, a few units ahead of the reader at the most."""
    num_workers = num_workers or os.cpu_count()
    units = iter(units)
    first = list(itertools.islice(units, 2))
    units = itertools.chain(first, units)
    if num_workers == 1 or len(first) < 2:  # starting processes takes longer than the work
        yield from map(work, units)
        return
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(num_workers, mp_context=context) as pool:
        pending = collections.deque()
        try:
            for unit in units:
                pending.append(pool.submit(work, unit))
                if len(pending) > num_workers * _UNITS_AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


class _Sums:
    """Adds up counts; when there are many words, sorted runs of them go to files."""

    def __init__(self, directory, max_words):
        self._directory = directory
        self._max_words = max_words
        self._counts = collections.Counter()
        self._runs = []

    def add(self, counts):
        self._counts.update(counts)
        if len(self._counts) > self._max_words:
            path = os.path.join(self._directory, str(len(self._runs)))
            with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
                file.writelines(f"{word} {n}\n" for word, n in sorted(self._counts.items()))
            self._runs.append(path)
            self._counts.clear()

    def items(self):
        """Yields (word, count), sorted by word where there are runs."""
        if not self._runs:
            yield from self._counts.items()
            return
        runs = [_read_run(path) for path in self._runs]
        merged = heapq.merge(*runs, sorted(self._counts.items()))
        for word, entries in itertools.groupby(merged, key=lambda entry: entry[0]):
            yield word, sum(frequency for _, frequency in entries)


def _read_run(path):
    with open(path, encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        for line in file:
            word, frequency = line.removesuffix("\n").rsplit(" ", 1)
            yield word, int(frequency)


def _most_frequent(sums, max_words, num_bytes, paths):
    num_words = 0

    def counted():
        nonlocal num_words
        for word, frequency in sums.items():
            num_words += frequency
            yield -frequency, word

    kept = {word: -frequency for frequency, word in heapq.nsmallest(max_words, counted())}
    if not kept:
        raise InputError(f"{', '.join(paths)}: the text holds no word to learn from.")
    return WordCounts(kept, num_words, num_words - sum(kept.values()), num_bytes)
