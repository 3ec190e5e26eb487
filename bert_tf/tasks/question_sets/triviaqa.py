"""TriviaQA (Joshi et al. 2017): questions with answers, and documents that may hold one.

Nobody has marked the answers in the documents. As in BERT (Devlin et al. 2019, section 4.2), a
question is asked of the first 400 words of each of its documents, and its first answer found there
is taken to be the right one; documents without an answer there are left out.
"""

import itertools
import os
import re
from collections.abc import Collection, Iterator
from typing import Any, BinaryIO

from bert_tf.errors import InputError
from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.examples.readers import json_fields
from bert_tf.options import QuestionSet
from bert_tf.tasks.question_sets import json_stream

# From the key of a question's documents to their folder in --evidence_dir.
_FOLDERS = {"EntityPages": "wikipedia", "SearchResults": "web"}
_WORD = re.compile(r"\S+")


def read(stream: BinaryIO, options: QuestionSet) -> Iterator[tuple[str, SpanExample] | str]:
    """Reads a file of TriviaQA's folder qa.

    Yields:
      For each document of each question, the document's title with the question; or why it is left
      out.

    Raises:
      InputError: the file is not of that layout, or --evidence_dir is another folder.
    """
    _check_evidence(options.evidence_dir or "")
    for where, entry in json_stream.objects(stream, options.input_file, "Data"):
        if isinstance(entry, dict) and "Answer" not in entry:
            raise InputError(
                f"{where} has no 'Answer', as in TriviaQA's test sets, so it is nothing to train "
                "on. Give the file of a training or dev set, such as qa/wikipedia-train.json."
            )
        names = _names(json_fields.field(entry, "Answer", dict, where), where)
        for page, path in _documents(entry, options.evidence_dir or "", where):
            yield _asked(entry, names, page, path, options.max_context_words, where)


def _check_evidence(directory: str) -> None:
    wanted = " or ".join(_FOLDERS.values())
    if not os.path.isdir(directory):
        raise InputError(f"--evidence_dir={directory} is no directory; it must hold {wanted}.")
    held = sorted(os.listdir(directory))
    if not set(held) & set(_FOLDERS.values()):
        raise InputError(
            f"--evidence_dir={directory} holds no folder {wanted}, only {', '.join(held[:5])}. "
            "Give the folder evidence of TriviaQA."
        )


def _names(answer: dict[str, Any], where: str) -> list[str]:
    """All spellings of an answer."""
    where = f"{where}.Answer"
    names = [json_fields.field(answer, "Value", str, where)]
    for key in ("Aliases", "NormalizedAliases", "HumanAnswers"):  # the last in verified files
        names += json_fields.field(answer, key, list, where, [])
    return list(dict.fromkeys(name for name in names if name.strip()))


def _documents(
    entry: dict[str, Any], evidence_dir: str, where: str
) -> Iterator[tuple[dict[str, Any], str]]:
    """The documents of a question, each once, and their paths: "" where the file names none."""
    seen: set[str] = set()
    for key, folder in _FOLDERS.items():
        for page in json_fields.field(entry, key, list, where, []):
            name = json_fields.field(page, "Filename", str, f"{where}.{key}", "")
            path = os.path.join(evidence_dir, folder, name) if name else ""
            if path not in seen:
                yield page, path
            seen.add(path)


def _asked(
    entry: dict[str, Any],
    names: Collection[str],
    page: dict[str, Any],
    path: str,
    max_context_words: int,
    where: str,
) -> tuple[str, SpanExample] | str:
    """The question asked of a document, or why it is left out."""
    if not os.path.isfile(path):
        return "whose document is not in --evidence_dir"
    with open(path, encoding="utf-8-sig", errors="replace") as file:
        context = first_words(file.read(), max_context_words)
    answer = first_occurrence(names, context)
    if not answer:
        return f"without an answer in the first {max_context_words} words of the document"
    question_id = json_fields.field(entry, "QuestionId", str, where)
    example = SpanExample(
        question_id=f"{question_id}--{page['Filename']}",  # as in TriviaQA's own scripts
        question=json_fields.field(entry, "Question", str, where),
        context=context,
        answers=(answer,),
    )
    return page.get("Title") or page["Filename"], example


def first_words(text: str, count: int) -> str:
    """The text from its first word to number `count`; words are what white space separates.

    >>> first_words(" It is\\nan answer. ", 3)
    'It is\\nan'
    """
    words = list(itertools.islice(_WORD.finditer(text), count))
    return text[words[0].start() : words[-1].end()] if words else ""


def first_occurrence(names: Collection[str], text: str) -> Answer | None:
    """The earliest occurrence of one of some names in a text; of two that begin there, the longer.

    Names begin and end at the bounds of words. Neither case counts, nor which white space separates
    words.

    >>> first_occurrence(["york", "York Ham"], "New Yorkers eat YORK\\tham.")
    Answer(text='YORK\\tham', start=16)
    """
    # Few of up to hundreds of names are in a text, and to search for strings is fast.
    lowered = " ".join(text.lower().split())
    there = [words for name in names if " ".join(words := name.split()).lower() in lowered]
    if not there:
        return None
    there.sort(key=lambda words: len(" ".join(words)), reverse=True)
    patterns = "|".join(r"\s+".join(map(re.escape, words)) for words in there)
    found = re.search(rf"(?<!\w)(?:{patterns})(?!\w)", text, re.IGNORECASE)
    return Answer(found[0], found.start()) if found else None
