"""What Hugging Face's own libraries have fetched is used, if it is what its name says."""

import hashlib
import os

import pytest

from bert_tf.checkpoints.hub import hub_cache, preset_table

COMMIT = "0123456789abcdef0123456789abcdef01234567"
WEIGHTS = b"weights" * 41
CONFIG = b"{}\n"
NAMES = ("config.json", "model.safetensors")
PRESET = preset_table.repository("owner/model")


def write(root, name="models--owner--model", branch="main"):
    """Writes what those libraries would, as their documentation says; returns the snapshot."""
    blobs, refs = root / name / "blobs", root / name / "refs"
    snapshot = root / name / "snapshots" / COMMIT
    for folder in (blobs, refs, snapshot):
        folder.mkdir(parents=True)
    (refs / branch).write_text(COMMIT)
    git = hashlib.sha1(b"blob 3\0" + CONFIG).hexdigest()
    contents = [("config.json", git, CONFIG)]
    contents += [("model.safetensors", hashlib.sha256(WEIGHTS).hexdigest(), WEIGHTS)]
    for file, digest, data in contents:
        (blobs / digest).write_bytes(data)
        (snapshot / file).symlink_to(f"../../blobs/{digest}")
    return snapshot


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("HF_HOME", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("variable", "value", "place"),
    [
        (None, None, ".cache/huggingface/hub"),
        ("XDG_CACHE_HOME", "~/xdg", "xdg/huggingface/hub"),
        ("HF_HOME", "~/hf", "hf/hub"),
        ("HF_HUB_CACHE", "~/hub", "hub"),
    ],
)
def test_the_cache_is_where_those_libraries_have_it(home, monkeypatch, variable, value, place):
    if variable:
        monkeypatch.setenv(variable, value)
    assert hub_cache.snapshot(PRESET) is None
    snapshot = write(home / place)
    assert hub_cache.snapshot(PRESET) == str(snapshot)


def test_a_revision_is_a_branch_or_a_commit(home):
    snapshot = write(home / ".cache/huggingface/hub", branch="v2")
    assert hub_cache.snapshot(PRESET) is None
    for revision in ("v2", COMMIT):
        preset = preset_table.repository("owner/model", revision)
        assert hub_cache.snapshot(preset) == str(snapshot)


def test_a_repository_is_found_under_the_name_it_had_before(home):
    preset = preset_table.repository("google-bert/bert-base-german-cased")
    snapshot = write(home / ".cache/huggingface/hub", "models--bert-base-german-cased")
    assert hub_cache.snapshot(preset) == str(snapshot)
    write(home / ".cache/huggingface/hub", "models--model")
    assert hub_cache.snapshot(PRESET) is None


def test_files_are_linked(home, tmp_path):
    snapshot = write(home / "hub")
    place = tmp_path / "place"
    place.mkdir()
    (place / "config.json").write_text("half of an earlier one")
    found = hub_cache.link(str(snapshot), NAMES, str(place), {})
    assert found["model.safetensors"] == hashlib.sha256(WEIGHTS).hexdigest()
    assert found["config.json"] == hashlib.sha256(CONFIG).hexdigest()
    assert (place / "model.safetensors").read_bytes() == WEIGHTS
    assert os.path.islink(place / "config.json")


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_file_is_not_linked(home, tmp_path, name):
    snapshot = write(home / "hub")
    (tmp_path / "place").mkdir()
    target = (snapshot / name).resolve()
    target.write_bytes(target.read_bytes()[:-1])
    assert hub_cache.link(str(snapshot), NAMES, str(tmp_path / "place"), {}) is None
    assert os.listdir(tmp_path / "place") == []


def test_a_file_other_than_the_known_one_is_not_linked(home, tmp_path):
    snapshot = write(home / "hub")
    known = {"model.safetensors": "0" * 64}
    assert hub_cache.link(str(snapshot), NAMES, str(tmp_path), known) is None
