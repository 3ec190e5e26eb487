"""Input files: finds them, decompresses them and detects their format."""

import bz2
import glob
import io
import os
import re
import zlib
from typing import Any, BinaryIO, cast

from backports import zstd

from bert_tf import files
from bert_tf.errors import InputError

# Files in directories of a corpus that are not part of it. A file that is named is always read.
_NOT_TEXT = re.compile(
    r"(?i)(\.tfrecords?|\.tfrecords?-.*|\.(png|jpe?g|gif|svg|webp|ico|pdf|mp[34]|wav|flac|ogg"
    r"|zip|tar|tgz|tbz2|7z|rar|xz|whl|npy|npz|h5|hdf5|bin|pt|pth|safetensors|parquet|arrow"
    r"|feather|sqlite|db|pyc?|sh|md5|sha1|sha256|crc))$|^(manifest|bert_config)\.json$|^vocab\.txt$"
)
_COMPRESSED_SUFFIX = re.compile(r"(?i)\.(gz|bz2|zst)$")
_KIND_OF_SUFFIX = {"gz": "gzip", "bz2": "bzip2", "zst": "zstd"}
# First bytes of a compressed file; zstd may start with a frame that decoders skip.
_COMPRESSED_STARTS = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9]"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
}
_READ_BYTES = 2**16
_BUFFER_BYTES = 2**20

# First bytes of the formats, after white space; jsonl and text also go by name or by flag.
_FORMAT_STARTS = {
    "wikiextractor": re.compile(rb"<doc\s"),
    "wikipedia": re.compile(rb"(<\?xml[^>]*>\s*)?<mediawiki"),
    "jsonl": re.compile(rb'\{\s*["}]'),
}
_JSONL_NAME = re.compile(r"(?i)\.(jsonl|ndjson)$")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def find(patterns: str, what: str = "--input_file") -> list[str]:
    """Lists the files of a comma-separated list of files, globs and directories.

    Directories are searched to any depth, without hidden files, empty ones, those whose names start
    with "_" (markers such as _SUCCESS) and those named as records, images, archives and the like.

    Args:
      what: what error messages call the list.

    Returns:
      Sorted; a file that is reached twice, e.g. by a link, is listed once.

    Raises:
      InputError: a pattern matches nothing, a named file is empty, or a directory has no text.
    """
    paths = []
    for pattern in filter(None, (part.strip() for part in patterns.split(","))):
        paths += _matches(pattern, what)
    if not paths:
        raise InputError(
            f"{what} is empty; it takes a comma-separated list of files, globs or directories."
        )
    first_of: dict[str, str] = {}
    for path in sorted(paths):
        first_of.setdefault(os.path.realpath(path), path)
    return sorted(first_of.values())


def _matches(pattern: str, what: str) -> list[str]:
    """The files of one pattern."""
    others: list[str] = []
    if os.path.isdir(pattern):
        paths, others = _in_directory(pattern)
        if not paths:
            raise InputError(f"{what}: the directory {pattern} has no text. {_held(others)}")
        return paths
    if os.path.exists(pattern):
        files.require_file(pattern, what)
        return [pattern]
    matches = sorted(glob.glob(pattern, recursive=True))
    if not matches:
        return files.expand(pattern, what)  # its message says what is there instead
    paths = list(filter(os.path.isfile, matches))
    for path in paths:
        files.require_file(path, what)
    for directory in filter(os.path.isdir, matches):
        inside, left_out = _in_directory(directory)
        paths, others = paths + inside, others + left_out
    if not paths:
        raise InputError(f"{what}: {pattern!r} matches directories without text. {_held(others)}")
    return paths


def _in_directory(directory: str) -> tuple[list[str], list[str]]:
    """The text files below a directory, and the names of the other files."""
    paths: list[str] = []
    others: list[str] = []
    seen: set[str] = set()
    for parent, folders, names in os.walk(directory, followlinks=True):
        real = os.path.realpath(parent)
        folders[:] = [] if real in seen else sorted(f for f in folders if f[0] not in "._")
        for name in [] if real in seen else sorted(names):
            path = os.path.join(parent, name)
            if _is_text_name(name) and os.path.isfile(path) and os.path.getsize(path):
                paths.append(path)
            else:
                others.append(os.path.relpath(path, directory))
        seen.add(real)
    return paths, others


def _is_text_name(name: str) -> bool:
    return name[0] not in "._" and not _NOT_TEXT.search(_COMPRESSED_SUFFIX.sub("", name))


def _held(others: list[str]) -> str:
    """What a directory without text contains, for the message."""
    if not others:
        return "It has no files."
    shown = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
    return (
        f"It has {len(others)} file(s) that are empty, hidden or not named as text: {shown}. "
        "Name the files to read them anyway."
    )


