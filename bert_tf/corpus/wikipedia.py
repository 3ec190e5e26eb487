"""Wikipedia XML dumps to pages, and a page to the paragraphs of its running text.

Section A.1 of the paper: of Wikipedia only the text passages, without lists, tables and headers.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple
from xml.parsers import expat

from bert_tf.corpus import wikitext
from bert_tf.corpus.wikitext import WikitextError
from bert_tf.corpus.wikitext_templates import HOLE, SILENT
from bert_tf.errors import InputError

_CHUNK_BYTES = 2**16

Article = tuple[str, str, int]  # title, wikitext, line of the XML on which the page starts


# ---------------------------------------------------------------- dump to pages


def pages(stream: BinaryIO, source: str) -> Iterator[Article]:
    """Yields the articles of a dump: namespace 0, no redirects, the latest revision.

    Holds one page and one chunk of the stream at a time. Reads dumps of every export schema, in the
    encoding that their first bytes declare. Pages with a content model other than wikitext are left
    out.

    Args:
      stream: XML, decompressed.
      source: what error messages call it.

    Raises:
      InputError: it is not well-formed XML, ends early, or is not a MediaWiki export. Pages before
        the error are yielded first.
    """
    reader = _Reader()
    try:
        while chunk := stream.read(_CHUNK_BYTES):
            reader.feed(chunk)
            yield from reader.take()
            if reader.root not in (None, "mediawiki"):
                raise InputError(
                    f"{source} is XML with the root <{reader.root}>; a Wikipedia dump with the "
                    "root <mediawiki> was wanted (pages-articles.xml, also compressed)."
                )
        reader.feed(b"", is_last=True)
    except expat.ExpatError as error:
        yield from reader.take()
        raise _broken(error, source, reader) from None


_ENDS_EARLY = {
    expat.errors.codes[message]
    for message in (
        expat.errors.XML_ERROR_NO_ELEMENTS,
        expat.errors.XML_ERROR_UNCLOSED_TOKEN,
        expat.errors.XML_ERROR_PARTIAL_CHAR,
        expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
    )
}


def _broken(error: expat.ExpatError, source: str, reader: "_Reader") -> InputError:
    complete = f"{reader.num_pages} pages before it were complete"
    way_out = "Fetch it again"
    if reader.num_pages:
        complete += f", the last of them ends in line {reader.last_line}"
        way_out += ", or keep the complete pages: cut it after that line and add </mediawiki>"
    if error.code in _ENDS_EARLY:
        return InputError(
            f"{source} ends in the middle of the XML, in line {error.lineno}; {complete}. "
            f"{way_out}."
        )
    return InputError(
        f"{source} is not well-formed XML in line {error.lineno}, column {error.offset}: "
        f"{expat.ErrorString(error.code)}; {complete}. {way_out}; a dump is one <mediawiki> "
        "element in UTF-8, or in the encoding that its XML declaration names."
    )


class _Reader:
    """Collects pages from the events of an XML parser.

    Attributes:
      root: name of the outermost element; None before it.
      num_pages: complete pages so far, of all kinds.
      last_line: where the last of them ends.
    """

    def __init__(self) -> None:
        self.root: str | None = None
        self.num_pages = 0
        self.last_line = 0
        self._ready: list[Article] = []
        self._path: list[str] = []
        self._text: list[str] | None = None
        self._page = _Page(0)
        self._namespaces: set[str] = set()
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters

    def feed(self, chunk: bytes, is_last: bool = False) -> None:
        self._parser.Parse(chunk, is_last)

    def take(self) -> list[Article]:
        """Articles that have ended since the last call."""
        ready, self._ready = self._ready, []
        return ready

    def _start(self, name: str, _: object) -> None:
        name = name.rpartition(":")[2]
        self.root = self.root or name
        self._path.append(name)
        if name == "page":
            self._page = _Page(self._parser.CurrentLineNumber)
        elif name == "redirect":
            self._page.is_redirect = True
        elif "/".join(self._path[-2:]) in _KEPT:
            self._text = []

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, _: str) -> None:
        key = "/".join(self._path[-2:])
        name = self._path.pop()
        if self._text is not None and key in _KEPT:
            self._keep(key, "".join(self._text))
            self._text = None
        elif name == "revision":
            self._page.end_revision()
        elif name == "page":
            self.num_pages += 1
            self.last_line = self._parser.CurrentLineNumber
            if self._page.is_article(self._namespaces):
                self._ready.append((self._page.title, self._page.wikitext, self._page.line))
            self._page = _Page(0)

    def _keep(self, key: str, text: str) -> None:
        if key == "namespaces/namespace":
            self._namespaces.add(text)
        else:
            setattr(self._page, _KEPT[key], text)


# Elements whose text is kept, by their parent and name: the attribute of _Page for it.
_KEPT = {
    "page/title": "title",
    "page/ns": "namespace",
    "revision/timestamp": "revision_time",
    "revision/model": "revision_model",
    "revision/text": "revision_text",
    "namespaces/namespace": "",
}
# `#REDIRECT [[Title]]` in any language, for schemas without <redirect>.
_REDIRECT = re.compile(r"\s*#[^\W\d_]+\s*:?\s*\[\[")


class _Page:
    """What is known of a page while it is read."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.title = self.wikitext = self.time = self.model = ""
        self.revision_time = self.revision_text = self.revision_model = ""
        self.namespace: str | None = None
        self.is_redirect = False

    def end_revision(self) -> None:
        """Keeps the revision that was read if none kept before is later."""
        if self.revision_time >= self.time:
            self.time = self.revision_time
            self.wikitext = self.revision_text
            self.model = self.revision_model
        self.revision_time = self.revision_text = self.revision_model = ""

    def is_article(self, namespaces: set[str]) -> bool:
        if self.namespace is None:  # schemas before 0.6
            prefix, colon, _ = self.title.partition(":")
            is_main = not (colon and prefix in namespaces)
        else:
            is_main = self.namespace.strip() == "0"
        is_wikitext = self.model in ("", "wikitext")
        is_redirect = self.is_redirect or _REDIRECT.match(self.wikitext)
        return is_main and is_wikitext and not is_redirect


