"""Text to wordpiece ids in plain Python: fast without offsets, or with character offsets.

The ids are those of the released code's `FullTokenizer` for every text. It cleans the text,
splits it at white space, lower-cases and strips accents word by word (if asked), splits at
punctuation, and cuts each word greedily into the longest pieces the vocabulary has.
"""

import itertools
import re
import unicodedata

from bert_tf.text import characters

MAX_WORD_CHARS = 200  # released code; a longer word is [UNK]
_ASCII_WORDS = re.compile(r"[!-/:-@\[-`{-~]|[^ !-/:-@\[-`{-~]+")
_CHUNKS = re.compile(r"[^ \t\n\r]+")

# What is remembered from one call to the next: tens of MB at the most.
_MAX_REMEMBERED_CHUNKS = 1 << 17
_MAX_REMEMBERED_CHARS = 32


class WordPieceTokenizer:
    """Cuts text into wordpieces.

    Attributes:
      vocabulary: `bert_tf.text.vocab.Vocabulary`.
      do_lower_case: bool, lower-case the text and strip its accents.
    """

    def __init__(self, vocabulary, do_lower_case):
        self.vocabulary = vocabulary
        self.do_lower_case = do_lower_case
        self._longest_token = max(map(len, vocabulary.tokens))
        self._ids_of_chunk = _Remembered(self._encode_chunk)
        self._ids_and_offsets_of_chunk = _Remembered(self._encode_chunk_with_offsets)

    def __reduce__(self):
        """Pickles without what was remembered, for worker processes."""
        return type(self), (self.vocabulary, self.do_lower_case)

    def encode(self, text):
        """Returns the ids of a text, without special tokens.

        The text is cut at blanks only, for there every step of the algorithm starts anew, and
        the ids of short chunks are remembered, for words repeat.

        Args:
          text: str, or bytes, of which what is not UTF-8 is ignored.

        Returns:
          list of int.
        """
        text = _decoded(text)
        for white_space in "\t\n\r":
            text = text.replace(white_space, " ")
        chunks = text.split(" ")
        return list(itertools.chain.from_iterable(map(self._ids_of_chunk.__getitem__, chunks)))

    def encode_with_offsets(self, text):
        """Returns the ids that `encode` gives and where in the text each piece comes from.

        `text[start:end]` runs from the first to the last character that gave the piece one of
        its own, so that
        - an accent that was stripped belongs to the piece of the character before it in the
          word; at the start of a word, where there is none, to no piece;
        - a deleted character (control, format) inside that range is part of it; at its edges,
          or between two pieces, it belongs to no piece;
        - if one character gives several pieces (a Hangul syllable is decomposed), they all
          have its offsets;
        - [UNK] covers its whole word.

        Args:
          text: str, or bytes, of which what is not UTF-8 is ignored; offsets then count the
            characters of the decoded text.

        Returns:
          (ids, offsets): list of int, list of (start, end) in characters, of one length.
        """
        ids, offsets = [], []
        for chunk in _CHUNKS.finditer(_decoded(text)):
            chunk_ids, chunk_offsets = self._ids_and_offsets_of_chunk[chunk.group()]
            ids += chunk_ids
            at = chunk.start()
            offsets += [(at + start, at + end) for start, end in chunk_offsets]
        return ids, offsets

    def tokens(self, ids):
        """Returns the token of each id.

        Args:
          ids: iterable of int.

        Returns:
          list of str.
        """
        return [self.vocabulary.tokens[index] for index in ids]

    def cut(self, word):
        """Cuts one word of `split_into_words` into pieces; [UNK] if any part has no piece.

        Returns:
          list of int.
        """
        if len(word) > MAX_WORD_CHARS:
            return [self.vocabulary.unk_id]
        pieces = cut_into_pieces(word, self.vocabulary.ids, self._longest_token)
        return pieces or [self.vocabulary.unk_id]

    def _encode_chunk(self, chunk):
        ids = []
        for word in split_into_words(chunk, self.do_lower_case):
            ids += self.cut(word)
        return tuple(ids)

    def _encode_chunk_with_offsets(self, chunk):
        ids, offsets = [], []
        for word, spans in self._words_and_spans(chunk):
            pieces = self.cut(word)
            ids += pieces
            offsets += self._piece_offsets(pieces, spans)
        return tuple(ids), tuple(offsets)

    def _words_and_spans(self, chunk):
        """The words of `split_into_words`, each with the (start, end) its characters come from."""
        if chunk.isascii() and chunk.isprintable():
            for match in _ASCII_WORDS.finditer(chunk.lower() if self.do_lower_case else chunk):
                yield match.group(), [(start, start + 1) for start in range(*match.span())]
            return
        for token in _cleaned_tokens(chunk):
            if self.do_lower_case:
                token = _without_accents(_in_canonical_order(_decomposed(_lowered(token))))
            yield from _split_at_punctuation(token)

    def _piece_offsets(self, pieces, spans):
        if pieces == [self.vocabulary.unk_id]:
            return [_joined(spans)]
        offsets, start = [], 0
        for piece in pieces:
            length = len(self.vocabulary.tokens[piece]) - (len("##") if start else 0)
            offsets.append(_joined(spans[start : start + length]))
            start += length
        return offsets


