"""Removes from wikitext what is not prose, and turns one paragraph of it into plain text.

A scanner removes what spans lines (templates, tables, references, pictures), in time linear in
the size of the page. The rest of a paragraph, with links and entities and inline tags, goes through
a parser. Parsing whole pages would take several times as long, and the parser's time and memory
have no limit on pages with much unclosed markup.
"""

import html
import re
from collections.abc import Iterable

import mwparserfromhell
from mwparserfromhell import nodes
from mwparserfromhell.parser import ParserError

from bert_tf.corpus.wikitext_templates import HOLE, SILENT, shown_template

# Several times what articles use; the scanner's time grows with it.
MAX_NESTING = 100
# About ten times the longest paragraphs of good articles.
MAX_PARAGRAPH_CHARACTERS = 20_000
# The parser's time grows with the square of the number of tags that are left open.
MAX_PARAGRAPH_TAGS = 200


class WikitextError(ValueError):
    """A page or a paragraph that cannot be read; to be counted and left out."""


# ---------------------------------------------------------------- what spans lines

# Their content is not wikitext, or not prose.
_EXTENSIONS = (
    "ref|math|chem|ce|gallery|timeline|poem|score|syntaxhighlight|source|pre|nowiki|imagemap|hiero|"
    "references|graph|mapframe|maplink|templatedata|categorytree|inputbox|indicator|includeonly|code"
)
_EXTENSION = re.compile(rf"<!--|<({_EXTENSIONS})\b([^<>]*)>", re.IGNORECASE)
_EXTENSION_START = re.compile(rf"<(?:{_EXTENSIONS})\b", re.IGNORECASE)
_ENDS = {name: re.compile(rf"</{name}\s*>", re.IGNORECASE) for name in _EXTENSIONS.split("|")} | {
    "": re.compile("-->")
}
# A formula or code that reads like a word.
_WORD = re.compile(r"[^\W_]+(?:[ .\-][^\W_]+){0,2}(?:\(\))?")
_MARKUP_CHARACTER = re.compile(r"[^\w\s.,]")


def _without_extensions(text: str) -> str:
    """Replaces comments and extension tags, whose content must not be read as wikitext."""
    parts: list[str] = []
    unclosed: set[str] = set()
    position = 0
    while match := _EXTENSION.search(text, position):
        name = (match[1] or "").lower()
        parts.append(text[position : match.start()])
        position = match.end()
        if name and match[2].endswith("/"):
            parts.append(SILENT)
            continue
        # The missing end of a name is searched for once, so that the time stays linear.
        end = None if name in unclosed else _ENDS[name].search(text, position)
        if end:
            parts.append(_shown_extension(name, text[position : end.start()]))
            position = end.end()
            if not name and _is_alone(text, match.start(), position):
                position += 1
        elif name:
            unclosed.add(name)
            parts.append(match[0])
        else:
            position = len(text)  # as MediaWiki does
    return "".join((*parts, text[position:]))


def _is_alone(text: str, start: int, end: int) -> bool:
    """Whether the comment between `start` and `end` is all that its line has."""
    return text[end : end + 1] == "\n" and (start == 0 or text[start - 1] == "\n")


def _shown_extension(name: str, content: str) -> str:
    if name in ("", "ref", "references", "indicator", "includeonly"):
        return SILENT if name else ""
    if name == "nowiki":
        return _MARKUP_CHARACTER.sub(lambda match: f"&#{ord(match[0])};", content)
    if name in ("math", "chem", "ce", "code") and "\n" not in content.strip():
        return content.strip() if _WORD.fullmatch(content.strip()) else HOLE
    return "\n\n"


_BRACKETS = re.compile(r"\{\{|\}\}|\[\[|\]\]")


