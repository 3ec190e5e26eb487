"""The input: a text, or a pair of texts, on each line. Read as a stream, whatever its size."""

import hashlib
import itertools
import re
from collections.abc import Iterator
from typing import NamedTuple

from bert_tf.corpus.inputs import BYTE_ORDER_MARK, open_text
from bert_tf.errors import InputError
from bert_tf.examples import packing
from bert_tf.text.wordpiece import WordPieceTokenizer

_PAIR = re.compile(r"^(.*) \|\|\| (.*)$")  # released code


class Row(NamedTuple):
    """A line as the model takes it.

    Attributes:
      number: of its line, from 0.
      word_ids: special tokens included.
      type_ids: as long as `word_ids`.
      is_cut: whether the text was longer.
    """

    number: int
    word_ids: list[int]
    type_ids: list[int]
    is_cut: bool


class Survey(NamedTuple):
    """What a file holds: its lines, and the sha256 of its text."""

    num_lines: int
    sha256: str


def survey(path: str) -> Survey:
    """Reads a file once, so that damage is found before the work starts.

    Raises:
      InputError: it has no line, or its compressed data are damaged.
    """
    num_lines, sha256, last = 0, hashlib.sha256(), b"\n"
    with open_text(path) as stream:
        while block := stream.read(2**20):
            num_lines += block.count(b"\n")
            sha256.update(block)
            last = block
    num_lines += not last.endswith(b"\n")
    if not num_lines:
        raise InputError(f"--input_file={path} has no line; a text on each line was wanted.")
    return Survey(num_lines, sha256.hexdigest())


def split(line: bytes) -> tuple[str, str | None]:
    """The text of a line, and the second one of a pair, as the released code reads them.

    A blank line is an empty text. Bytes that are not UTF-8 are ignored.
    """
    text = line.decode("utf-8", "ignore").strip()
    match = _PAIR.match(text)
    return (match[1], match[2]) if match else (text, None)


def rows(
    path: str, tokenizer: WordPieceTokenizer, max_seq_length: int, first: int = 0
) -> Iterator[Row]:
    """Yields the lines of a file, tokenized and packed, from line number `first` on."""
    with open_text(path) as stream:
        for number, line in enumerate(itertools.islice(stream, first, None), start=first):
            if number == 0:
                line = line.removeprefix(BYTE_ORDER_MARK)
            first_text, second_text = split(line)
            first_ids = tokenizer.encode(first_text)
            # As released: a second text without a token is none.
            second_ids = tokenizer.encode(second_text) if second_text else []
            word_ids, type_ids = packing.pack(
                first_ids, second_ids or None, tokenizer.vocabulary, max_seq_length
            )
            num_special = 3 if second_ids else 2
            is_cut = len(first_ids) + len(second_ids) + num_special > max_seq_length
            yield Row(number, word_ids, type_ids, is_cut)
