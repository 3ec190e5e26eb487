"""Files found in directories, and text read from them."""

import gzip

import pytest

from bert_tf.errors import InputError
from bert_tf.examples.readers import text_files


def write(tmp_path, data, name):
    path = tmp_path / name
    path.write_bytes(data)
    return str(path)


def test_not_gzip(tmp_path):
    with pytest.raises(InputError, match="not a complete gzip file"):
        text_files.read_text(write(tmp_path, b"plain", "train.tsv.gz"))
    with pytest.raises(InputError, match="not a complete gzip file"):
        text_files.read_text(write(tmp_path, gzip.compress(b"x" * 999)[:-9], "dev.tsv.gz"))


def test_find_file(tmp_path):
    (tmp_path / "dev.tsv.gz").touch()
    assert text_files.find_file(str(tmp_path), "dev.tsv") == str(tmp_path / "dev.tsv.gz")
    (tmp_path / "dev.tsv").touch()
    assert text_files.find_file(str(tmp_path), "dev.tsv") == str(tmp_path / "dev.tsv")
    with pytest.raises(InputError, match=r"train.tsv .*which holds: dev.tsv, dev.tsv.gz"):
        text_files.find_file(str(tmp_path), "train.tsv")
    for directory in (None, "", str(tmp_path / "no")):
        with pytest.raises(InputError, match="not a directory"):
            text_files.find_file(directory, "train.tsv")


def test_a_file_of_one_of_several_names_is_found(tmp_path):
    (tmp_path / "train.csv.gz").touch()
    names = ("train.tsv", "train.csv")
    assert text_files.find_file(str(tmp_path), *names) == str(tmp_path / "train.csv.gz")
    with pytest.raises(InputError, match="dev.tsv or dev.csv is not in .*: train.csv.gz"):
        text_files.find_file(str(tmp_path), "dev.tsv", "dev.csv")


def test_a_name_without_an_ending_may_be_a_directory(tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "dev.csv").mkdir()
    assert text_files.find_file(str(tmp_path), "train.csv", "train") == str(tmp_path / "train")
    assert text_files.file_in(str(tmp_path), "dev.csv") is None
    with pytest.raises(InputError, match="dev.csv is a directory; a file was wanted"):
        text_files.read_text(str(tmp_path / "dev.csv"))


def test_endings():
    assert text_files.ending("A/Reviews.CSV.gz") == ".csv"
    assert text_files.ending("eng.train") == ".train"
    assert text_files.ending("data/train") == ""