def _without_templates(text: str) -> str:
    """Replaces templates, and removes pictures, categories and links to other languages.

    Works from the inside out, with a stack of open brackets; one without a partner stays text.
    """
    stack: list[tuple[str, list[str]]] = []
    parts: list[str] = []
    position = 0
    for match in _BRACKETS.finditer(text):
        parts.append(text[position : match.start()])
        position, bracket = match.end(), match[0]
        if bracket in ("{{", "[["):
            stack.append((bracket, parts))
            parts = []
            if len(stack) > MAX_NESTING:
                raise WikitextError(f"more than {MAX_NESTING} brackets are open at once")
            continue
        opening = "{{" if bracket == "}}" else "[["
        if bracket == "}}" and any(name == opening for name, _ in stack):
            while stack[-1][0] != opening:
                parts = _reopened(stack, parts)
        if stack and stack[-1][0] == opening:
            content = "".join(parts)
            _, parts = stack.pop()
            parts.append(_shown_link(content) if bracket == "]]" else shown_template(content))
        else:
            parts.append(bracket)
    parts.append(text[position:])
    while stack:
        parts = _reopened(stack, parts)
    return "".join(parts)


def _reopened(stack: list[tuple[str, list[str]]], parts: list[str]) -> list[str]:
    """Takes an opening bracket off the stack; returns the parts before it, itself and `parts`."""
    bracket, before = stack.pop()
    before.append(bracket)
    before += parts
    return before


# English names hold in every wiki; the others are those of large ones and of the tests' languages.
_DROPPED_NAMESPACES = frozenset(
    "file image media category файл картинка изображение категория файл зображення категорія "
    "файл слика категорија datei bild kategorie fichier catégorie archivo imagen categoría "
    "immagine categoria bestand afbeelding categorie plik grafika kategoria ficheiro imagem fil "
    "kategori tiedosto kuva luokka soubor súbor fájl kép kategória fișier imagine datoteka slika "
    "kategorija dosya αρχείο εικόνα κατηγορία קובץ קטגוריה ملف صورة تصنيف پرونده رده "
    "ファイル 画像 カテゴリ 文件 图像 分类 파일 그림 분류 चित्र श्रेणी berkas".split()
) | {"tập tin", "hình", "thể loại"}
_PICTURE = re.compile(
    r"\.(?:jpe?g|png|gif|svg|tiff?|webp|djvu?|pdf|xcf|stl|og[gavx]|opus|mid|mp3|wav|flac|webm|mpe?g)"
    r"\s*$",
    re.IGNORECASE,
)
_WIKI_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]+)*|simple")


def _shown_link(content: str) -> str:
    target = content.partition("|")[0]
    prefix, colon, _ = target.partition(":")
    prefix = prefix.strip().lower().replace("_", " ")
    if colon and prefix:
        is_dropped = prefix in _DROPPED_NAMESPACES or _WIKI_LANGUAGE.fullmatch(prefix)
        if is_dropped or _PICTURE.search(target):
            return SILENT
    return f"[[{content}]]"


