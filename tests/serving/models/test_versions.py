import pytest

from bert_tf.errors import InputError
from serving.models import versions


def test_the_largest_number_wins_and_other_names_are_skipped(base_path):
    assert versions.largest(str(base_path)) == (7, str(base_path / "7"))


def test_leading_zeros_count_as_numbers(tmp_path):
    for name in ("2", "0011", "tmp-99", "x"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "saved_model.pb").touch()
    assert versions.largest(str(tmp_path)) == (11, str(tmp_path / "0011"))


def test_what_is_wrong_is_reported(tmp_path, base_path):
    with pytest.raises(InputError, match="nowhere is not a directory"):
        versions.largest(str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="has no version.*It holds: nothing"):
        versions.largest(str(tmp_path))
    with pytest.raises(InputError, match="so it is a version. Give the directory above"):
        versions.largest(str(base_path / "7"))
    (tmp_path / "1").mkdir()
    with pytest.raises(InputError, match="has no saved_model.pb"):
        versions.largest(str(tmp_path))
