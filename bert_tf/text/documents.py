"""Text files to documents, one at a time: the input format of create_pretraining_data.py.

One sentence a line, a blank line between documents, UTF-8. The end of a file ends a document.
"""

import os
from typing import NamedTuple

from bert_tf.errors import InputError

# About twelve times the longest novel; more text without a blank line has no document marks.
MAX_DOCUMENT_BYTES = 64 * 2**20

# First bytes of what is no UTF-8 text, with the way out.
_FOREIGN_STARTS = {
    b"\x1f\x8b": ("compressed with gzip", "Decompress it with `gunzip`."),
    b"BZh": ("compressed with bzip2", "Decompress it with `bunzip2`."),
    b"PK\x03\x04": ("a zip archive", "Unpack it."),
    b"\xff\xfe": ("UTF-16", "Convert it with `iconv -f UTF-16 -t UTF-8`."),
    b"\xfe\xff": ("UTF-16", "Convert it with `iconv -f UTF-16 -t UTF-8`."),
}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# So many lines that are not UTF-8, and fewer that are and hold more than ASCII: another encoding.
_MANY_INVALID_LINES = 20
_MAX_INVALID_SHARE = 0.1


class Document(NamedTuple):
    """One document.

    Attributes:
      sentences: list of str, white space around them stripped, none empty.
      source: str, `file:line` of its first sentence.
      num_bytes: int, what it takes of its file, blank lines before it included.
      num_invalid_lines: int, lines that are not UTF-8; their wrong bytes became U+FFFD, which
        tokenizers drop.
    """

    sentences: list
    source: str
    num_bytes: int
    num_invalid_lines: int


def read(paths, max_document_bytes=MAX_DOCUMENT_BYTES):
    """Yields the documents of files that `files.require_file` let pass, in order.

    Holds one document at a time. Lines end with LF or CRLF.

    Args:
      paths: list of str.
      max_document_bytes: int, length above which a document is an error.

    Raises:
      InputError: a file is compressed, in large part not UTF-8, or has no blank line for
        `max_document_bytes`.
    """
    for path in paths:
        yield from _read_file(path, max_document_bytes)


def _read_file(path, max_document_bytes):
    decoder = _Decoder(path)
    sentences, first_line, num_bytes, invalid_before = [], 1, 0, 0
    with open(path, "rb") as file:
        _check_start(path, file)
        # A limit for `readline`, so that a file without line ends is not read whole.
        lines = iter(lambda: file.readline(max_document_bytes + 1), b"")
        for number, line in enumerate(lines, 1):
            num_bytes += len(line)
            text = decoder.decode(line)
            if text:
                first_line = first_line if sentences else number
                sentences.append(text)
                if num_bytes > max_document_bytes:
                    raise _too_long(path, first_line, max_document_bytes)
            elif sentences:
                num_invalid = decoder.num_invalid - invalid_before
                yield Document(sentences, f"{path}:{first_line}", num_bytes, num_invalid)
                sentences, num_bytes, invalid_before = [], 0, decoder.num_invalid
    decoder.check_share()
    if sentences:
        num_invalid = decoder.num_invalid - invalid_before
        yield Document(sentences, f"{path}:{first_line}", num_bytes, num_invalid)


def _check_start(path, file):
    """Refuses what is not plain text; leaves the file behind a UTF-8 byte order mark."""
    start = file.read(4)
    for mark, (kind, way_out) in _FOREIGN_STARTS.items():
        if start.startswith(mark):
            raise InputError(f"{path} is {kind}; plain UTF-8 text was wanted. {way_out}")
    file.seek(len(_BYTE_ORDER_MARK) if start.startswith(_BYTE_ORDER_MARK) else 0, os.SEEK_SET)


def _too_long(path, line, max_document_bytes):
    return InputError(
        f"{path}: the document that starts in line {line} goes on for more than "
        f"{max_document_bytes} bytes without a blank line. One sentence a line and a blank line "
        "between documents were wanted."
    )


class _Decoder:
    """Decodes the lines of one file and counts those that are not UTF-8."""

    def __init__(self, path):
        self.num_invalid = 0
        self._path = path
        self._num_lines = 0
        self._num_beyond_ascii = 0

    def decode(self, line):
        """The text of a line without the white space around it."""
        self._num_lines += 1
        if line.isascii():
            return line.decode("ascii").strip()
        try:
            text = line.decode("utf-8")
            self._num_beyond_ascii += 1
        except UnicodeDecodeError:
            text = line.decode("utf-8", errors="replace")
            self.num_invalid += 1
            if self.num_invalid >= max(_MANY_INVALID_LINES, self._num_beyond_ascii):
                raise self._error() from None
        return text.strip()

    def check_share(self):
        """Refuses a file of which many lines were not UTF-8."""
        if self.num_invalid > _MAX_INVALID_SHARE * self._num_lines:
            raise self._error()

    def _error(self):
        return InputError(
            f"{self._path} is not UTF-8: {self.num_invalid} of its first {self._num_lines} lines "
            f"cannot be decoded, and {self._num_beyond_ascii} that hold more than ASCII can. "
            "Convert it, e.g. with `iconv -f WINDOWS-1252 -t UTF-8`."
        )
