"""The examples of tasks: rows of their files, before they are tokenized and packed."""

import dataclasses
from typing import TypeAlias

# Of one example: the label, a number to predict, or all the labels that hold.
Label: TypeAlias = str | float | tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class TextExample:
    """One text, or a pair of texts.

    Attributes:
      guid: the row's id in its file, or its number from 0 where the file has no ids.
      text_b: None in tasks of one text.
      label: str to classify, float to regress, a tuple for several labels; None in a test set.
      weight: of its loss.
    """

    guid: str
    text_a: str
    text_b: str | None = None
    label: Label | None = None
    weight: float = 1.0

    @property
    def is_labelled(self) -> bool:
        """Whether the right answer is known."""
        return self.label is not None


@dataclasses.dataclass(frozen=True, slots=True)
class TokenExample:
    """A sentence whose words have tags.

    Attributes:
      guid: as `TextExample`'s.
      tags: in IOB2, one for each word; None in a test set.
      before, after: words of the document around the sentence, which give context and have no tag.
      weight: of its loss.
    """

    guid: str
    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    weight: float = 1.0

    @property
    def is_labelled(self) -> bool:
        """Whether the right answer is known."""
        return self.tags is not None


@dataclasses.dataclass(frozen=True, slots=True)
class ChoiceExample:
    """A text with several continuations or answers, one of which is right.

    Attributes:
      guid: as `TextExample`'s.
      context: the first text of every choice.
      choices: the second texts, at least two.
      label: number of the right choice from "0"; None in a test set.
      weight: of its loss.
    """

    guid: str
    context: str
    choices: tuple[str, ...]
    label: str | None = None
    weight: float = 1.0

    @property
    def is_labelled(self) -> bool:
        """Whether the right answer is known."""
        return self.label is not None


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """A gold answer: `context[start : start + len(text)]` is `text`."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """Index of the character after the answer."""
        return self.start + len(self.text)


@dataclasses.dataclass(frozen=True, slots=True)
class SpanExample:
    """A question about a context, before packing.

    Attributes:
      question_id: files repeat ids; only the index in the list of examples is unique.
      answers: empty where unanswerable, or where the file has none.
      is_impossible: whether the file says that the context does not hold the answer.
    """

    question_id: str
    question: str
    context: str
    answers: tuple[Answer, ...] = ()
    is_impossible: bool = False

    @property
    def guid(self) -> str:
        """The id, as other examples call it."""
        return self.question_id

    @property
    def is_labelled(self) -> bool:
        """Whether the right answer is known."""
        return bool(self.answers) or self.is_impossible

    @property
    def weight(self) -> float:
        """Of its loss."""
        return 1.0


Example: TypeAlias = TextExample | TokenExample | ChoiceExample | SpanExample
