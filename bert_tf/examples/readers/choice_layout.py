"""Texts with several choices, one of which is right: SWAG, HellaSwag and a user's own."""

import dataclasses
from collections.abc import Callable

from bert_tf.examples.labelled import ChoiceExample
from bert_tf.examples.readers import formats, labels
from bert_tf.examples.readers.cells import Cells
from bert_tf.examples.readers.labels import LabelReader
from bert_tf.examples.readers.layouts import Layout, flat
from bert_tf.examples.readers.tables import Column, Row


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChoiceLayout(Layout[ChoiceExample]):
    """Files with a set of choices in each row.

    Attributes:
      context: columns of the first text; several are joined by a space.
      choices: one column that holds lists, or a column for each choice. Empty ones at the end are
        left out, so that rows may have fewer.
      stem: column of the words that every choice begins with, joined by a space.
      label: column of the right choice.
      first_label: what that column calls the first choice, such as "0", "1" or "A".
      right_choice: column of the right choice's text; `choices` are the wrong ones then. It is put
        at position (row number modulo number of choices), so that no position is right more often.
      test_has_label: whether test files have the columns of the right choice.
      row_id, weight: see `Columns`.
    """

    context: tuple[Column, ...]
    choices: tuple[Column, ...]
    stem: Column | None = None
    label: Column | None = None
    first_label: str = "0"
    right_choice: Column | None = None
    test_has_label: bool = False
    row_id: Column | None = None
    weight: Column | None = None

    def read_as_is(
        self, path: str, read_label: LabelReader | None, *, is_test: bool, is_quiet: bool
    ) -> list[ChoiceExample]:
        table = self.open(path, self._wanted(is_test), is_quiet)
        cells = Cells(table)
        is_unlabelled = is_test and not self.test_has_label
        context, choices = self._context(cells), self._choices(cells, is_unlabelled)
        label = None if is_unlabelled else self._label(cells)
        guid, weight = cells.guids(self.row_id), cells.weights(None if is_test else self.weight)
        examples = []
        for row in table.rows:
            found, answer = choices(row)
            if label is not None:
                answer = label(row, len(found))
            examples.append(ChoiceExample(guid(row), context(row), found, answer, weight(row)))
        return examples

    def has_ids(self, *, is_test: bool = False) -> bool:
        return self.row_id is not None

    def fits(self, path: str, *, is_test: bool = False) -> bool:
        return formats.has_columns(path, self._wanted(is_test), self.dialect)

    def _wanted(self, is_test: bool) -> list[Column]:
        has_label = self.test_has_label or not is_test
        answer = flat(self.label, self.right_choice) if has_label else []
        weight = None if is_test else self.weight
        return flat(self.context, self.stem, self.choices, *answer, self.row_id, weight)

    def _context(self, cells: Cells) -> Callable[[Row], str]:
        texts = [cells.texts(column) for column in self.context]

        def read(row: Row) -> str:
            context = " ".join(filter(None, (text(row) for text in texts)))
            if not context.strip():
                raise cells.table.wrong(row, "the text in front of the choices is empty")
            return context

        return read

    def _choices(
        self, cells: Cells, is_unlabelled: bool
    ) -> Callable[[Row], tuple[tuple[str, ...], str | None]]:
        """A function from a row to its choices and, by `right_choice`, the right one's number."""
        listed, stem = self._listed(cells), cells.texts(self.stem)
        right = (
            None if is_unlabelled or self.right_choice is None else cells.texts(self.right_choice)
        )

        def read(row: Row) -> tuple[tuple[str, ...], str | None]:
            found, answer = listed(row), None
            if right is not None:
                position = row.row_index % (len(found) + 1)
                found.insert(position, right(row) or "")
                answer = str(position)
            _check(cells, row, found)
            beginning = stem(row)
            return tuple(
                f"{beginning} {choice}" if beginning else choice for choice in found
            ), answer

        return read

    def _listed(self, cells: Cells) -> Callable[[Row], list[str]]:
        """A function from a row to what `choices` hold, without empty ones at the end."""
        if len(self.choices) == 1:
            in_a_list = cells.lists(self.choices[0])
            return lambda row: list(in_a_list(row))
        columns = [cells.texts_or_nothing(column) for column in self.choices]

        def read(row: Row) -> list[str]:
            found = [text(row) for text in columns]
            while found and not found[-1].strip():
                found.pop()
            return found

        return read

    def _label(self, cells: Cells) -> Callable[[Row, int], str] | None:
        if self.label is None:
            return None
        text = cells.read_by(cells.table.cell_of(self.label), labels.as_text)
        first = self.first_label

        def read(row: Row, num_choices: int) -> str:
            names = [_nth(first, number) for number in range(num_choices)]
            if (name := text(row).strip()) not in names:
                raise cells.table.wrong(
                    row,
                    f"label {name!r} names none of the {num_choices} choices; wanted one of "
                    f"{', '.join(names)}",
                )
            return str(names.index(name))

        return read


def _nth(first: str, number: int) -> str:
    """The name of a choice, from 0: of "A", "A", "B", "C"; of "1", "1", "2", "3"."""
    return str(int(first) + number) if first.isdecimal() else chr(ord(first) + number)


def _check(cells: Cells, row: Row, choices: list[str]) -> None:
    if len(choices) < 2:
        raise cells.table.wrong(
            row, f"{len(choices)} choice{'s' * (len(choices) != 1)} found, at least 2 wanted"
        )
    for number, choice in enumerate(choices, 1):
        if not choice.strip():
            raise cells.table.wrong(row, f"choice {number} of {len(choices)} is empty")
