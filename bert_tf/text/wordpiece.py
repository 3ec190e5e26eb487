"""Text to wordpiece ids in plain Python: fast without offsets, or with character offsets.

The ids are those of the released code's `FullTokenizer` for every text. It cleans the text,
splits it at white space, lower-cases and strips accents word by word (if asked), splits at
punctuation, and cuts each word greedily into the longest wordpieces of the vocabulary.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from bert_tf.text import characters
from bert_tf.text.vocab import Vocabulary

_Result = TypeVar("_Result")
_Span = tuple[int, int]  # start and end, in characters
_Token = list[tuple[str, _Span]]  # of each character: where in the source it comes from

MAX_WORD_CHARS = 200  # released code; a longer word is [UNK]
_ASCII_WORDS = re.compile(r"[!-/:-@\[-`{-~]|[^ !-/:-@\[-`{-~]+")
_CHUNKS = re.compile(r"[^ \t\n\r]+")

# Limits of the cache that lasts from one call to the next: at most tens of MB.
_MAX_CACHED_CHUNKS = 1 << 17
_MAX_CACHED_CHARS = 32


class WordPieceTokenizer:
    """Cuts text into wordpieces.

    Attributes:
      vocabulary: the tokens and their ids.
      do_lower_case: whether to lower-case the text and strip its accents.
    """

    def __init__(self, vocabulary: Vocabulary, do_lower_case: bool) -> None:
        self.vocabulary = vocabulary
        self.do_lower_case = do_lower_case
        self._longest_token = max(map(len, vocabulary.tokens))
        self._ids_of_chunk = _Cache(self._encode_chunk)
        self._ids_and_offsets_of_chunk = _Cache(self._encode_chunk_with_offsets)

    def __reduce__(self) -> tuple[type, tuple[Vocabulary, bool]]:
        """Pickles without the caches, for worker processes."""
        return type(self), (self.vocabulary, self.do_lower_case)

    def encode(self, text: str | bytes) -> list[int]:
        """Returns the ids of a text, without special tokens.

        The text is cut into chunks at blanks, where every step of the algorithm starts again.
        The ids of short chunks are cached, because words repeat.

        Args:
          text: of bytes, those that are not UTF-8 are ignored.
        """
        text = _decoded(text)
        for white_space in "\t\n\r":
            text = text.replace(white_space, " ")
        chunks = text.split(" ")
        return list(itertools.chain.from_iterable(map(self._ids_of_chunk.__getitem__, chunks)))

    def encode_with_offsets(self, text: str | bytes) -> tuple[list[int], list[_Span]]:
        """Returns the ids that `encode` gives and where in the text each wordpiece comes from.

        `text[start:end]` runs from the first to the last character that contributed to the
        wordpiece:
        - A stripped accent belongs to the wordpiece of the character before it in the word; at
          the start of a word, to none.
        - A deleted character (control, format) inside the range is part of it; at its edges, or
          between two wordpieces, it belongs to none.
        - If one character gives several wordpieces (a Hangul syllable is decomposed), all of them
          have its offsets.
        - [UNK] covers its whole word.

        Args:
          text: of bytes, those that are not UTF-8 are ignored; offsets then count the characters
            of the decoded text.

        Returns:
          (ids, offsets) of equal length; an offset is (start, end) in characters.
        """
        ids: list[int] = []
        offsets: list[_Span] = []
        for chunk in _CHUNKS.finditer(_decoded(text)):
            chunk_ids, chunk_offsets = self._ids_and_offsets_of_chunk[chunk.group()]
            ids += chunk_ids
            at = chunk.start()
            offsets += [(at + start, at + end) for start, end in chunk_offsets]
        return ids, offsets

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Returns the token of each id."""
        return [self.vocabulary.tokens[index] for index in ids]

    def cut(self, word: str) -> list[int]:
        """Ids of the wordpieces of one word of `split_into_words`; [UNK] if a part has none."""
        if len(word) > MAX_WORD_CHARS:
            return [self.vocabulary.unk_id]
        ids = cut_into_wordpieces(word, self.vocabulary.ids, self._longest_token)
        return ids or [self.vocabulary.unk_id]

    def _encode_chunk(self, chunk: str) -> tuple[int, ...]:
        ids: list[int] = []
        for word in split_into_words(chunk, self.do_lower_case):
            ids += self.cut(word)
        return tuple(ids)

    def _encode_chunk_with_offsets(self, chunk: str) -> tuple[tuple[int, ...], tuple[_Span, ...]]:
        ids: list[int] = []
        offsets: list[_Span] = []
        for word, spans in self._words_and_spans(chunk):
            word_ids = self.cut(word)
            ids += word_ids
            offsets += self._offsets(word_ids, spans)
        return tuple(ids), tuple(offsets)

    def _words_and_spans(self, chunk: str) -> Iterator[tuple[str, list[_Span]]]:
        """The words of `split_into_words`, each with the spans that its characters come from."""
        if chunk.isascii() and chunk.isprintable():
            for match in _ASCII_WORDS.finditer(chunk.lower() if self.do_lower_case else chunk):
                yield match.group(), [(start, start + 1) for start in range(*match.span())]
            return
        for token in _cleaned_tokens(chunk):
            if self.do_lower_case:
                token = _without_accents(_in_canonical_order(_decomposed(_lowered(token))))
            yield from _split_at_punctuation(token)

    def _offsets(self, word_ids: list[int], spans: list[_Span]) -> list[_Span]:
        """The span of each wordpiece of a word, from those of the word's characters."""
        if word_ids == [self.vocabulary.unk_id]:
            return [_joined(spans)]
        offsets, start = [], 0
        for index in word_ids:
            length = len(self.vocabulary.tokens[index]) - (len("##") if start else 0)
            offsets.append(_joined(spans[start : start + length]))
            start += length
        return offsets


