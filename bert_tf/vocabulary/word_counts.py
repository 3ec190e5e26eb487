"""How often each word occurs in a corpus: what a vocabulary is learned from.

Words are those that the tokenizer cuts into wordpieces, so a vocabulary and its use agree. The
counts are exact and depend only on the text, not on the order of files or the number of processes.
What does not fit into memory is summed up on disk.
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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bert_tf.corpus import inputs
from bert_tf.corpus.documents import documents
from bert_tf.corpus.units import Unit, read_units
from bert_tf.errors import InputError
from bert_tf.options import LearnVocabulary
from bert_tf.progress import Progress
from bert_tf.text.wordpiece import MAX_WORD_CHARS, split_into_words

_MAX_WORDS = 500_000  # rarer ones add little to a vocabulary and slow learning down
_MAX_WORDS_IN_MEMORY = 4_000_000  # about 500 MB
_UNITS_AHEAD = 3  # per worker, so that none waits for the reader
_BLANK = re.compile("[ \t\n\r]")
_BLANKS = bytes.maketrans(b"\t\n\r", b"   ")


class WordCounts(NamedTuple):
    """The words of a corpus.

    Attributes:
      counts: word to how often it occurs, the most frequent words first.
      num_words: running words, including those left out of `counts`.
      num_left_out: running words that are rarer than all of `counts`.
      num_bytes: decompressed size of the text.
    """

    counts: dict[str, int]
    num_words: int
    num_left_out: int
    num_bytes: int


def count(
    paths: Sequence[str],
    options: LearnVocabulary,
    max_words: int = _MAX_WORDS,
    max_words_in_memory: int = _MAX_WORDS_IN_MEMORY,
) -> WordCounts:
    """Counts the words of files.

    Args:
      paths: as `inputs.find` gives them.
      max_words: distinct words to keep, the most frequent ones; equally frequent ones in the order
        of code points.
      max_words_in_memory: distinct words above which sums go to disk.

    Raises:
      InputError: the text has no word, or `documents` refuses it.
    """
    work = functools.partial(
        _count_unit, options.text_field, options.language, options.do_lower_case
    )
    num_bytes = 0
    with tempfile.TemporaryDirectory(prefix="word_counts.") as directory:
        sums = _Sums(directory, max_words_in_memory)
        with Progress("count words", None, "bytes") as progress:
            for counts, size in _mapped(work, _units(paths, options), options.num_workers):
                sums.add(counts)
                num_bytes += size
                progress.advance(size)
        return _most_frequent(sums, max_words, num_bytes, paths)


def count_texts(texts: Iterable[str | bytes], do_lower_case: bool) -> collections.Counter[str]:
    """Counts the words of texts, without those that are too long for the tokenizer.

    Args:
      texts: of bytes, those that are not UTF-8 are ignored.
    """
    chunks = collections.Counter[str | bytes]()
    for text in texts:
        if isinstance(text, bytes):  # most chunks repeat; each distinct one is decoded once
            chunks.update(text.translate(_BLANKS).split(b" "))
        else:
            chunks.update(_BLANK.split(text))
    words = collections.Counter[str]()
    for chunk, frequency in chunks.items():
        text = chunk.decode("utf-8", "ignore") if isinstance(chunk, bytes) else chunk
        for word in split_into_words(text, do_lower_case):
            words[word] += frequency
    for word in [word for word in words if len(word) > MAX_WORD_CHARS]:
        del words[word]
    return words


def _units(paths: Iterable[str], options: LearnVocabulary) -> Iterator[Unit]:
    for path in paths:
        yield from read_units(path, inputs.resolve_format(path, options.input_format))


def _count_unit(
    text_field: str, language: str, do_lower_case: bool, unit: Unit
) -> tuple[collections.Counter[str], int]:
    """Runs in a worker. Returns the counts of one unit and its size in bytes."""
    parsed = documents(unit, text_field=text_field, language=language)
    sentences = itertools.chain.from_iterable(document.sentences for document in parsed)
    return count_texts(sentences, do_lower_case), unit.num_bytes


def _mapped(
    work: Callable[[Unit], tuple[collections.Counter[str], int]],
    units: Iterator[Unit],
    num_workers: int | None,
) -> Iterator[tuple[collections.Counter[str], int]]:
    """Yields `work(unit)` of each unit in order, at most a few units ahead of the reader."""
    num_workers = num_workers or os.cpu_count() or 1
    first = list(itertools.islice(units, 2))
    if num_workers == 1 or len(first) < 2:  # starting processes takes longer than the work
        yield from map(work, itertools.chain(first, units))
        return
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(num_workers, mp_context=context) as pool:
        pending = collections.deque[concurrent.futures.Future]()
        try:
            for unit in itertools.chain(first, units):
                pending.append(pool.submit(work, unit))
                if len(pending) > num_workers * _UNITS_AHEAD:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


class _Sums:
    """Adds up counts; when there are many words, sorted runs of them go to files."""

    def __init__(self, directory: str, max_words: int) -> None:
        self._directory = directory
        self._max_words = max_words
        self._counts = collections.Counter[str]()
        self._runs: list[str] = []

    def add(self, counts: Mapping[str, int]) -> None:
        self._counts.update(counts)
        if len(self._counts) > self._max_words:
            path = os.path.join(self._directory, str(len(self._runs)))
            with open(path, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
                file.writelines(f"{word} {n}\n" for word, n in sorted(self._counts.items()))
            self._runs.append(path)
            self._counts.clear()

    def items(self) -> Iterator[tuple[str, int]]:
        """Yields (word, count), sorted by word if there are runs."""
        if not self._runs:
            yield from self._counts.items()
            return
        runs = [_read_run(path) for path in self._runs]
        merged = heapq.merge(*runs, sorted(self._counts.items()))
        for word, entries in itertools.groupby(merged, key=lambda entry: entry[0]):
            yield word, sum(frequency for _, frequency in entries)


def _read_run(path: str) -> Iterator[tuple[str, int]]:
    with open(path, encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        for line in file:
            word, frequency = line.removesuffix("\n").rsplit(" ", 1)
            yield word, int(frequency)


def _most_frequent(sums: _Sums, max_words: int, num_bytes: int, paths: Sequence[str]) -> WordCounts:
    num_words = 0

    def counted() -> Iterator[tuple[int, str]]:
        nonlocal num_words
        for word, frequency in sums.items():
            num_words += frequency
            yield -frequency, word

    kept = {word: -frequency for frequency, word in heapq.nsmallest(max_words, counted())}
    if not kept:
        raise InputError(f"{', '.join(paths)}: the text has no word to learn from.")
    return WordCounts(kept, num_words, num_words - sum(kept.values()), num_bytes)
