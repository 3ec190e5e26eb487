"""Paragraphs of a Wikipedia dump: how many, how fast, and 20 of them to be read by eye.

python -m benchmarks.text.wikipedia_paragraphs [--dump=FILE] [--seed=1]

Also counted, over all paragraphs: patterns that markup, lists and tables would leave. The text of
Wikipedia is CC BY-SA; the paragraphs go to the terminal only.
"""

import collections
import dataclasses
import json
import pathlib
import random
import re
import textwrap
import time

import mwparserfromhell

from bert_tf import files, flagging
from bert_tf.corpus import inputs, wikipedia, wikitext
from bert_tf.flagging import option

RESULTS = pathlib.Path(__file__).parents[1] / "results" / "wikipedia_paragraphs.json"
DUMPS = "../shared/data/pretrain/wikipedia/"

# None of these belongs into a passage.
WRONG = {
    "markup": r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}|''|==|</?\w+>|__[A-Z]+__",
    "reference": r"<ref|\[\d+\]$|cite (web|book|journal)",
    "table row": r"^[|!]|\|\||\|-|\w\|\w+=|(rowspan|colspan|style|class)=",
    "list item": r"^([*#:;•·–—-]\s*|\(?\d{1,2}[.)]\s)",
    "heading": r"^=|=$",
    "file or category": r"\b(File|Image|Category|Файл|Картинка|Категория):\S",
    "address": r"https?://|www\.",
    "entity": r"&#?\w+;",
    "empty brackets": r"\(\s*\)|\[\s*\]",
    "punctuation left over": r"[(\[]\s*[,;:]|[,;:]\s*[)\]]|,\s*,|\s[,.;](\s|$)|\(\s|\s\)",
    "spaces": r"^\s|\s$|\s\s|[^\S ]",
    "control character": r"[\x00-\x1f\x7f]",
}
# These may be right.
ODD = {
    "no sentence end": r"\w[^\w.!?…]*$",
    "begins in lower case": r"^[a-z]",
    "single | or brace": r"[|{}]",
    "square bracket": r"[\[\]]",
    "shorter than 80 characters": r"^.{,79}$",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    dump: str = option(
        f"{DUMPS}enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",
        "The dump.",
    )
    seed: int = option(1, "Of the paragraphs that are shown.")
    num_shown: int = option(20, "Paragraphs that are shown.")
    parser_share: float = option(
        0.1, "Of the pages that are also parsed whole, for the speed of the parser alone."
    )


def counted(table, texts):
    return {
        name: sum(bool(re.search(pattern, text)) for text in texts)
        for name, pattern in table.items()
    }


def timed(function, items):
    began = time.process_time()
    results = [function(item) for item in items]
    return results, time.process_time() - began


def read_pages(path):
    with inputs.open_text(path) as stream:
        return list(wikipedia.pages(stream, path))


def parsed_whole(text):
    """What the parser does for a page when it is given all of it."""
    return mwparserfromhell.parse(text, skip_style_tags=True).strip_code()


def measure(options):
    """(row of figures, list of (title, paragraph))."""
    (pages,), read_seconds = timed(read_pages, [options.dump])
    texts = [text for _, text, _ in pages]
    megabytes = [len(text.encode()) / 1e6 for text in texts]
    found, seconds = timed(wikipedia.passages, texts)
    _, scan_seconds = timed(wikitext.without_blocks, texts)
    step = max(1, round(1 / options.parser_share))
    _, parser_seconds = timed(parsed_whole, texts[::step])
    paragraphs = [
        (page[0], paragraph)
        for page, passages in zip(pages, found, strict=True)
        for paragraph in passages.paragraphs
    ]
    only = [paragraph for _, paragraph in paragraphs]
    row = {
        "dump": pathlib.Path(options.dump).name,
        "pages": len(pages),
        "pages without a paragraph": sum(not passages.paragraphs for passages in found),
        "wikitext_mb": round(sum(megabytes), 3),
        "paragraphs": len(only),
        "words": sum(len(text.split()) for text in only),
        "left out, with markup": sum(passages.num_with_markup for passages in found),
        "left out, torn": sum(passages.num_torn for passages in found),
        "kept, with a template or formula missing": sum(p.num_with_holes for p in found),
        "decompress and read, wikitext MB per CPU second": sum(megabytes) / read_seconds,
        "paragraphs, wikitext MB per CPU second": sum(megabytes) / seconds,
        "of it the scanner alone": sum(megabytes) / scan_seconds,
        "parser on whole pages, for comparison": sum(megabytes[::step]) / parser_seconds,
        "wrong": counted(WRONG, only),
        "odd": counted(ODD, only),
    }
    return {k: round(v, 2) if isinstance(v, float) else v for k, v in row.items()}, paragraphs


def main(options):
    row, paragraphs = measure(options)
    for name, value in row.items():
        values = value.items() if isinstance(value, dict) else [(name, value)]
        for key, number in values:
            label = f"{name}: {key}" if isinstance(value, dict) else key
            print(f"{label:52}{number}")
    shown = random.Random(options.seed).sample(
        range(len(paragraphs)), min(options.num_shown, len(paragraphs))
    )
    for index in shown:
        title, paragraph = paragraphs[index]
        print(f"\n[{index}] {title}\n{textwrap.fill(paragraph, 100)}")
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    titles = collections.Counter(paragraphs[index][0] for index in shown)
    row |= {"shown": {"seed": options.seed, "indices": shown, "num_titles": len(titles)}}
    results[row["dump"]] = row
    files.write_text(RESULTS, json.dumps(results, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    flagging.run(main, Options)
