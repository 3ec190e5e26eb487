"""Sentences whose words have tags: from CoNLL column files, or from tables with lists."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence

from bert_tf.errors import InputError
from bert_tf.examples.labelled import TokenExample
from bert_tf.examples.readers import conll, formats, tag_schemes
from bert_tf.examples.readers.cells import Cells
from bert_tf.examples.readers.labels import LabelReader
from bert_tf.examples.readers.layouts import Layout, flat
from bert_tf.examples.readers.tables import Column, Row

# Words of a document kept on each side of a sentence: no row takes more.
CONTEXT_WORDS = 512


@dataclasses.dataclass(frozen=True, kw_only=True)
class TokenLayout(Layout[TokenExample]):
    """Files with tagged sentences.

    Columns that are numbers (from 0; -1 is the last) are those of a CoNLL file. Names are those of
    a table that has a sentence in each row and in these columns lists of equal length.

    Attributes:
      words: column of the words.
      tags: column of their tags.
      scheme: of the tags, of `tag_schemes.SCHEMES`; examples have IOB2.
      test_has_tags: whether the tags of a test file are read, if it has the column.
      document: of a table: column that tells documents apart, for the words around a sentence.
      row_id, weight: of a table: see `Columns`.
    """

    words: Column = 0
    tags: Column = -1
    scheme: str = "iob2"
    test_has_tags: bool = False
    document: Column | None = None
    row_id: Column | None = None
    weight: Column | None = None

    def read_as_is(
        self, path: str, read_label: LabelReader | None, *, is_test: bool, is_quiet: bool
    ) -> list[TokenExample]:
        has_tags = read_label is not None and (self.test_has_tags or not is_test)
        check = _TagChecker(read_label) if has_tags and read_label else None
        if isinstance(self.words, str):
            return list(self._from_table(path, check, is_test, is_quiet))
        return list(self._from_conll(path, check, is_test))

    def has_ids(self, *, is_test: bool = False) -> bool:
        return self.row_id is not None

    def fits(self, path: str, *, is_test: bool = False) -> bool:
        if not isinstance(self.words, str):
            return formats.has_no_names(path)
        wanted = [self.words] if is_test else flat(self.words, self.tags)
        return formats.has_columns(path, wanted, self.dialect)

    def _from_conll(
        self, path: str, check: "_TagChecker | None", is_test: bool
    ) -> Iterator[TokenExample]:
        words, tags = int(self.words), int(self.tags)
        needed = max(words, tags, 1) + 1
        sentences = conll.read(path, words + 1 if is_test or check is None else needed)
        if len(sentences[0].cells[0]) < needed:
            check = None  # a test file without tags
        all_words = [sentence.column(words) for sentence in sentences]
        around = _around(all_words, [sentence.document for sentence in sentences])
        for index, sentence in enumerate(sentences):
            found: tuple[str, ...] | None = None
            if check:
                try:
                    found = check(sentence.column(tags), self.scheme)
                except tag_schemes.TagError as error:
                    line = sentence.lines[error.index]
                    raise InputError(f"{path}, line {line}: {error}.") from None
            yield TokenExample(str(index), all_words[index], found, *around[index])

    def _from_table(
        self, path: str, check: "_TagChecker | None", is_test: bool, is_quiet: bool
    ) -> Iterator[TokenExample]:
        tags_column = self.tags if check else None
        weight_column = None if is_test else self.weight
        wanted = flat(self.words, tags_column, self.document, self.row_id, weight_column)
        table = self.open(path, wanted, is_quiet)
        cells = Cells(table)
        words_of, tags_of = cells.lists(self.words), cells.lists(self.tags) if check else None
        guid, weight = cells.guids(self.row_id), cells.weights(weight_column)
        document = cells.texts(self.document)
        all_words = [words_of(row) for row in table.rows]
        around = _around(all_words, [document(row) for row in table.rows])
        for row, words, (before, after) in zip(table.rows, all_words, around, strict=True):
            tags = _tags_of_row(cells, row, words, tags_of, check, self.scheme)
            yield TokenExample(guid(row), words, tags, before, after, weight(row))


def _tags_of_row(
    cells: Cells,
    row: Row,
    words: tuple[str, ...],
    tags_of: Callable[[Row], tuple[str, ...]] | None,
    check: "_TagChecker | None",
    scheme: str,
) -> tuple[str, ...] | None:
    """The tags of a table's row in IOB2; None in a test set."""
    if not words:
        raise cells.table.wrong(row, "the sentence has no word")
    if tags_of is None or check is None:
        return None
    tags = tags_of(row)
    if len(tags) != len(words):
        raise cells.table.wrong(
            row, f"{len(words)} words and {len(tags)} tags found; each word needs one tag"
        )
    try:
        return check(tags, scheme)
    except tag_schemes.TagError as error:
        raise cells.table.wrong(row, f"word {error.index + 1}: {error}") from None


class _TagChecker:
    """Turns tags into IOB2, and checks each one that it has not seen yet."""

    def __init__(self, read_label: LabelReader):
        self._read_label = read_label
        self._known: set[str] = set()

    def __call__(self, tags: Sequence[str], scheme: str) -> tuple[str, ...]:
        """The tags of a sentence in IOB2.

        Raises:
          TagError: a tag is not one of the scheme, or none of the task's labels.
        """
        found = tag_schemes.to_iob2(tags, scheme)
        for index, tag in enumerate(found):
            if tag in self._known:
                continue
            try:
                self._read_label(tag)
            except ValueError as error:
                raise tag_schemes.TagError(index, str(error)) from None
            self._known.add(tag)
        return found


def _around(
    sentences: Sequence[tuple[str, ...]], documents: Sequence[object]
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The words of its document before and after each sentence; none where documents are None."""
    found = []
    first = 0
    while first < len(sentences):
        last = first + 1
        while last < len(sentences) and documents[last] == documents[first] is not None:
            last += 1
        words = [word for sentence in sentences[first:last] for word in sentence]
        start = 0
        for sentence in sentences[first:last]:
            end = start + len(sentence)
            before = tuple(words[max(0, start - CONTEXT_WORDS) : start])
            found.append((before, tuple(words[end : end + CONTEXT_WORDS])))
            start = end
        first = last
    return found
