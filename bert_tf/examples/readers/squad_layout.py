"""Questions about passages in the JSON layout of SQuAD 1.1 and 2.0 (Rajpurkar et al. 2016, 2018).

Many other data sets have it too: TyDi QA, MLQA, XQuAD, and what `bert-tf` converts to it.
"""

import dataclasses
import json
from collections.abc import Iterator

from bert_tf.errors import InputError
from bert_tf.examples.labelled import Answer, SpanExample
from bert_tf.examples.readers import json_fields, text_files
from bert_tf.examples.readers.labels import LabelReader
from bert_tf.examples.readers.layouts import Layout

_SHOWN_PROBLEMS = 5


@dataclasses.dataclass(frozen=True, kw_only=True)
class SquadLayout(Layout[SpanExample]):
    """JSON of articles, their paragraphs, and the questions about each.

    Attributes:
      version_2_with_negative: whether questions may be unanswerable.
      is_training: whether the questions are to train on. One that has no answer, or whose first
        answer is not the text at its position in the context, is left out then.
      shows_all_problems: whether every question with a problem is named, not only the first ones.
    """

    version_2_with_negative: bool = False
    is_training: bool = False
    shows_all_problems: bool = False

    def read_as_is(
        self, path: str, read_label: LabelReader | None, *, is_test: bool, is_quiet: bool
    ) -> list[SpanExample]:
        """See `Layout.read_as_is`.

        Raises:
          InputError: not a JSON file of that layout; unanswerable questions without
            `version_2_with_negative`; or no question, or none to train on.
        """
        examples: list[SpanExample] = []
        problems: list[str] = []
        num_impossible = 0
        for where, context, question in _questions(path):
            example, wrong = _example(where, context, question)
            num_impossible += example.is_impossible
            if self.is_training and not wrong and not example.is_labelled:
                wrong = "has no answer"
            if wrong:
                problems.append(f"{where} (id {example.question_id}): {wrong}.")
            if not (self.is_training and wrong):
                examples.append(example)
        if num_impossible and not self.version_2_with_negative:
            raise InputError(
                f"{path} marks {num_impossible} of {len(examples)} questions as unanswerable, so "
                "it is SQuAD 2.0. Give --version_2_with_negative=true."
            )
        if not examples:
            raise InputError(
                f"{path}: no question {'to train on ' if self.is_training else ''}was found. "
                + " ".join(problems[:3])
            )
        if not is_quiet:
            self._report(path, problems)
        return examples

    def _report(self, path: str, problems: list[str]) -> None:
        if not problems:
            return
        fate = "left out" if self.is_training else "kept"
        print(f"WARNING: {path}: {len(problems)} questions with problems, {fate}:", flush=True)
        for problem in problems if self.shows_all_problems else problems[:_SHOWN_PROBLEMS]:
            print(f"  {problem}", flush=True)
        if not self.shows_all_problems and len(problems) > _SHOWN_PROBLEMS:
            print("  ... --verbose_logging shows all.", flush=True)

    def fits(self, path: str, *, is_test: bool = False) -> bool:
        return text_files.ending(path) == ".json"

    def has_ids(self, *, is_test: bool = False) -> bool:
        return True


def _questions(path: str) -> Iterator[tuple[str, str, dict]]:
    """Yields (where it is in the file, context, question object)."""
    try:
        document = json.loads(text_files.read_text(path))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error}.") from None
    for a, article in enumerate(json_fields.field(document, "data", list, path)):
        place = f"{path}: data[{a}]"
        for p, paragraph in enumerate(json_fields.field(article, "paragraphs", list, place)):
            where = f"{place}.paragraphs[{p}]"
            context = json_fields.field(paragraph, "context", str, where)
            for q, question in enumerate(json_fields.field(paragraph, "qas", list, where)):
                yield f"{where}.qas[{q}]", context, question


def _example(where: str, context: str, question: dict) -> tuple[SpanExample, str]:
    """The example, and what is wrong with its first answer or ""."""
    question_id = json_fields.field(question, "id", str, where)
    answers: list[Answer] = []
    if "answers" in question:
        for number, answer in enumerate(json_fields.field(question, "answers", list, where)):
            place = f"{where}.answers[{number}]"
            start = json_fields.field(answer, "answer_start", int, place)
            answers.append(Answer(json_fields.field(answer, "text", str, place), start))
    example = SpanExample(
        question_id=question_id,
        question=json_fields.field(question, "question", str, where),
        context=context,
        answers=tuple(answers),
        is_impossible=bool(question.get("is_impossible", False)),
    )
    return example, "" if example.is_impossible or not answers else _misplaced(context, answers[0])


def _misplaced(context: str, answer: Answer) -> str:
    text = context[max(answer.start, 0) : max(answer.end, 0)]
    if text == answer.text and answer.text.strip():
        return ""
    return f"answer {answer.text!r} is not at character {answer.start}, where {text!r} is"
