"""Files on other file systems: a made-up one, whose paths start with elsewhere://."""

import dataclasses
import os
import pathlib
import shutil

import pytest

from bert_tf.errors import InputError
from bert_tf.options import PretrainingData
from bert_tf.records import manifest
from bert_tf.records.build import builder

pytest.importorskip(
    "apache_beam", reason="Apache Beam has an environment of its own: make test-beam"
)
beam_files = pytest.importorskip("bert_tf.records.beam.files")
beam_pipeline = pytest.importorskip("bert_tf.records.beam.pipeline")
local_files = pytest.importorskip("apache_beam.io.localfilesystem")

SCHEME = "elsewhere://"
TEXT = "a b.\nb a a.\n\nb b.\na.\n\n" * 7


def here(path):
    return path.removeprefix(SCHEME)


class Elsewhere(local_files.LocalFileSystem):
    """The local disk under other names, which `open` does not find."""

    @classmethod
    def scheme(cls):
        return "elsewhere"

    def join(self, basepath, *paths):
        return "/".join([basepath.rstrip("/"), *paths])

    def split(self, path):
        folder, name = os.path.split(here(path))
        return SCHEME + folder, name

    def mkdirs(self, path):
        super().mkdirs(here(path))

    def _list(self, dir_or_prefix):
        for each in super()._list(here(dir_or_prefix)):
            each.path = SCHEME + each.path
            yield each

    def metadata(self, path):
        found = super().metadata(here(path))
        found.path = path
        return found

    def create(self, path, *arguments, **keywords):
        return super().create(here(path), *arguments, **keywords)

    def open(self, path, *arguments, **keywords):
        return super().open(here(path), *arguments, **keywords)

    def rename(self, sources, destinations):
        assert not any(map(self.exists, destinations))  # object stores refuse or overwrite
        super().rename([*map(here, sources)], [*map(here, destinations)])

    def exists(self, path):
        return super().exists(here(path))

    def delete(self, paths):
        for path in map(here, paths):
            shutil.rmtree(path) if path.endswith("/") else os.remove(path)


@pytest.fixture
def options(tmp_path):
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "one.txt").write_text(TEXT)
    (tmp_path / "text" / "two.txt").write_text(TEXT.replace("a b", "b b b"))
    (tmp_path / "text" / "empty").write_text("")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n.\n")
    return PretrainingData(
        input_file=f"{tmp_path}/text/*.txt",
        output_file=f"{tmp_path}/out/records@2",
        vocab_file=f"{tmp_path}/vocab.txt",
        max_seq_length=13,
        num_workers=1,
    )


def test_a_build_from_there_to_there(options, tmp_path):
    builder.run(options)
    expected = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    remote = dataclasses.replace(
        options,
        input_file=SCHEME + options.input_file,
        output_file=f"{SCHEME}{tmp_path}/there/records@2",
        vocab_file=SCHEME + options.vocab_file,
    )
    for _ in range(2):  # the second replaces the files of the first
        beam_pipeline.run(remote, ["--runner=FnApiRunner"])
        found = {path.name: path.read_bytes() for path in (tmp_path / "there").iterdir()}
        assert found == expected


def test_find(options, tmp_path):
    both = f"{SCHEME}{tmp_path}/text/*,{tmp_path}/vocab.txt"
    assert beam_files.find(both) == [
        f"{tmp_path}/vocab.txt",
        f"{SCHEME}{tmp_path}/text/one.txt",
        f"{SCHEME}{tmp_path}/text/two.txt",
    ]
    with pytest.raises(InputError, match="matches 1 files, all of them empty"):
        beam_files.find(f"{SCHEME}{tmp_path}/text/empty")
    with pytest.raises(InputError, match="does not exist|matches no file"):
        beam_files.find(f"{tmp_path}/none")
    with pytest.raises(InputError, match="cannot use"):
        beam_files.find("nowhere://x")
    with pytest.raises(InputError, match="--input_file is empty"):
        beam_files.find(" , ")


def test_a_local_copy_has_the_name_and_messages_the_path(tmp_path):
    (tmp_path / "a.txt").write_text("text")
    path = f"{SCHEME}{tmp_path}/a.txt"
    with pytest.raises(InputError, match=f"^{path} is wrong"):
        with beam_files.local_copy(path) as local:
            assert pathlib.Path(local).name == "a.txt" and local != str(tmp_path / "a.txt")
            assert pathlib.Path(local).read_text() == "text"
            raise InputError(f"{local} is wrong")
    with pytest.raises(InputError, match="every worker find it"):
        with beam_files.local_copy(f"{tmp_path}/none"):
            pass


def test_scratch_goes_whatever_comes(tmp_path):
    for prefix in ("", SCHEME):
        with pytest.raises(KeyError):
            with beam_files.scratch(f"{prefix}{tmp_path}/x/y") as path:
                assert os.path.isdir(tmp_path / "x" / "y")
                beam_files.create(f"{path}/z").close()
                raise KeyError
        assert not os.path.exists(tmp_path / "x" / "y")


def test_manifest_keeps_entries_that_are_there(tmp_path, monkeypatch):
    def add(paths, word):
        for path in paths:
            file = pathlib.Path(path).parent / manifest.NAME
            before = file.read_text() if file.exists() else ""
            file.write_text(f"{before}{pathlib.Path(path).name} {word}\n")

    monkeypatch.setattr(manifest, "add", add)
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    for name in ("a", "b"):
        paths = [f"{tmp_path}/here/{name}", f"{SCHEME}{tmp_path}/there/{name}"]
        beam_files.add_to_manifest(paths, "added")
    for folder in ("here", "there"):
        assert (tmp_path / folder / manifest.NAME).read_text() == "a added\nb added\n"