def split_into_words(text: str, do_lower_case: bool) -> list[str]:
    """Splits a text into the words that are then cut into wordpieces.

    Args:
      do_lower_case: whether to lower-case the words and strip their accents.
    """
    if text.isascii() and text.isprintable():
        return _ASCII_WORDS.findall(text.lower() if do_lower_case else text)
    tokens = text.translate(_CLEANED).split()
    if not do_lower_case:
        return " ".join(tokens).translate(_SEPARATED).split()
    # Token by token: the lower case of a sigma depends on where the token ends.
    decomposed = (unicodedata.normalize("NFD", token.lower()) for token in tokens)
    return " ".join(decomposed).translate(_STRIPPED_AND_SEPARATED).split()


def cut_into_wordpieces(
    word: str, ids: Mapping[str, _Result], longest_token: int
) -> list[_Result] | None:
    """Cuts one word greedily, the longest wordpiece first.

    Args:
      word: not empty.
      ids: token to its entry in the result.
      longest_token: length of the longest token in characters.

    Returns:
      None if any part of the word has no wordpiece.
    """
    if word in ids:
        return [ids[word]]
    cut, rest, mark = [], word, ""
    while rest != mark:
        for end in range(min(len(rest), longest_token), len(mark), -1):
            if (index := ids.get(rest[:end])) is not None:
                break
        else:
            return None
        cut.append(index)
        mark = "##"
        rest = mark + rest[end:]
    return cut


class _Cache(dict[str, Any]):
    """Results of a function of chunks, computed on first use; emptied when full."""

    def __init__(self, function: Callable[[str], Any]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, chunk: str) -> Any:
        result = self._function(chunk)
        if len(chunk) <= _MAX_CACHED_CHARS:
            if len(self) >= _MAX_CACHED_CHUNKS:
                self.clear()
            self[chunk] = result
        return result


class _Translation(dict[int, str]):
    """A table for `str.translate`, filled character by character as texts need it."""

    def __init__(self, translate_char: Callable[[str], str]) -> None:
        super().__init__()
        self._translate_char = translate_char

    def __missing__(self, codepoint: int) -> str:
        self[codepoint] = self._translate_char(chr(codepoint))
        return self[codepoint]


_CLEANED = _Translation(characters.cleaned)
_SEPARATED = _Translation(characters.separated)
_STRIPPED_AND_SEPARATED = _Translation(characters.stripped_and_separated)


def _decoded(text: str | bytes) -> str:
    return text.decode("utf-8", "ignore") if isinstance(text, bytes) else text


def _joined(spans: Iterable[_Span]) -> _Span:
    return min(start for start, _ in spans), max(end for _, end in spans)


# The functions below follow each character of a token back to the source.


def _cleaned_tokens(chunk: str) -> Iterator[_Token]:
    """Yields the tokens between white space; clean-up puts some around CJK characters."""
    token: _Token = []
    for index, char in enumerate(chunk):
        clean = _CLEANED[ord(char)]
        if clean == char:
            token.append((char, (index, index + 1)))
        elif clean:
            yield token
            yield [(char, (index, index + 1))] if clean.strip() else []
            token = []
    yield token


def _lowered(token: _Token) -> _Token:
    """Lower-cases a token as a whole: a sigma depends on its neighbours."""
    lowered = iter("".join(char for char, _ in token).lower())
    return [(next(lowered), span) for char, span in token for _ in char.lower()]


def _decomposed(token: _Token) -> _Token:
    return [(part, span) for char, span in token for part in unicodedata.normalize("NFD", char)]


def _in_canonical_order(token: _Token) -> _Token:
    """Sorts each run of combining characters by combining class, as NFD of the token does."""
    runs = itertools.groupby(token, lambda pair: _combining(pair) > 0)
    return [pair for _, run in runs for pair in sorted(run, key=_combining)]


def _combining(pair: tuple[str, _Span]) -> int:
    return unicodedata.combining(pair[0])


def _without_accents(token: _Token) -> _Token:
    """Strips accents; the span of the character before grows to cover theirs."""
    kept: _Token = []
    for char, span in token:
        if unicodedata.category(char) != "Mn":
            kept.append((char, span))
        elif kept:
            kept[-1] = kept[-1][0], _joined((kept[-1][1], span))
    return kept


def _split_at_punctuation(token: _Token) -> Iterator[tuple[str, list[_Span]]]:
    """Yields (word, spans); a punctuation character is a word."""
    for is_word, run in itertools.groupby(token, lambda p: not characters.is_punctuation(p[0])):
        pairs = list(run)
        for word in [pairs] if is_word else [[pair] for pair in pairs]:
            yield "".join(char for char, _ in word), [span for _, span in word]
