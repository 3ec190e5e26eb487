"""Parquet files and saved data sets, written with pyarrow in the layouts of `datasets`."""

import json
import sys

import pyarrow
import pytest
from pyarrow import parquet

from bert_tf.errors import InputError
from bert_tf.examples import readers
from bert_tf.examples.labelled import TextExample, TokenExample
from bert_tf.examples.readers import Columns, TextLayout, TokenLayout

LAYOUT = TextLayout(
    columns=Columns(text_a="text", label="label"), test_columns=Columns(text_a="text")
)
TEXTS = pyarrow.table({"text": ["Gut.", "Schlecht."], "label": [1, 0], "spare": [None, 2.5]})
EXAMPLES = [TextExample("0", "Gut.", label="1"), TextExample("1", "Schlecht.", label="0")]


def with_names(table, features):
    """The table with the metadata that `datasets` writes."""
    return table.replace_schema_metadata(
        {"huggingface": json.dumps({"info": {"features": features}})}
    )


def save(table, directory):
    """What `Dataset.save_to_disk` leaves, in two Arrow files."""
    directory.mkdir()
    names = ["data-00000-of-00002.arrow", "data-00001-of-00002.arrow"]
    for i, name in enumerate(names):
        with pyarrow.OSFile(str(directory / name), "wb") as file:
            with pyarrow.ipc.new_stream(file, table.schema) as writer:
                writer.write_table(table.slice(i, 1))
    state = {"_data_files": [{"filename": name} for name in names]}
    (directory / "state.json").write_text(json.dumps(state))


def test_parquet(tmp_path):
    path = str(tmp_path / "train.parquet")
    parquet.write_table(TEXTS, path)
    assert LAYOUT.read(path, readers.any_label) == EXAMPLES
    assert readers.read_header(path) == ["text", "label", "spare"]


def test_a_directory_of_parquet_files(tmp_path):
    for i in (1, 0):
        parquet.write_table(TEXTS.slice(i, 1), tmp_path / f"train-0000{i}-of-00002.parquet")
    assert LAYOUT.read(str(tmp_path), readers.any_label) == EXAMPLES


def test_a_saved_data_set_has_names_of_classes(tmp_path):
    label = {"_type": "ClassLabel", "names": ["neg", "pos"]}
    save(with_names(TEXTS, {"label": label}), tmp_path / "train")
    examples = LAYOUT.read(str(tmp_path / "train"), readers.any_label)
    assert [(e.text_a, e.label) for e in examples] == [("Gut.", "pos"), ("Schlecht.", "neg")]


@pytest.mark.parametrize("list_type", ["Sequence", "List"])
def test_tags_that_are_lists_of_class_numbers(tmp_path, list_type):
    table = pyarrow.table({"tokens": [["Anna", "sang"]], "ner_tags": [[1, 0]]})
    inner = {"_type": "ClassLabel", "names": ["O", "B-PER"]}
    path = str(tmp_path / "train.parquet")
    features = {"ner_tags": {"_type": list_type, "feature": inner}}
    parquet.write_table(with_names(table, features), path)
    layout = TokenLayout(words="tokens", tags="ner_tags")
    assert layout.read(path, readers.any_label) == [
        TokenExample("0", ("Anna", "sang"), ("B-PER", "O"))
    ]


def test_a_label_that_is_missing_is_refused(tmp_path):
    label = {"_type": "ClassLabel", "names": ["neg", "pos"]}
    table = pyarrow.table({"text": ["Gut.", "Neu."], "label": [1, -1]})
    path = str(tmp_path / "test.parquet")
    parquet.write_table(with_names(table, {"label": label}), path)
    with pytest.raises(InputError, match="test.parquet, row 2: text was wanted, null was found"):
        LAYOUT.read(path, readers.any_label)
    assert len(LAYOUT.read(path, readers.any_label, is_test=True)) == 2


def test_wrong_files(tmp_path):
    def refused(path, message):
        with pytest.raises(InputError, match=message):
            LAYOUT.read(str(path), readers.any_label)

    refused(tmp_path / "no.parquet", "does not exist")
    (tmp_path / "text.parquet").write_text("text,label\n")
    refused(tmp_path / "text.parquet", "cannot be read as Parquet or Arrow")
    parquet.write_table(TEXTS.slice(0, 0), tmp_path / "empty.parquet")
    refused(tmp_path / "empty.parquet", "and no rows")
    parquet.write_table(TEXTS.drop_columns(["label"]), tmp_path / "two.parquet")
    refused(tmp_path / "two.parquet", "rows have no column 'label'; it has")
    (tmp_path / "all" / "train").mkdir(parents=True)
    (tmp_path / "all" / "dataset_dict.json").write_text('{"splits": ["train"]}')
    refused(tmp_path / "all", "name one of its directories: train")
    refused(tmp_path / "all" / "train", "without state.json .* it holds: nothing")


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install bert-tf\[parquet\]"):
        LAYOUT.read(str(tmp_path / "train.parquet"), readers.any_label)
