"""Natural Questions (Kwiatkowski et al. 2019), in the simplified JSON lines of its authors.

A line has a question, a page of Wikipedia as tokens separated by single spaces, tags such as <P>
among them, and what annotators marked in it: a long answer, which is a paragraph, a table or a
list, and short answers, which are a few words.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from bert_tf.errors import InputError
from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.examples.readers import json_fields
from bert_tf.options import QuestionSet
from bert_tf.tasks.question_sets import json_stream

_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
# A question of the dev set counts as answered if two of its five annotators have answered it (the
# authors' nq_eval.py). The training set has one annotator.
_MIN_ANNOTATORS = 2

_Span = tuple[int, int]  # first token, and the one after the last


def read(stream: BinaryIO, options: QuestionSet) -> Iterator[tuple[str, SpanExample] | str]:
    """Reads the simplified JSON lines.

    Yields:
      For each line the address of the page with the question, or why it is left out.

    Raises:
      InputError: a line is not of that layout.
    """
    for where, entry in json_stream.lines(stream, options.input_file):
        if isinstance(entry, dict) and "document_tokens" in entry:
            raise InputError(
                f"{where} is in the original layout of Natural Questions; the simplified one was "
                "wanted. Give simplified-nq-train.jsonl, or run simplify_nq_data.py of "
                "google-research-datasets/natural-questions on it."
            )
        yield _asked(entry, options, where)


def _asked(
    entry: dict[str, Any], options: QuestionSet, where: str
) -> tuple[str, SpanExample] | str:
    """The question asked of its context, or why it is left out."""
    tokens = json_fields.field(entry, "document_text", str, where).split(" ")
    annotations = json_fields.field(entry, "annotations", list, where)
    answered = _answered(annotations, where)
    if not answered and any(each.get("yes_no_answer", "NONE") != "NONE" for each in annotations):
        return "answered by yes or no"
    if not answered and not options.keep_unanswerable:
        return "without a short answer"
    within: _Span | None = (0, len(tokens))
    if options.context == "long_answer":
        within = _long_answer(answered or annotations, where)
    context = _text(tokens[slice(*within)]) if within else ""
    if not within or not context.strip():
        return f"without a {options.context.replace('_', ' ')}"
    answers = _answers(answered, tokens, within, where)
    if answered and not answers:
        return "whose short answer is not in the context"
    example = SpanExample(
        question_id=str(json_fields.field(entry, "example_id", object, where)),
        question=json_fields.field(entry, "question_text", str, where),
        context=context,
        answers=answers,
        is_impossible=not answers,
    )
    return json_fields.field(entry, "document_url", str, where, ""), example


def _answered(annotations: Sequence[Any], where: str) -> list[Any]:
    """The annotations with short answers; none if too few have any."""
    found = [each for each in annotations if json_fields.field(each, "short_answers", list, where)]
    return found if len(found) >= min(_MIN_ANNOTATORS, len(annotations)) else []


def _long_answer(annotations: Sequence[Any], where: str) -> _Span | None:
    """The first long answer; None if there is none."""
    for annotation in annotations:
        start, end = _span(json_fields.field(annotation, "long_answer", dict, where), where)
        if 0 <= start < end:
            return start, end
    return None


def _answers(
    annotations: Sequence[Any], tokens: Sequence[str], within: _Span, where: str
) -> tuple[Answer, ...]:
    """The short answers within a span of tokens, each once, by their characters in its text."""
    answers = []
    for short in (short for annotation in annotations for short in annotation["short_answers"]):
        start, end = _span(short, where)
        text = _text(tokens[start:end])
        if text.strip() and within[0] <= start < end <= within[1]:
            before = _text(tokens[within[0] : start])
            answers.append(Answer(text, len(before) + bool(before)))
    return tuple(dict.fromkeys(answers))


def _span(answer: Any, where: str) -> _Span:
    start = json_fields.field(answer, "start_token", int, where)
    return start, json_fields.field(answer, "end_token", int, where)


def _text(tokens: Sequence[str]) -> str:
    """Tokens without tags, separated by single spaces.

    >>> _text(["<P>", "It", "rains", ".", "</P>"])
    'It rains .'
    """
    return " ".join(
        token for token in tokens if token and not (token[0] == "<" and _TAG.fullmatch(token))
    )
