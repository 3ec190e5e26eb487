"""Running text to sentences: rules of sentencex (Wikimedia), applied inside quotations too.

sentencex treats a quotation as one sentence, however long it is. A speech of a page is not a
sentence for a pair of texts, so each sentence with quotation marks is split once more, with
blanks for the marks.
"""

import re
import sys
from collections.abc import Iterator

import sentencex

from bert_tf.errors import InputError

# The languages for which sentencex has abbreviations or rules, or that need none (ko, zh).
LANGUAGES = (
    "am ar bg bn ca da de el en es fi fr gu hi hy it ja kk kn ko ml mr my nl pa pl pt ru sk ta te "
    "uk zh"
).split()

# A longer sentence is cut at white space. This limits the text that sentencex gets at once, because
# its time grows with the square of the number of quotation marks.
_MAX_CHARS = 2**14
# sentencex aborts the process at some white space of several bytes. Replacing one character by one
# keeps the offsets.
_SPACES = {code: " " for code in range(sys.maxunicode + 1) if chr(code).isspace()}
# An apostrophe inside a word is not a quotation mark.
_QUOTE = re.compile(r"[\"“”„‟«»‹›「」『』《》`]|(?<!\w)['‘’‚‛]|['‘’‚‛](?!\w)")
_SENTENCE_END = re.compile(r"[.!?…。！？।։]")


class Splitter:
    """Splits paragraphs of one language.

    Args:
      language: a code of `LANGUAGES`, e.g. "en"; what follows a hyphen ("zh-Hant") is ignored.

    Raises:
      InputError: the language has no rules.
    """

    def __init__(self, language: str = "en") -> None:
        self._language = re.split("[-_]", language.lower())[0]
        if self._language not in LANGUAGES:
            raise InputError(
                f"--language={language}: no rules to split its text into sentences. Known are "
                f"{' '.join(LANGUAGES)}; or give sentences, one per line, with "
                "--input_format=sentences."
            )

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Offsets (start, end) of the sentences of a paragraph, without white space around them.

        Between them there is only white space. Line ends count as spaces.
        """
        spaced = text.translate(_SPACES)
        starts = self._starts(spaced)
        spans = []
        for start, end in zip(starts, [*starts[1:], len(spaced)], strict=True):
            sentence = spaced[start:end]
            left = len(sentence) - len(sentence.lstrip(" "))
            length = len(sentence.strip(" "))
            if length:
                spans.append((start + left, start + left + length))
        return spans

    def _starts(self, text: str) -> list[int]:
        """Where sentences start; the first one at 0."""
        starts: list[int] = []
        position = 0
        while position < len(text):
            part = text[position : position + _MAX_CHARS]
            inside = self._starts_in(part)
            rest = position + len(part) < len(text)
            if rest and len(inside) > 1:
                next_position = position + inside.pop()  # the last one may continue
            elif rest and (space := part.rfind(" ")) > 0:
                next_position = position + space
            else:
                next_position = position + len(part)
            starts += [position + start for start in inside]
            position = next_position
        return starts or [0]

    def _starts_in(self, text: str) -> list[int]:
        """The same for a text that is short enough for sentencex."""
        starts = []
        for sentence in sentencex.get_sentence_boundaries(self._language, text):
            start, inside = sentence["start_index"], sentence["text"]
            starts.append(start)
            if _QUOTE.search(inside) and len(_SENTENCE_END.findall(inside)) > 1:
                starts += [start + offset for offset in self._starts_in_quotation(inside)]
        return starts

    def _starts_in_quotation(self, sentence: str) -> Iterator[int]:
        """Where sentences inside the quotations of a sentence start.

        Never at the end of a quotation: what follows may belong to it ("..." he said), and
        sentencex has already decided on that.
        """
        blanked = _QUOTE.sub(" ", sentence)
        for part in sentencex.get_sentence_boundaries(self._language, blanked)[1:]:
            end_before = len(blanked[: part["start_index"]].rstrip(" "))
            if end_before and not _QUOTE.match(sentence, end_before):
                yield end_before