# ---------------------------------------------------------------- page to paragraphs


class Passages(NamedTuple):
    """The running text of a page.

    Attributes:
      paragraphs: plain text with single spaces, without line ends.
      num_with_markup: paragraphs left out because markup was left in them or could not be read.
      num_with_holes: paragraphs kept although words of a template or formula are missing.
      num_torn: paragraphs left out because too many words are missing.
    """

    paragraphs: list[str]
    num_with_markup: int
    num_with_holes: int
    num_torn: int


def passages(text: str) -> Passages:
    """The paragraphs of a page of wikitext that are prose.

    Left out with their content: headings, lists and indented lines, preformatted lines, tables,
    templates, references, pictures and their captions, categories, formulas, HTML blocks, and the
    sections that only point elsewhere. The text of links and of inline markup stays.
    A paragraph is prose if it has at least `MIN_WORDS` words and a sentence that ends, or is longer
    than labels are (`MIN_CHARACTERS`; some scripts have neither spaces nor full stops).

    Raises:
      WikitextError: it is nested deeper than `wikitext.MAX_NESTING`.
    """
    kept: list[str] = []
    num_with_markup = num_with_holes = num_torn = 0
    for block in _blocks(wikitext.without_blocks(text)):
        try:
            with_marks = _closed_up(wikitext.plain(block))
        except WikitextError:
            num_with_markup += 1
            continue
        num_holes = with_marks.count(HOLE)
        paragraph = _without_unfinished_end(_finished(with_marks))
        if not _is_prose(paragraph):
            continue
        if _LEFT_OVER.search(paragraph):
            num_with_markup += 1
        elif num_holes * MIN_WORDS_PER_HOLE > len(paragraph.split()):
            num_torn += 1
        else:
            num_with_holes += num_holes > 0
            kept.append(paragraph)
    return Passages(kept, num_with_markup, num_with_holes, num_torn)


# With more gaps than one in this many words, sentences become ones that nobody wrote.
MIN_WORDS_PER_HOLE = 20
MIN_WORDS = 5
MIN_CHARACTERS = 150

# Sections that are lists of sources, links and works even where they are written as paragraphs.
_POINTING_SECTIONS = frozenset(
    "see also|references|external links|external link|notes|notes and references|footnotes|"
    "bibliography|further reading|sources|citations|works cited|literature cited|gallery|"
    "image gallery|discography|filmography|references and notes|cited sources|general references|"
    "explanatory notes|notelist|links|publications|"
    "вижте също|виж още|виж също|външни препратки|препратки|източници|бележки|литература|галерия|"
    "библиография|дискография|филмография|използвана литература|бележки и източници|"
    "einzelnachweise|weblinks|siehe auch|literatur|quellen|anmerkungen|"
    "voir aussi|références|liens externes|notes et références|bibliographie|annexes|"
    "referencias|véase también|enlaces externos|bibliografía|notas|"
    "note|bibliografia|voci correlate|collegamenti esterni|altri progetti|"
    "referências|ver também|ligações externas|zie ook|externe links|bronnen|"
    "przypisy|zobacz też|linki zewnętrzne|"
    "примечания|ссылки|см. также|источники|галерея|примітки|посилання|див. також".split("|")
)
_MARKS = SILENT + HOLE
_NO_LEVEL = 7  # below the deepest heading
_LINES_OF_LISTS = "*#:;|!"
_BLOCK_TAG = re.compile(
    r"</?(?:blockquote|p|li|dd|dt|td|tr|th|caption|section)\b[^<>]*>", re.IGNORECASE
)