_BLOCK_TAGS = "div|table|center|ul|ol|dl|form"
_BLOCK = re.compile(
    r"^[:*# \t]*(?P<table>\{\|)|^[ \t]*(?P<end>\|\})"
    rf"|<(?P<close>/?)(?P<name>{_BLOCK_TAGS})\b[^<>]*>",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile("^==", re.MULTILINE)


def _without_block_elements(text: str) -> str:
    """Removes tables and HTML blocks with their content."""
    spans: list[tuple[int, int]] = []
    opened: list[tuple[str, int, int]] = []
    for match in _BLOCK.finditer(text):
        is_end = bool(match["end"] or match["close"])
        name = (match["name"] or "{|").lower()
        if not is_end:
            opened.append((name, match.start(), match.end()))
            if len(opened) > MAX_NESTING:
                raise WikitextError(f"more than {MAX_NESTING} blocks are open at once")
            continue
        depth = next((i for i in reversed(range(len(opened))) if opened[i][0] == name), None)
        if depth is None:
            spans.append(match.span())
        else:
            spans.append((opened[depth][1], match.end()))
            del opened[depth:]
    for name, start, end in opened:
        if name == "{|":
            heading = _HEADING.search(text, start)
            end = heading.start() if heading else len(text)
        spans.append((start, end))
    return _cut(text, spans)


def _cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if end > position:
            parts += [text[position : max(start, position)], "\n\n"]
            position = end
    return "".join((*parts, text[position:]))


def without_blocks(text: str) -> str:
    """Wikitext without comments, templates, tables, pictures and references.

    Headings, lists and the markup inside paragraphs stay.

    Raises:
      WikitextError: brackets or blocks are nested deeper than `MAX_NESTING`.
    """
    text = text.replace(SILENT, "").replace(HOLE, "")
    return _without_block_elements(_without_templates(_without_extensions(text)))


# ---------------------------------------------------------------- one paragraph

# Their content is part of the sentence.
_INLINE_TAGS = frozenset(
    "i b u s em strong small big sub sup span font abbr cite q tt var samp kbd dfn ins bdi bdo "
    "mark time data noinclude onlyinclude nowiki code rb ruby".split()
)
_QUOTES = re.compile("'{2,}")
_NEEDS_PARSER = re.compile(r"[\[\]{}<&]|//")
_SWITCH = re.compile(r"__[^\W\d_]+__")


def plain(text: str) -> str:
    """One paragraph of `without_blocks` as text; `SILENT` and `HOLE` mark what is missing.

    Raises:
      WikitextError: it is too long or the parser gives up.
    """
    if len(text) > MAX_PARAGRAPH_CHARACTERS:
        raise WikitextError(f"a paragraph has more than {MAX_PARAGRAPH_CHARACTERS} characters")
    if _EXTENSION_START.search(text) or text.count("<") > MAX_PARAGRAPH_TAGS:
        raise WikitextError("a paragraph has tags that are never closed, or very many")
    text = _SWITCH.sub(SILENT, _without_quotes(text))
    if not _NEEDS_PARSER.search(text):
        return text
    try:
        # Entities come last, so that the characters that they represent are not read as markup.
        return html.unescape(_text(mwparserfromhell.parse(text, skip_style_tags=True)))
    except ParserError as error:
        raise WikitextError(f"the parser gave up: {error}") from error


def _without_quotes(text: str) -> str:
    """Removes bold and italic marks, which may be left open and end with the paragraph."""
    if "''" not in text:
        return text
    runs = [len(run) for run in _QUOTES.findall(text)]
    # As in `l'''amour''`: the first of three is an apostrophe if nothing else closes.
    num_bold = sum(run in (3, 5) for run in runs)
    if num_bold % 2 and sum(run in (2, 5) for run in runs) % 2:
        text = re.sub(r"(?<=\w)'''(?!')", "'", text, count=1)
    return _QUOTES.sub(lambda match: "'" if len(match[0]) == 4 else "", text)


def _text(wikicode: mwparserfromhell.wikicode.Wikicode) -> str:
    return "".join(map(_shown, wikicode.nodes))


def _shown(node: nodes.Node) -> str:
    """The text of a node that a reader sees."""
    if isinstance(node, nodes.Text):
        return node.value
    if isinstance(node, nodes.Wikilink):
        return _shown_wikilink(node)
    if isinstance(node, nodes.ExternalLink):
        return _text(node.title) if node.title else SILENT
    if isinstance(node, nodes.HTMLEntity):
        return str(node)
    if isinstance(node, nodes.Tag):
        return _shown_tag(node)
    return HOLE


def _shown_wikilink(link: nodes.Wikilink) -> str:
    if link.text is not None and str(link.text).strip():
        return _text(link.text)
    title = str(link.title).strip().removeprefix(":")
    if link.text is not None:
        title = re.sub(r"^[^:]*:|\s*\([^()]*\)$", "", title)  # the pipe trick
    return title.replace("_", " ")


def _shown_tag(tag: nodes.Tag) -> str:
    name = str(tag.tag).strip().lower()
    if name in ("br", "hr", "wbr"):
        return "" if name == "wbr" else " "
    if name in _INLINE_TAGS:
        return _text(tag.contents) if tag.contents is not None else ""
    return HOLE
