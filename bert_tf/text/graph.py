"""Text to wordpiece ids as a TensorFlow graph: the same ids as `bert_tf.text.wordpiece`.

Two ops of tf-text do the work: `FastBertNormalize`, with our own table from characters to their
normal forms (`characters.normalizer_model`), and `FastWordpieceTokenizeWithOffsets`. What a table
of single characters cannot do is done before and between, for the few texts that need it.
Only these ops, `NormalizeUTF8` and core ops are used; every TensorFlow Serving image since 2.15
has them.
"""

import functools
import itertools
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping

import tensorflow as tf
import tensorflow_text as tf_text

from bert_tf.errors import InputError
from bert_tf.text import characters, graph_offsets, graph_reading
from bert_tf.text.graph_tables import codepoints_with, is_cased, is_ignored_by_casing, ranges
from bert_tf.text.vocab import Vocabulary
from bert_tf.text.wordpiece import MAX_WORD_CHARS

_MAX_UTF8_BYTES = 4
_MAX_TOKEN_BYTES = 256  # limit of FastWordpieceTokenizer, without "##"

# From the last code point, which is never assigned, down through private use.
_UNUSED = range(0x10FFFF, 0xF0000, -1)

_ASCII_PUNCTUATION = r"!-/:-@\[-`{-~"
_MANY_CHARS = rf"(?s).*[^ {_ASCII_PUNCTUATION}\x{{3400}}-\x{{9FFF}}]{{{MAX_WORD_CHARS + 1}}}.*"