def _blocks(text: str) -> Iterator[str]:
    """Yields the wikitext of paragraphs: runs of lines outside of lists, tables and headings."""
    hidden_from = _NO_LEVEL
    lines: list[str] = []
    for line in _BLOCK_TAG.sub("\n\n", text).split("\n"):
        content = line.strip(f"{_MARKS} \t\r\u00a0")
        is_heading = len(content) > 2 and content[0] == content[-1] == "="
        if content and not is_heading and line[0] not in " \t" and not _is_list(content):
            lines.append(line)
            continue
        if lines and hidden_from == _NO_LEVEL:
            yield " ".join(lines)
        lines = []
        if is_heading:
            level = min(len(content) - len(content.lstrip("=")), 6)
            if level <= hidden_from:
                hidden_from = level if _points_elsewhere(content) else _NO_LEVEL
    if lines and hidden_from == _NO_LEVEL:
        yield " ".join(lines)


def _is_list(content: str) -> bool:
    return content[0] in _LINES_OF_LISTS or content.startswith("----")


def _points_elsewhere(heading: str) -> bool:
    title = re.sub(r"<[^<>]*>|'{2,}", "", heading.strip("= \t"))
    return title.strip(f"{_MARKS} :").casefold() in _POINTING_SECTIONS


# Parentheses with only marks, punctuation and words that joined the removed parts.
_EMPTIED = re.compile(
    rf"[(\[（]\s*(?:[{_MARKS}\s,;:/·–—-]|\b(?:or|and|also|pronounced|locally|listen)\b)*[)\]）]"
)
_AFTER_OPENING = re.compile(rf"(?<=[(\[（])[{_MARKS}\s,;:/]*[{_MARKS},;:][{_MARKS}\s,;:/]*")
_BEFORE_CLOSING = re.compile(rf"(?<![{_MARKS}\s,;:])[{_MARKS}\s,;:]+(?=[)\]）])")
_BETWEEN_COMMAS = re.compile(rf"[,;:]\s*([{_MARKS}]+)\s*(?=[,;:.])")
_SPACED_MARKS = re.compile(rf" ?(?<![{_MARKS}])[{_MARKS}]+(?= ?[.,;:!?])")


def _closed_up(text: str) -> str:
    """Removes the punctuation around removed parts."""
    text = _EMPTIED.sub(SILENT, " ".join(text.split()))
    text = _AFTER_OPENING.sub("", text)
    text = _BEFORE_CLOSING.sub("", text)
    text = _BETWEEN_COMMAS.sub(r"\1", text)
    return text.strip(f"{_MARKS} \t\n")


_WRONG_SPACE = re.compile(r"(?<=\S) +(?=[.,;)](?:\s|$))|(?<=\() +")


def _finished(text: str) -> str:
    """Removes the marks and the spaces that they leave."""
    text = _SPACED_MARKS.sub("", text).replace(HOLE, " ").replace(SILENT, "")
    return _WRONG_SPACE.sub("", " ".join(text.split()))


_SENTENCE_END = re.compile(r"[.!?…。！？।॥։؟۔።](?:[\"'”’»›)\]」』]|\s|$)|[。！？]")


# Not after "B." and "St.", and only where the next sentence does not begin in lower case.
_ENDED = re.compile(r"[.!?…。！？।॥։؟۔።][^\w\s]*$")
_BREAK = re.compile(r"(?<=\w{3})[.!?][\"'”’»)\]]*\s+|[。！？]")


def _without_unfinished_end(text: str) -> str:
    """Cuts off the last sentence if it led to a list or formula that was removed."""
    if _ENDED.search(text):
        return text
    ends = [m.end() for m in _BREAK.finditer(text) if not text[m.end() : m.end() + 1].islower()]
    if not ends and not text.endswith((":", "：")):
        return text
    return text[: ends[-1]].rstrip() if ends else ""


def _is_prose(text: str) -> bool:
    if not text or _NO_START.match(text):
        return False
    is_long = len(text) >= MIN_CHARACTERS
    return is_long or (len(text.split()) >= MIN_WORDS and bool(_SENTENCE_END.search(text)))


# A paragraph that continues after a formula, or a list item numbered or marked by hand.
_NO_START = re.compile(r"[,;.)](?!\.)|[•·▪■◦‣–—-]\s|\(?\d{1,2}[.)]\s")
_LEFT_OVER = re.compile(
    r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|''|==|-\{|\}-|</?[A-Za-z!]|^[|!*#:;]|https?://|\w\|\w+="
)
