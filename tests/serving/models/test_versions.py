import pytest

from bert_tf.errors import InputError
from serving.models import versions


def test_versions_are_named_by_numbers_and_other_names_are_passed_over(tmp_path):
    for name in ("2", "0011", "tmp-99", "x", "-3", "9" * 19, "9" * 18, "²"):
        (tmp_path / name).mkdir()
    (tmp_path / "5").touch()  # TensorFlow Serving takes a file for a version, too
    names = {2: "2", 5: "5", 11: "0011", int("9" * 18): "9" * 18}
    assert versions.on_disk(str(tmp_path)) == {
        number: str(tmp_path / name) for number, name in names.items()
    }


def test_of_two_names_for_one_number_one_is_taken(tmp_path):
    for name in ("1", "01"):
        (tmp_path / name).mkdir()
    assert versions.on_disk(str(tmp_path)) == {1: str(tmp_path / "1")}


def test_a_stamp_changes_with_the_files_that_a_load_reads(tmp_path):
    empty = versions.stamp(str(tmp_path))
    (tmp_path / "saved_model.pb").write_bytes(b"half")
    half = versions.stamp(str(tmp_path))
    (tmp_path / "variables").mkdir()
    (tmp_path / "variables" / "variables.index").write_bytes(b"index")
    assert len({empty, half, versions.stamp(str(tmp_path))}) == 3
    assert versions.stamp(str(tmp_path / "nowhere")) == empty == frozenset()


def test_what_is_wrong_is_reported(tmp_path, base_path):
    flag = "--model_base_path=m"
    with pytest.raises(InputError, match=f"{flag} is not a directory"):
        versions.require(str(tmp_path / "nowhere"), flag)
    with pytest.raises(InputError, match=f"{flag} has no version.*It holds: nothing"):
        versions.require(str(tmp_path), flag)
    with pytest.raises(InputError, match="so it is a version. Give the directory above"):
        versions.require(str(base_path / "7"), flag)
    versions.require(str(base_path), flag)