class GraphTokenizer(tf.Module):
    """Cuts texts into wordpieces, eagerly, in a `tf.function`, a `tf.data.map` or a SavedModel.

    The vocabulary is a constant of the graph.

    Attributes:
      vocabulary: the tokens and their ids.
      do_lower_case: whether to lower-case the text and strip its accents.

    Raises:
      InputError: a token is longer than the op allows (256 bytes).
    """

    def __init__(self, vocabulary: Vocabulary, do_lower_case: bool) -> None:
        super().__init__(name="graph_tokenizer")
        self.vocabulary = vocabulary
        self.do_lower_case = do_lower_case
        alphabet = set().union(*vocabulary.tokens)
        self._unknown = next(chr(c) for c in _UNUSED if chr(c) not in alphabet)
        of_tokens = frozenset(c for c in map(ord, alphabet) if c in _unassigned())
        self._unassigned_pattern, table = _normalizer_table(do_lower_case, self._unknown, of_tokens)
        self._normalizer = tf_text.FastBertNormalizer(
            model_buffer=tf.io.decode_raw(table, tf.uint8)
        )
        self._wordpieces = tf_text.FastWordpieceTokenizer(
            list(_reachable_or_placeholder(vocabulary, alphabet)),
            max_bytes_per_word=MAX_WORD_CHARS * _MAX_UTF8_BYTES,
            token_out_type=tf.int32,
        )

    # AutoGraph would take a second to find no control flow over tensors.
    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="texts")], autograph=False)
    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Returns the ids of each text, without special tokens.

        Args:
          texts: string [B]; bytes that are not UTF-8 are ignored.

        Returns:
          int32 ragged [B (T)].
        """
        texts = self._normalized(texts)
        texts = _apply_where(_has_many_chars(texts), self._replace_long_words, texts)
        return self._wordpieces.tokenize(texts)

    def first_ids(self, texts: tf.Tensor, limit: int) -> tf.RaggedTensor:
        """Returns the first ids of each text, and reads no more of it than they need.

        Memory and, for ordinary texts, time are bounded by `limit` ids for each text, however long
        the texts are; `graph_reading` says how, and why the ids are the same.

        Args:
          texts: see `__call__`.
          limit: how many ids of each text are wanted; those behind them may be missing.

        Returns:
          int32 ragged [B (T)].
        """
        return graph_reading.first_ids(texts, limit, self.__call__, self.do_lower_case)

    def tokens_with_offsets(
        self, texts: tf.Tensor
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor, tf.RaggedTensor]:
        """Returns the ids and where in the text each wordpiece comes from.

        The same as `wordpiece.WordPieceTokenizer.encode_with_offsets`, which says what belongs to
        a wordpiece.

        Args:
          texts: string [B]; bytes that are not UTF-8 are ignored, offsets then count the
            characters of the text without them.

        Returns:
          (ids, starts, ends), int32 ragged [B (T)] each; `starts` and `ends` in characters, which
          are Unicode code points.
        """
        starts, ends = graph_offsets.kept_spans(texts, self.do_lower_case)
        normal = self._normalized(texts)
        has_many_chars = _has_many_chars(normal)
        final = _apply_where(has_many_chars, self._replace_long_words, normal)
        ids, first_byte, _ = self._wordpieces.tokenize_with_offsets(final)
        first = graph_offsets.chars_before(final, tf.cast(first_byte, tf.int32))

        def before_replacement() -> tf.Tensor:
            return tf.gather(graph_offsets.without_long_words(_separated(normal)), first)

        first = tf.cond(tf.reduce_any(has_many_chars), before_replacement, lambda: first)
        starts, ends = graph_offsets.join_spans(first, starts, ends)
        return ids, ids.with_values(starts), ids.with_values(ends)

    def _normalized(self, texts: tf.Tensor) -> tf.Tensor:
        """The normal forms, with spaces around words except at ASCII punctuation and CJK."""
        is_plain = tf.strings.regex_full_match(texts, _plain_pattern(self.do_lower_case))
        texts = _apply_where(~is_plain, self._make_plain, texts)
        return self._normalizer.normalize(texts)

    def _make_plain(self, texts: tf.Tensor) -> tf.Tensor:
        """Does beforehand what a table of single characters cannot do."""
        texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="ignore")
        if not self.do_lower_case:
            return texts
        texts = tf.strings.regex_replace(texts, self._unassigned_pattern, self._unknown)
        texts = tf.strings.regex_replace(texts, _deleted_pattern(), "")
        texts = tf.strings.regex_replace(texts, *_final_sigma_rule())
        return tf_text.normalize_utf8(texts, "NFD")

    def _replace_long_words(self, texts: tf.Tensor) -> tf.Tensor:
        """Replaces words beyond the limit by a character that no token has: they become [UNK]."""
        texts = _separated(texts)
        return tf.strings.regex_replace(texts, f"[^ ]{{{MAX_WORD_CHARS + 1},}}", self._unknown)


def _apply_where(
    chosen: tf.Tensor, function: Callable[[tf.Tensor], tf.Tensor], texts: tf.Tensor
) -> tf.Tensor:
    """Applies a function to the chosen texts only; the others cost nothing."""

    def replaced() -> tf.Tensor:
        rows = tf.where(chosen)
        return tf.tensor_scatter_nd_update(texts, rows, function(tf.gather_nd(texts, rows)))

    return tf.cond(tf.reduce_any(chosen), replaced, lambda: texts)


def _has_many_chars(texts: tf.Tensor) -> tf.Tensor:
    """Whether a normal form may have a word beyond the limit."""
    return tf.strings.regex_full_match(texts, _MANY_CHARS)


def _separated(texts: tf.Tensor) -> tf.Tensor:
    """Normal forms with spaces around all words."""
    return tf.strings.regex_replace(texts, _unseparated_pattern(), r" \0 ")


def _reachable_or_placeholder(vocabulary: Vocabulary, alphabet: Iterable[str]) -> Iterator[str]:
    """Yields the tokens, with placeholders for those that no text gives and the op cannot take.

    These are the empty token, "##", and tokens with a character that clean-up removes from words.
    A placeholder begins with such a character itself.

    Args:
      alphabet: the characters of the tokens.
    """
    removed = {char for char in alphabet if not characters.cleaned(char).strip()}
    for index, token in enumerate(vocabulary.tokens):
        is_reachable = token not in ("", "##") and removed.isdisjoint(token)
        size = len(token.removeprefix("##").encode("utf-8"))
        if not is_reachable or len(token.removeprefix("##")) > MAX_WORD_CHARS:
            yield f"\x01{index}"
        elif size > _MAX_TOKEN_BYTES:
            raise InputError(
                f"Token {index} of the vocabulary, {token!r}, has {size} bytes; the graph "
                f"tokenizer takes {_MAX_TOKEN_BYTES}. Shorten it or use the Python tokenizer."
            )
        else:
            yield token


# The tables below depend on `unicodedata`, and the first one on the characters of the tokens.


@functools.lru_cache(maxsize=8)
def _normalizer_table(
    do_lower_case: bool, unknown: str, of_tokens: frozenset[int]
) -> tuple[str, bytes]:
    """The pattern of unassigned characters that no token has, and the table of the normalizer.

    Args:
      unknown: what such a character becomes.
      of_tokens: the unassigned code points that tokens have.
    """
    unassigned = _unassigned() - of_tokens
    replacements = dict(_normal_forms(do_lower_case)) | dict.fromkeys(unassigned, unknown)
    return f"[{ranges(unassigned)}]", characters.normalizer_model(replacements)


@functools.cache
def _normal_forms(do_lower_case: bool) -> Mapping[int, str]:
    """Code point to normal form, where it differs and the wordpiece op does not do the same."""

    def is_changed(char: str) -> bool:
        form = characters.normal_form(char, do_lower_case)
        # The op itself splits at ASCII punctuation and at the same CJK blocks.
        is_split_by_op = char.isascii() or characters.is_cjk(char)
        return form != char and not (is_split_by_op and form == f" {char} ")

    return {
        codepoint: characters.normal_form(chr(codepoint), do_lower_case)
        for codepoint in codepoints_with(is_changed)
    }


@functools.cache
def _unassigned() -> frozenset[int]:
    """Code points that Python does not know yet.

    Python treats them as letters. ICU, in the ops, may know some as punctuation, or decompose them.
    Those that no token has become a letter that no token has either, so that both forms give [UNK].
    """
    return frozenset(
        codepoint
        for codepoint in itertools.chain(*characters.WITH_PROPERTIES)
        if unicodedata.category(chr(codepoint)) == "Cn" and not characters.is_cjk(chr(codepoint))
    )


@functools.cache
def _plain_pattern(do_lower_case: bool) -> str:
    """Matches valid UTF-8 to which no rule about neighbours applies."""
    special = "\\x{D800}-\\x{DFFF}"
    if do_lower_case:
        special += "Σ" + ranges(codepoints_with(_is_reordered))
    return f"[^{special}]*"


def _is_reordered(char: str) -> bool:
    """Whether canonical order may move it, and it is not stripped as an accent.

    Nearly all such characters have combining class 9, and those of one class keep their order.
    """
    return unicodedata.combining(char) not in (0, 9) and unicodedata.category(char) != "Mn"


@functools.cache
def _deleted_pattern() -> str:
    return f"[{ranges(codepoints_with(characters.is_deleted))}]+"


@functools.cache
def _unseparated_pattern() -> str:
    return f"[{_ASCII_PUNCTUATION}{ranges(codepoints_with(characters.is_cjk))}]"


@functools.cache
def _final_sigma_rule() -> tuple[str, str]:
    """Pattern and rewrite for the sigma that ends a word, by the rule of `str.lower`.

    There must be a cased character before it and none after, past characters that casing ignores.
    """
    c = ranges(codepoints_with(is_cased))
    i = ranges(codepoints_with(is_ignored_by_casing))
    return f"([{c}][{c}{i}]*)Σ([{i}]*)([^{c}{i}]|\\z)", r"\1ς\2\3"
