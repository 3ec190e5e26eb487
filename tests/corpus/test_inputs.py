"""Files found from patterns, every compression, and compressed data that are not whole."""

import bz2
import gzip
import os
import pathlib
import random

import pytest
from backports import zstd

from bert_tf.corpus import inputs
from bert_tf.errors import InputError

COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "zst": zstd.compress}
TEXT = b"".join(b"Sentence %d of the text.\n" % random.Random(3).randrange(10**9) for _ in "x" * 7)
TEXT += bytes(random.Random(5).choices(b"abcdefgh \n", k=30011))


def make(directory, *names, content=b"A sentence.\n"):
    for name in names:
        path = pathlib.Path(directory, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def names_of(directory, patterns):
    joined = ",".join(os.path.join(directory, part) for part in patterns.split(","))
    return [os.path.relpath(path, directory) for path in inputs.find(joined)]


class TestFind:
    @pytest.mark.parametrize(
        ("patterns", "expected"),
        [
            ("a.txt", ["a.txt"]),
            ("*.txt", ["a.txt", "b.txt"]),
            ("b.txt,a.txt", ["a.txt", "b.txt"]),
            ("a.txt,*.txt,.", ["a.txt", "b.txt", "d/c.jsonl.gz", "d/e/wiki_00"]),
            ("d", ["d/c.jsonl.gz", "d/e/wiki_00"]),
            ("d/*", ["d/c.jsonl.gz", "d/e/wiki_00"]),
            ("**/wiki_*", ["d/e/wiki_00"]),
        ],
    )
    def test_files_globs_and_directories(self, tmp_path, patterns, expected):
        make(tmp_path, "a.txt", "b.txt", "d/c.jsonl.gz", "d/e/wiki_00")
        assert names_of(tmp_path, patterns) == expected

    def test_a_directory_is_read_without_what_is_no_text(self, tmp_path):
        make(tmp_path, "text", "x.TXT", "part-00000", "a.tar.txt")
        make(tmp_path, ".hidden", ".git/config", "_SUCCESS", "manifest.json", "vocab.txt")
        make(tmp_path, "p.png", "x.tfrecord", "x.tfrecord-00000-of-00008", "x.tar.gz", "x.zip")
        make(tmp_path, "empty.txt", content=b"")
        assert names_of(tmp_path, ".") == ["a.tar.txt", "part-00000", "text", "x.TXT"]

    def test_what_is_named_is_read_whatever_its_name(self, tmp_path):
        make(tmp_path, ".hidden", "manifest.json")
        assert names_of(tmp_path, ".hidden,manifest.json") == [".hidden", "manifest.json"]

    def test_a_name_with_characters_of_globs(self, tmp_path):
        make(tmp_path, "a[1].txt", "a1.txt")
        assert names_of(tmp_path, "a[1].txt") == ["a[1].txt"]

    def test_a_file_reached_by_a_link_counts_once(self, tmp_path):
        make(tmp_path, "d/a.txt")
        os.symlink(tmp_path / "d" / "a.txt", tmp_path / "link.txt")
        os.symlink(tmp_path / "d", tmp_path / "d" / "circle")
        assert names_of(tmp_path, ".") == ["d/a.txt"]
        assert names_of(tmp_path, "link.txt") == ["link.txt"]

    def test_a_directory_without_text_says_what_it_holds(self, tmp_path):
        make(tmp_path, "d/a.png", "d/e/b.tfrecord")
        with pytest.raises(InputError) as error:
            inputs.find(f"{tmp_path}/d", "--input_file")
        assert str(error.value) == (
            f"--input_file: the directory {tmp_path}/d has no text. It has 2 file(s) that are "
            "empty, hidden or not named as text: a.png, e/b.tfrecord. Name the files to read them "
            "anyway."
        )

    def test_an_empty_directory(self, tmp_path):
        with pytest.raises(InputError, match=r"has no text\. It has no files\."):
            inputs.find(str(tmp_path))

    @pytest.mark.parametrize(
        ("patterns", "message"),
        [
            ("none.txt", "matches no file"),
            ("none*", "matches no file"),
            ("empty.txt", "is empty \\(0 bytes\\)"),
            ("e*.txt", "is empty \\(0 bytes\\)"),
            ("folder*", "matches directories without text"),
        ],
    )
    def test_what_is_not_there(self, tmp_path, patterns, message):
        make(tmp_path, "empty.txt", content=b"")
        make(tmp_path, "folder/a.png")
        with pytest.raises(InputError, match=message):
            names_of(tmp_path, patterns)

    @pytest.mark.parametrize("patterns", ["", " , "])
    def test_no_pattern(self, patterns):
        with pytest.raises(InputError, match="--input_file is empty"):
            inputs.find(patterns)


class TestResolveFormat:
    @pytest.mark.parametrize(
        ("name", "content", "expected"),
        [
            ("a.txt", b"One.\nTwo.\n", "sentences"),
            ("a", b"\n  {braces} in text\n", "sentences"),
            ("a", b"", "sentences"),
            ("a.jsonl", b"[]", "jsonl"),
            ("a.NDJSON", b"x", "jsonl"),
            ("a.json", b'\n {"text": 1}', "jsonl"),
            ("wiki_00", b'<doc id="1">\nT\n', "wikiextractor"),
            ("a.xml", b"\xef\xbb\xbf<mediawiki xmlns=", "wikipedia"),
            ("a-pages.xml-p1p2", b'<?xml version="1.0"?>\n<mediawiki>', "wikipedia"),
            ("a.txt", b"<document>", "sentences"),
        ],
    )
    @pytest.mark.parametrize("suffix", ["", *COMPRESS])
    def test_by_name_and_first_bytes(self, tmp_path, name, content, expected, suffix):
        data = COMPRESS[suffix](content) if suffix else content
        make(tmp_path, f"{name}.{suffix}".rstrip("."), content=data)
        assert inputs.resolve_format(f"{tmp_path}/{name}.{suffix}".rstrip("."), "auto") == expected

    def test_what_is_given_counts(self):
        assert inputs.resolve_format("missing.jsonl", "text") == "text"


def read(path, size=-1):
    with inputs.open_text(str(path)) as stream:
        return b"".join(iter(lambda: stream.read(size), b""))


class TestOpenText:
    @pytest.mark.parametrize("suffix", COMPRESS)
    @pytest.mark.parametrize("size", [-1, 1009, 70001])
    def test_members_are_read_one_after_the_other(self, tmp_path, suffix, size):
        compress = COMPRESS[suffix]
        data = compress(TEXT[:1009]) + compress(b"") + compress(TEXT[1009:])
        make(tmp_path, f"a.{suffix}", "named.otherwise", content=data)
        assert read(tmp_path / f"a.{suffix}", size) == TEXT
        assert read(tmp_path / "named.otherwise", size) == TEXT

    @pytest.mark.parametrize("suffix", COMPRESS)
    def test_much_text_from_few_bytes(self, tmp_path, suffix):
        make(tmp_path, "a", content=COMPRESS[suffix](b"a" * 3_000_017))
        assert read(tmp_path / "a", 65537) == b"a" * 3_000_017

    def test_a_frame_that_zstd_skips(self, tmp_path):
        skipped = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
        make(tmp_path, "a.zst", content=skipped + zstd.compress(TEXT) + skipped)
        assert read(tmp_path / "a.zst") == TEXT

    @pytest.mark.parametrize("content", [b"", b"B", b"BZh says\n", b"\x1f", b"Plain text.\n"])
    def test_plain(self, tmp_path, content):
        make(tmp_path, "a", content=content)
        assert read(tmp_path / "a") == content

    @pytest.mark.parametrize("suffix", COMPRESS)
    def test_cut_short_anywhere(self, tmp_path, suffix):
        compress = COMPRESS[suffix]
        first = compress(TEXT[:1009])
        data = first + compress(TEXT[1009:])
        ends = {4, 5, 11, len(first) - 5, len(first) - 1, *range(len(first) + 1, len(data), 997)}
        for end in sorted(ends | {len(first) + 3, len(data) - 1, len(data) - 4}):
            make(tmp_path, "a", content=data[:end])
            with pytest.raises(InputError, match="is cut short") as error:
                read(tmp_path / "a", 1009)
            assert f"{tmp_path}/a is" in str(error.value)
            assert f"at byte {end}," in str(error.value)

    def test_the_message_says_how_far_it_was_read(self, tmp_path):
        data = gzip.compress(TEXT[:1009]) + gzip.compress(TEXT[1009:])[:11]
        make(tmp_path, "a.gz", content=data)
        with pytest.raises(InputError) as error:
            read(tmp_path / "a.gz")
        assert str(error.value) == (
            f"{tmp_path}/a.gz is cut short: its gzip data end in the middle, at byte {len(data)}, "
            "after 1009 bytes of text. Copy it again, or leave it out."
        )

    @pytest.mark.parametrize("suffix", COMPRESS)
    @pytest.mark.parametrize("tail", [b"g", b"garbage that goes on", b"\0" * 13])
    def test_followed_by_something_else(self, tmp_path, suffix, tail):
        data = COMPRESS[suffix](TEXT)
        make(tmp_path, "a", content=data + tail)
        # Of one byte, some formats cannot tell yet whether it starts another member.
        with pytest.raises(InputError, match="is damaged|is cut short") as error:
            read(tmp_path / "a")
        if "damaged" in str(error.value):
            assert f"between bytes {len(data)} and {len(data + tail)}" in str(error.value)
            assert f"{len(TEXT)} bytes of text came before" in str(error.value)

    @pytest.mark.parametrize("suffix", ["gz", "bz2"])  # zstd has no checksum unless asked for
    def test_damaged_anywhere(self, tmp_path, suffix):
        first, second = COMPRESS[suffix](TEXT[:1009]), COMPRESS[suffix](TEXT[1009:])
        # Behind the header, whose name and time may be anything.
        for place in [
            *range(12, len(first), 97),
            *range(len(first) + 12, len(first + second), 997),
        ]:
            data = bytearray(first + second)
            data[place] ^= 0xFF
            make(tmp_path, "a", content=bytes(data))
            with pytest.raises(InputError, match="is damaged|is cut short"):
                read(tmp_path / "a")

    def test_damaged_zstd_with_a_checksum(self, tmp_path):
        options = {zstd.CompressionParameter.checksum_flag: 1}
        data = bytearray(zstd.compress(TEXT, options=options))
        for place in range(12, len(data), 997):
            changed = data[:place] + bytes([data[place] ^ 0xFF]) + data[place + 1 :]
            make(tmp_path, "a", content=bytes(changed))
            with pytest.raises(InputError, match="is damaged|is cut short"):
                read(tmp_path / "a")

    @pytest.mark.parametrize(
        ("name", "kind"), [("a.gz", "gzip"), ("a.txt.BZ2", "bzip2"), ("a.zst", "zstd")]
    )
    def test_a_name_that_promises_what_the_content_is_not(self, tmp_path, name, kind):
        make(tmp_path, name, content=b"<html>Not found</html>")
        with pytest.raises(InputError) as error:
            inputs.open_text(f"{tmp_path}/{name}")
        assert str(error.value) == (
            f"{tmp_path}/{name} is not a {kind} file: it starts with b'<htm'. Copy it again, or "
            "give it a name that fits its content."
        )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_dump_is_known_in_every_encoding_of_xml(tmp_path, encoding):
    path = tmp_path / "dump"
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    path.write_bytes(mark + '<?xml version="1.0"?>\n<mediawiki>'.encode(encoding))
    assert inputs.resolve_format(str(path), "auto") == "wikipedia"
