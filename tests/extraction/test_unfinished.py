"""A killed extraction goes on, and its file is that of one that was not killed."""

import json

import pytest

from bert_tf.errors import InputError
from bert_tf.extraction import unfinished
from bert_tf.extraction.formats.json_lines import JsonLines
from bert_tf.extraction.formats.numpy_arrays import NumpyArrays
from bert_tf.extraction.formats.parquet import Parquet
from bert_tf.extraction.formats.records import Records
from tests.extraction.formats import samples

IDENTITY = {"text": "abc", "layers": [12, 11]}
LAYOUT = samples.layout()


def opened(path, output_format):
    return unfinished.Unfinished(str(path), output_format, IDENTITY)


def add(output, output_format, numbers):
    rows = samples.rows(LAYOUT, numbers, seed=numbers[0])
    output.add(output_format.encode(rows), len(rows))


@pytest.mark.parametrize("format_class", [JsonLines, NumpyArrays, Parquet, Records])
def test_what_came_after_the_last_save_is_made_again(format_class, tmp_path):
    output_format = format_class(LAYOUT)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    output = opened(whole, output_format)
    for numbers in ((0, 1), (2, 3), (4,)):
        add(output, output_format, numbers)
    output.finish()
    output.close()

    output = opened(killed, output_format)
    add(output, output_format, (0, 1))
    output.save()
    add(output, output_format, (2, 3))
    output.close()  # the process ends without a save
    again = opened(killed, output_format)
    assert again.num_rows == 2
    assert not killed.exists()
    for numbers in ((2, 3), (4,)):
        add(again, output_format, numbers)
    again.finish()
    again.close()
    if format_class is not NumpyArrays:  # whose members have the time when they were written
        assert killed.read_bytes() == whole.read_bytes()
    else:
        assert killed.stat().st_size == whole.stat().st_size
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed", "whole"]


def test_without_a_save_it_starts_again(tmp_path):
    output_format = Parquet(LAYOUT)
    output = opened(tmp_path / "out", output_format)
    add(output, output_format, (0, 1))
    output.close()
    again = opened(tmp_path / "out", output_format)
    assert again.num_rows == 0
    add(again, output_format, (0, 1))
    again.finish()
    again.close()
    assert (tmp_path / "out").read_bytes().startswith(b"PAR1")


def test_a_stream_that_has_lost_bytes_starts_again(tmp_path):
    output_format = NumpyArrays(LAYOUT)
    output = opened(tmp_path / "out", output_format)
    add(output, output_format, (0, 1))
    output.save()
    output.close()
    (tmp_path / "out.unfinished" / "values").write_bytes(b"1234")
    again = opened(tmp_path / "out", output_format)
    assert again.num_rows == 0
    assert {path.stat().st_size for path in (tmp_path / "out.unfinished").glob("[vwl]*s")} == {0}
    again.close()


def test_other_options_are_refused(tmp_path):
    opened(tmp_path / "out", JsonLines(LAYOUT)).close()
    saved = json.loads((tmp_path / "out.unfinished" / "identity.json").read_text())
    assert saved == IDENTITY
    with pytest.raises(InputError, match=r"layers is \[12, 11\] there and \[0\] here. Remove it"):
        unfinished.check(str(tmp_path / "out"), IDENTITY | {"layers": [0]})
    unfinished.check(str(tmp_path / "out"), IDENTITY)