def resolve_format(path: str, input_format: str) -> str:
    """Returns the format of a file: `input_format`, or if "auto", that of its name and first bytes.

    Returns:
      sentences, text, jsonl, wikipedia or wikiextractor. "auto" never gives text, which looks like
      sentences.

    Raises:
      InputError: compressed data that cannot be read.
    """
    if input_format != "auto":
        return input_format
    if _JSONL_NAME.search(_COMPRESSED_SUFFIX.sub("", path)):
        return "jsonl"
    with open_text(path) as stream:
        start = stream.read(4096).removeprefix(BYTE_ORDER_MARK).lstrip()
    if start[:2] in _UTF_16_MARKS:  # XML may be in UTF-16, the other formats not
        start = start.decode("utf-16", errors="ignore").encode()
    matches = (name for name, mark in _FORMAT_STARTS.items() if mark.match(start))
    return next(matches, "sentences")


def open_text(path: str) -> BinaryIO:
    """Opens a file for reading, decompressed if its first bytes are those of gzip, bzip2 or zstd.

    Several members, streams or frames in one file are read one after the other.

    Returns:
      A stream, to be closed. Reading raises `InputError` where compressed data are cut short,
      damaged, or followed by something else: it never ends early in silence.

    Raises:
      InputError: the name ends in .gz, .bz2 or .zst and the content is something else.
    """
    with open(path, "rb") as file:
        start = file.read(4)
    for kind, mark in _COMPRESSED_STARTS.items():
        if mark.match(start):
            return cast(BinaryIO, io.BufferedReader(_Decompressed(path, kind), _BUFFER_BYTES))
    if suffix := _COMPRESSED_SUFFIX.search(path):
        kind = _KIND_OF_SUFFIX[suffix[1].lower()]
        raise InputError(
            f"{path} is not a {kind} file: it starts with {start!r}. Copy it again, or give it a "
            "name that fits its content."
        )
    return open(path, "rb")


def position(stream: BinaryIO) -> int:
    """How many bytes of the file on disk a stream of `open_text` has read so far."""
    raw = cast(io.BufferedReader, stream).raw
    return raw.position() if isinstance(raw, _Decompressed) else stream.tell()


class _Decompressed(io.RawIOBase):
    """The content of a compressed file, in which an unexpected end is an error."""

    def __init__(self, path: str, kind: str) -> None:
        self._path = path
        self._kind = kind
        self._file = open(path, "rb", buffering=0)  # noqa: SIM115 - closed with this stream
        self._decompressor = _DECOMPRESSORS[kind]()
        self._input = b""
        self._member_start = 0
        self._num_bytes = 0

    def readable(self) -> bool:
        return True

    def position(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: Any) -> int:
        data = self._read(len(buffer))
        buffer[: len(data)] = data
        self._num_bytes += len(data)
        return len(data)

    def _read(self, max_bytes: int) -> bytes:
        while True:
            if self._decompressor.eof and not self._next_member():
                return b""
            try:
                data = self._decompressor.decompress(self._input, max_bytes)
            except (zlib.error, OSError, zstd.ZstdError) as error:
                raise self._damaged(error) from None
            self._input = b""
            if data:
                return data
            if not self._decompressor.eof:
                self._input = self._file.read(_READ_BYTES)
                if not self._input:
                    raise InputError(
                        f"{self._path} is cut short: its {self._kind} data end in the middle, at "
                        f"byte {self._file.tell()}, after {self._num_bytes} bytes of text. Copy "
                        "it again, or leave it out."
                    )

    def _next_member(self) -> bool:
        """Continues after the end of a member; False at the end of the file."""
        self._input = self._decompressor.unused_data or self._file.read(_READ_BYTES)
        self._member_start = self._file.tell() - len(self._input)
        if self._input:
            self._decompressor = _DECOMPRESSORS[self._kind]()
        return bool(self._input)

    def _damaged(self, error: Exception) -> InputError:
        near = f"between bytes {self._member_start} and {self._file.tell()}"
        return InputError(
            f"{self._path} is damaged: {near} its data are not {self._kind} ({error}); "
            f"{self._num_bytes} bytes of text came before. Copy it again, or leave it out."
        )


class _GzipDecompressor:
    """zlib's decompressor of one gzip member, with the interface of those of bz2 and zstd."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)

    def decompress(self, data: bytes, max_length: int) -> bytes:
        return self._member.decompress(self._member.unconsumed_tail + data, max_length)

    @property
    def eof(self) -> bool:
        return self._member.eof

    @property
    def unused_data(self) -> bytes:
        return self._member.unused_data


_DECOMPRESSORS: dict[str, Any] = {
    "gzip": _GzipDecompressor,
    "bzip2": bz2.BZ2Decompressor,
    "zstd": zstd.ZstdDecompressor,
}