def split_into_words(text, do_lower_case):
    """Splits a text into the words that are then cut into pieces.

    Args:
      text: str.
      do_lower_case: bool, lower-case the words and strip their accents.

    Returns:
      list of str.
    """
    if text.isascii() and text.isprintable():
        return _ASCII_WORDS.findall(text.lower() if do_lower_case else text)
    tokens = text.translate(_CLEANED).split()
    if not do_lower_case:
        return " ".join(tokens).translate(_SEPARATED).split()
    # Token by token: the lower case of a sigma depends on where the token ends.
    decomposed = (unicodedata.normalize("NFD", token.lower()) for token in tokens)
    return " ".join(decomposed).translate(_STRIPPED_AND_SEPARATED).split()


def cut_into_pieces(word, ids, longest_token):
    """Cuts one word greedily, longest piece first.

    Args:
      word: str, not empty.
      ids: dict from token to what stands for it in the result.
      longest_token: int, characters of the longest token.

    Returns:
      list of values of `ids`; None if any part has no piece.
    """
    if word in ids:
        return [ids[word]]
    pieces, rest, mark = [], word, ""
    while rest != mark:
        for end in range(min(len(rest), longest_token), len(mark), -1):
            if (piece := ids.get(rest[:end])) is not None:
                break
        else:
            return None
        pieces.append(piece)
        mark = "##"
        rest = mark + rest[end:]
    return pieces


class _Remembered(dict):
    """What a function returns for a chunk, computed when first asked for; emptied when full."""

    def __init__(self, function):
        super().__init__()
        self._function = function

    def __missing__(self, chunk):
        result = self._function(chunk)
        if len(chunk) <= _MAX_REMEMBERED_CHARS:
            if len(self) >= _MAX_REMEMBERED_CHUNKS:
                self.clear()
            self[chunk] = result
        return result


class _Translation(dict):
    """A table for `str.translate`, filled character by character as texts need it."""

    def __init__(self, translate_char):
        super().__init__()
        self._translate_char = translate_char

    def __missing__(self, codepoint):
        self[codepoint] = self._translate_char(chr(codepoint))
        return self[codepoint]


_CLEANED = _Translation(characters.cleaned)
_SEPARATED = _Translation(characters.separated)
_STRIPPED_AND_SEPARATED = _Translation(characters.stripped_and_separated)


def _decoded(text):
    return text.decode("utf-8", "ignore") if isinstance(text, bytes) else text


def _joined(spans):
    return min(start for start, _ in spans), max(end for _, end in spans)


# Below, a token is a list of (character, (start, end)): what became of which source character.


def _cleaned_tokens(chunk):
    """Yields the tokens between white space, of which CJK characters have some around them."""
    token = []
    for index, char in enumerate(chunk):
        clean = _CLEANED[ord(char)]
        if clean == char:
            token.append((char, (index, index + 1)))
        elif clean:
            yield token
            yield [(char, (index, index + 1))] if clean.strip() else []
            token = []
    yield token


def _lowered(token):
    """Lower-cases a token as a whole: for sigma that is not the same as each character."""
    lowered = iter("".join(char for char, _ in token).lower())
    return [(next(lowered), span) for char, span in token for _ in char.lower()]


def _decomposed(token):
    return [(part, span) for char, span in token for part in unicodedata.normalize("NFD", char)]


def _in_canonical_order(token):
    """Sorts each run of combining characters by combining class, as NFD of the whole does."""
    runs = itertools.groupby(token, lambda pair: _combining(pair) > 0)
    return [pair for _, run in runs for pair in sorted(run, key=_combining)]


def _combining(pair):
    return unicodedata.combining(pair[0])


def _without_accents(token):
    """Strips accents; the character before takes over their place in the text."""
    kept = []
    for char, span in token:
        if unicodedata.category(char) != "Mn":
            kept.append((char, span))
        elif kept:
            kept[-1] = kept[-1][0], _joined((kept[-1][1], span))
    return kept


def _split_at_punctuation(token):
    """Yields (word, spans); a punctuation character is a word."""
    for is_word, run in itertools.groupby(token, lambda p: not characters.is_punctuation(p[0])):
        pairs = list(run)
        for word in [pairs] if is_word else [[pair] for pair in pairs]:
            yield "".join(char for char, _ in word), [span for _, span in word]
