import pytest

from bert_tf.checkpoints.formats import table as formats
from export import options
from tests.checkpoints import samples
from tests.modeling import harness


@pytest.mark.parametrize("row", formats.FORMATS, ids=lambda row: row.name)
def test_every_row_has_what_readers_and_writers_call(row):
    for name in ("find", "open"):
        assert callable(getattr(row.files, name))
    table = row.names.table(harness.config())
    paths = [one.path for one in table]
    names = [name for one in table for name in one.names]
    assert len(set(paths)) == len(paths) and len(set(names)) == len(names)
    assert {row.names.canonical(name) for name in names} == set(names)
    assert set(row.names.TIED) & set(names) == set()


def test_names_are_unique_and_every_target_is_written():
    names = [row.name for row in formats.FORMATS]
    assert len(set(names)) == len(names)
    assert set(options.TARGETS) == {row.name for row in formats.FORMATS if row.is_written}


@pytest.mark.parametrize("row", formats.FORMATS, ids=lambda row: row.name)
def test_nothing_is_found_where_nothing_is(row, tmp_path):
    samples.vocab_file(tmp_path)
    assert row.files.find(str(tmp_path)) is None
    assert row.files.find(str(tmp_path / "vocab.txt")) is None
    assert row.files.find(str(tmp_path / "missing")) is None


def test_a_message_lists_every_format():
    assert all(row.accepted in formats.accepted() for row in formats.FORMATS)
