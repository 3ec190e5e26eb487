"""What a handle of TensorFlow Hub means on this machine."""

import pytest

from bert_tf import hub_handles
from bert_tf.errors import InputError

ADDRESS = "https://tfhub.dev/tensorflow/bert_en_uncased_L-12_H-768_A-12/4"
SHA1 = "d760773f85f64fc84ae0b47310f7cfe3bcec4868"


def save(folder):
    """Makes what looks like a SavedModel; returns its path."""
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"graph")
    return str(folder)


def test_the_directory_of_a_saved_model(tmp_path, monkeypatch):
    path = save(tmp_path / "encoder")
    assert hub_handles.resolve(path) == path
    assert hub_handles.resolve(tmp_path / "encoder") == path
    monkeypatch.setenv("HOME", str(tmp_path))
    assert hub_handles.resolve("~/encoder") == path


def test_the_newest_complete_version_of_a_base_path(tmp_path):
    for version in ("2", "10"):
        save(tmp_path / version)
    (tmp_path / "11").mkdir()
    (tmp_path / "next").mkdir()
    assert hub_handles.resolve(tmp_path) == str(tmp_path / "10")


def test_an_address_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    path = save(tmp_path / SHA1)
    assert hub_handles.resolve(ADDRESS) == path


def test_the_cache_without_the_variable(tmp_path, monkeypatch):
    monkeypatch.delenv("TFHUB_CACHE_DIR", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert hub_handles.cached(ADDRESS) == str(tmp_path / "tfhub_modules" / SHA1)


def test_an_address_that_is_not_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TFHUB_CACHE_DIR", str(tmp_path))
    with pytest.raises(InputError, match=f"not in the cache .*{SHA1}. Nothing is downloaded"):
        hub_handles.resolve(ADDRESS)


def test_what_is_no_saved_model(tmp_path):
    with pytest.raises(InputError, match="no SavedModel.*It holds: nothing"):
        hub_handles.resolve(tmp_path)
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(InputError, match=r"It holds: notes\.txt\. Give the directory"):
        hub_handles.resolve(tmp_path)
    with pytest.raises(InputError, match=r"It holds: \(missing\)"):
        hub_handles.resolve(tmp_path / "nowhere")
